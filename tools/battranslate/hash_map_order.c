/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "hash_map_order.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* All keys are one list. Node 0 is before the first; the node of key i is i + 1. */
struct map {
    const uint64_t *keys;
    uint32_t *next;    /* of each node; 0 at the end */
    uint32_t *buckets; /* the node before the bucket's first, + 1; 0: the bucket is empty */
    uint32_t bucket_count;
};

/* Put a node in front of its bucket, and that in front of all if it is new. */
static void put_node(struct map *map, uint32_t node)
{
    uint32_t *bucket = &map->buckets[map->keys[node - 1] % map->bucket_count];
    uint32_t before = *bucket ? *bucket - 1 : 0;
    map->next[node] = map->next[before];
    map->next[before] = node;
    if (*bucket)
        return;
    *bucket = 1;
    uint32_t after = map->next[node];
    if (after)
        map->buckets[map->keys[after - 1] % map->bucket_count] = node + 1;
}

/* The numbers of buckets that the library uses, each for at most so many keys. */
static const uint32_t sizes[] = {13,    29,     59,     127,    257,     541,
                                 1109,  2357,   5087,   10273,  20753,   42043,
                                 85229, 172933, 351061, 712697, 1447153, 2938679};

/* Move all nodes to another number of buckets. False if there is no memory. */
static bool resize(struct map *map, uint32_t bucket_count)
{
    uint32_t *buckets = calloc(bucket_count, sizeof(*buckets));
    if (!buckets)
        return false;
    free(map->buckets);
    map->buckets = buckets;
    map->bucket_count = bucket_count;
    uint32_t node = map->next[0];
    map->next[0] = 0;
    while (node) {
        uint32_t after = map->next[node];
        put_node(map, node);
        node = after;
    }
    return true;
}

uint32_t *hash_map_order(const uint64_t *keys, uint32_t count)
{
    struct map map = {.keys = keys, .next = calloc((size_t)count + 1, sizeof(*map.next))};
    uint32_t *order = malloc(((size_t)count + 1) * sizeof(*order));
    bool fits = map.next && order;
    size_t size = 0;
    for (uint32_t i = 0; i < count && fits; i++) {
        if (i == map.bucket_count && size < sizeof(sizes) / sizeof(sizes[0]))
            fits = resize(&map, sizes[size++]);
        if (fits)
            put_node(&map, i + 1);
    }
    uint32_t found = 0;
    for (uint32_t node = fits ? map.next[0] : 0; node; node = map.next[node])
        order[found++] = node - 1;
    free(map.next);
    free(map.buckets);
    if (fits)
        return order;
    free(order);
    return NULL;
}
