/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "string_map_order.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* A map has so many buckets at first, and twice as many whenever three quarters are in use. */
#define BUCKETS_MIN 16u

/* The probes that are made for one key on average before the keys are taken for hostile. */
#define PROBES_MAX 64u

struct map {
    uint32_t *buckets; /* number of a key + 1; 0: empty */
    uint32_t count;    /* of buckets, a power of two */
    uint64_t probes_left;
    bool lacks_memory;
};

/* Put a key into the first free bucket of its sequence. False if too many probes were made. */
static bool put_key(struct map *map, const uint32_t *hashes, uint32_t key)
{
    uint32_t mask = map->count - 1;
    uint32_t bucket = hashes[key] & mask;
    for (uint32_t step = 1; map->buckets[bucket] != 0; step++) {
        if (map->probes_left-- == 0)
            return false;
        bucket = (bucket + step) & mask;
    }
    map->buckets[bucket] = key + 1;
    return true;
}

/* Move all keys, bucket by bucket, to twice as many buckets. False if that fails. */
static bool grow(struct map *map, const uint32_t *hashes)
{
    struct map larger = {.buckets = calloc((size_t)map->count * 2, sizeof(*larger.buckets)),
                         .count = map->count * 2,
                         .probes_left = map->probes_left};
    if (!larger.buckets) {
        map->lacks_memory = true;
        return false;
    }
    bool fits = true;
    for (uint32_t i = 0; i < map->count && fits; i++)
        if (map->buckets[i] != 0)
            fits = put_key(&larger, hashes, map->buckets[i] - 1);
    free(map->buckets);
    *map = larger;
    return fits;
}

static bool fill_map(struct map *map, const uint32_t *hashes, const uint32_t *order, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!put_key(map, hashes, order[i]))
            return false;
        if ((uint64_t)(i + 1) * 4 > (uint64_t)map->count * 3 && !grow(map, hashes))
            return false;
    }
    return true;
}

uint32_t *string_map_order(const struct bat_strings *strings, const uint32_t *order)
{
    uint32_t count = strings->count;
    uint32_t *hashes = malloc(((size_t)count + 1) * sizeof(*hashes));
    uint32_t *result = malloc(((size_t)count + 1) * sizeof(*result));
    struct map map = {.buckets = calloc(BUCKETS_MIN, sizeof(*map.buckets)),
                      .count = BUCKETS_MIN,
                      .probes_left = ((uint64_t)count + 1) * PROBES_MAX};
    if (!hashes || !result || !map.buckets) {
        free(result);
        result = NULL;
    }
    for (uint32_t i = 0; result && i < count; i++) {
        const char *string = bat_strings_get(strings, i);
        hashes[i] = (uint32_t)XXH3_64bits(string, strlen(string));
        result[i] = order ? order[i] : i;
    }
    if (result && fill_map(&map, hashes, result, count)) {
        uint32_t next = 0;
        for (uint32_t i = 0; i < map.count; i++)
            if (map.buckets[i] != 0)
                result[next++] = map.buckets[i] - 1;
    }
    if (map.lacks_memory) {
        free(result);
        result = NULL;
    }
    free(map.buckets);
    free(hashes);
    return result;
}
