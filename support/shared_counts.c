/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "shared_counts.h"

#include <stdlib.h>
#include <string.h>

#include "hash_seed.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

struct bat_shared_counts *bat_shared_counts_new(uint32_t words)
{
    struct bat_shared_counts *shared = calloc(1, sizeof(*shared));
    if (!shared)
        return NULL;
    shared->seed = bat_hash_seed();
    for (uint32_t i = 0; i < BAT_SHARDS; i++) {
        pthread_mutex_init(&shared->shards[i].lock, NULL);
        shared->shards[i].counts = bat_counts_new(words);
    }
    return shared;
}

void bat_shared_counts_free(struct bat_shared_counts *shared)
{
    if (!shared)
        return;
    for (uint32_t i = 0; i < BAT_SHARDS; i++) {
        pthread_mutex_destroy(&shared->shards[i].lock);
        bat_counts_free(&shared->shards[i].counts);
    }
    free(shared);
}

/* Order the items by shards: those of shard i are at [ends[i - 1], ends[i]) of order. */
static void order_by_shards(const struct bat_shared_counts *shared, const struct bat_counts *counts,
                            uint16_t *order, uint32_t *ends)
{
    uint8_t shards[BAT_SHARED_LIMIT];
    uint32_t starts[BAT_SHARDS + 1] = {0};
    for (uint32_t i = 0; i < counts->count; i++) {
        const uint64_t *key = bat_counts_item(counts, i);
        shards[i] =
            XXH3_64bits_withSeed(key, counts->words * sizeof(*key), shared->seed) % BAT_SHARDS;
        starts[shards[i] + 1]++;
    }
    for (uint32_t i = 0; i < BAT_SHARDS; i++)
        starts[i + 1] += starts[i];
    for (uint32_t i = 0; i < counts->count; i++)
        order[starts[shards[i]]++] = (uint16_t)i;
    memcpy(ends, starts, BAT_SHARDS * sizeof(*ends));
}

static enum bat_code give_shard(struct bat_shard *shard, const struct bat_counts *counts,
                                const uint16_t *order, uint32_t count)
{
    struct bat_counts_batch batch = {.count = 0};
    enum bat_code code = BAT_OK;
    pthread_mutex_lock(&shard->lock);
    for (uint32_t i = 0; i < count && code == BAT_OK; i++) {
        const uint64_t *item = bat_counts_item(counts, order[i]);
        code = bat_counts_add_later(&shard->counts, &batch, item, item[counts->words],
                                    item[counts->words + 1]);
    }
    code = code ? code : bat_counts_flush(&shard->counts, &batch);
    pthread_mutex_unlock(&shard->lock);
    return code;
}

static enum bat_code give(struct bat_shared_counts *shared, struct bat_counts *counts)
{
    uint16_t order[BAT_SHARED_LIMIT];
    uint32_t ends[BAT_SHARDS];
    order_by_shards(shared, counts, order, ends);
    /* Threads begin at different shards, so that they do not wait for each other at every lock. */
    uint32_t first = (uint32_t)((uintptr_t)counts->items / 4096) % BAT_SHARDS;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < BAT_SHARDS && code == BAT_OK; i++) {
        uint32_t shard = (first + i) % BAT_SHARDS;
        uint32_t start = shard ? ends[shard - 1] : 0;
        code = give_shard(&shared->shards[shard], counts, order + start, ends[shard] - start);
    }
    bat_counts_clear(counts);
    return code;
}

void bat_counts_share(struct bat_counts *counts, struct bat_shared_counts *shared)
{
    counts->shared = shared;
    counts->give = shared ? give : NULL;
}

enum bat_code bat_shared_counts_take(struct bat_shared_counts *shared, struct bat_counts *counts)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < BAT_SHARDS && code == BAT_OK; i++) {
        code = bat_counts_merge(counts, &shared->shards[i].counts);
        bat_counts_free(&shared->shards[i].counts);
    }
    return code;
}
