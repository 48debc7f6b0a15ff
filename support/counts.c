/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "counts.h"

#include "hash_seed.h"
#include "spec/large_memory.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define FIRST_CAPACITY 1024u

void bat_counts_free(struct bat_counts *counts)
{
    free(counts->items);
    free(counts->slots);
    *counts = bat_counts_new(counts->words);
}

/* The hash of a key; a constant number of words lets the compiler unroll it. */
static inline uint64_t hash_key(const uint64_t *key, uint32_t words, uint64_t seed)
{
    switch (words) {
    case 1:
        return XXH3_64bits_withSeed(key, 8, seed);
    case 2:
        return XXH3_64bits_withSeed(key, 16, seed);
    case 3:
        return XXH3_64bits_withSeed(key, 24, seed);
    default:
        return XXH3_64bits_withSeed(key, 32, seed);
    }
}

static inline bool same_key(const uint64_t *left, const uint64_t *right, uint32_t words)
{
    /* Unrolled: a loop over so few words costs more than the comparisons. */
    uint64_t different = left[0] ^ right[0];
    if (words > 1)
        different |= left[1] ^ right[1];
    if (words > 2)
        different |= left[2] ^ right[2];
    if (words > 3)
        different |= left[3] ^ right[3];
    return different == 0;
}

static inline void copy_key(uint64_t *to, const uint64_t *from, uint32_t words)
{
    to[0] = from[0];
    if (words > 1)
        to[1] = from[1];
    if (words > 2)
        to[2] = from[2];
    if (words > 3)
        to[3] = from[3];
}

static uint64_t *item_at(const struct bat_counts *counts, uint32_t i)
{
    return counts->items + (size_t)i * (counts->words + 2);
}

/*
 * The slot that holds the key, or the empty slot for it, searched from `slot` on. There is always
 * an empty slot.
 */
static inline uint32_t find_slot_from(const struct bat_counts *counts, const uint64_t *key,
                                      uint32_t slot)
{
    while (counts->slots[slot] != 0 &&
           !same_key(item_at(counts, counts->slots[slot] - 1), key, counts->words))
        slot = (slot + 1) & counts->mask;
    return slot;
}

static inline uint32_t first_slot(const struct bat_counts *counts, const uint64_t *key)
{
    return (uint32_t)hash_key(key, counts->words, counts->seed) & counts->mask;
}

static uint32_t find_slot(const struct bat_counts *counts, const uint64_t *key)
{
    return find_slot_from(counts, key, first_slot(counts, key));
}

/* Enter all items into the slots, which are empty. The keys of the items differ. */
static void fill_slots(struct bat_counts *counts)
{
    uint32_t slots[BAT_COUNTS_BATCH];
    for (uint32_t start = 0; start < counts->count; start += BAT_COUNTS_BATCH) {
        uint32_t left = counts->count - start;
        uint32_t batch = left < BAT_COUNTS_BATCH ? left : BAT_COUNTS_BATCH;
        for (uint32_t i = 0; i < batch; i++) {
            slots[i] = first_slot(counts, item_at(counts, start + i));
            __builtin_prefetch(&counts->slots[slots[i]], 1);
        }
        for (uint32_t i = 0; i < batch; i++) {
            uint32_t slot = slots[i];
            while (counts->slots[slot] != 0)
                slot = (slot + 1) & counts->mask;
            counts->slots[slot] = start + i + 1;
        }
    }
}

void bat_counts_clear(struct bat_counts *counts)
{
    if (counts->slots)
        memset(counts->slots, 0, ((size_t)counts->mask + 1) * sizeof(*counts->slots));
    counts->count = 0;
}

/* Enlarge the table to a capacity, a power of two, with two slots an item. */
static enum bat_code enlarge(struct bat_counts *counts, uint32_t capacity)
{
    size_t item_size = (counts->words + 2) * sizeof(uint64_t);
    if (capacity > SIZE_MAX / item_size)
        return BAT_ERR_MEMORY;
    uint64_t *items =
        bat_large_grow(counts->items, counts->count * item_size, capacity * item_size);
    if (!items)
        return BAT_ERR_MEMORY;
    counts->items = items;
    size_t slot_count = (size_t)capacity * 2;
    uint32_t *slots = calloc(slot_count, sizeof(*slots));
    if (!slots)
        return BAT_ERR_MEMORY;
    if (!counts->slots)
        counts->seed = bat_hash_seed();
    free(counts->slots);
    counts->slots = bat_large(slots, slot_count * sizeof(*slots));
    counts->capacity = capacity;
    counts->mask = capacity * 2 - 1;
    fill_slots(counts);
    return BAT_OK;
}

/* Make room: double the capacity, or move all items to shared. */
static enum bat_code grow(struct bat_counts *counts)
{
    if (counts->shared && counts->capacity >= BAT_SHARED_LIMIT)
        return counts->give(counts->shared, counts);
    if (counts->capacity > UINT32_MAX / 8)
        return BAT_ERR_MEMORY;
    return enlarge(counts, counts->capacity ? counts->capacity * 2 : FIRST_CAPACITY);
}

enum bat_code bat_counts_expect(struct bat_counts *counts, uint32_t keys)
{
    uint32_t capacity = counts->capacity ? counts->capacity : FIRST_CAPACITY;
    while (capacity < keys && capacity <= UINT32_MAX / 8)
        capacity *= 2;
    return capacity > counts->capacity ? enlarge(counts, capacity) : BAT_OK;
}

/* Add to the key whose slot is `slot`. There must be room for a new item. */
static inline enum bat_code add_at(struct bat_counts *counts, uint32_t slot, const uint64_t *key,
                                   uint64_t first, uint64_t second)
{
    if (counts->slots[slot] == 0) {
        uint64_t *item = item_at(counts, counts->count);
        copy_key(item, key, counts->words);
        item[counts->words] = first;
        item[counts->words + 1] = second;
        counts->slots[slot] = ++counts->count;
        return BAT_OK;
    }
    uint64_t *values = item_at(counts, counts->slots[slot] - 1) + counts->words;
    if (values[0] > UINT64_MAX - first || values[1] > UINT64_MAX - second)
        return BAT_ERR_RANGE;
    values[0] += first;
    values[1] += second;
    return BAT_OK;
}

enum bat_code bat_counts_reserve(struct bat_counts *counts)
{
    return counts->count == counts->capacity ? grow(counts) : BAT_OK;
}

enum bat_code bat_counts_add(struct bat_counts *counts, const uint64_t *key, uint64_t first,
                             uint64_t second)
{
    BAT_TRY(bat_counts_reserve(counts));
    return add_at(counts, find_slot(counts, key), key, first, second);
}

enum bat_code bat_counts_find_or_add(struct bat_counts *counts, const uint64_t *key, uint64_t first,
                                     uint64_t second, const uint64_t **found, bool *is_new)
{
    BAT_TRY(bat_counts_reserve(counts));
    enum bat_code code = BAT_OK;
    const uint32_t slot = find_slot(counts, key);
    *is_new = counts->slots[slot] == 0;
    if (*is_new)
        code = add_at(counts, slot, key, first, second);
    *found = item_at(counts, counts->slots[slot] - 1) + counts->words;
    return code;
}

enum bat_code bat_counts_flush(struct bat_counts *counts, struct bat_counts_batch *batch)
{
    uint32_t count = batch->count;
    batch->count = 0;
    while (counts->capacity - counts->count < count)
        BAT_TRY(grow(counts));
    /* Fetch the slots of all additions, then their items, so that no addition waits for memory. */
    uint32_t slots[BAT_COUNTS_BATCH];
    for (uint32_t i = 0; i < count; i++) {
        slots[i] = first_slot(counts, batch->items[i]);
        __builtin_prefetch(&counts->slots[slots[i]]);
    }
    for (uint32_t i = 0; i < count; i++)
        if (counts->slots[slots[i]] != 0)
            __builtin_prefetch(item_at(counts, counts->slots[slots[i]] - 1), 1);
    enum bat_code code = BAT_OK;
    uint32_t added = 0;
    for (uint32_t i = 0; i < count && code == BAT_OK; i++) {
        const uint64_t *item = batch->items[i];
        uint32_t slot = find_slot_from(counts, item, slots[i]);
        code = add_at(counts, slot, item, item[counts->words], item[counts->words + 1]);
        added += code == BAT_OK;
    }
    batch->added += added;
    return code;
}

void bat_counts_subtract(struct bat_counts *counts, const uint64_t *key, uint64_t first,
                         uint64_t second)
{
    uint64_t *values = item_at(counts, counts->slots[find_slot(counts, key)] - 1) + counts->words;
    values[0] -= first;
    values[1] -= second;
}

void bat_counts_truncate(struct bat_counts *counts, uint32_t count)
{
    if (count == counts->count)
        return;
    bat_counts_clear(counts);
    counts->count = count;
    if (counts->slots)
        fill_slots(counts);
}

enum bat_code bat_counts_take(struct bat_counts *counts, struct bat_counts *from)
{
    if (counts->count != 0)
        return bat_counts_merge(counts, from);
    bat_counts_free(counts);
    *counts = *from;
    counts->shared = NULL;
    *from = bat_counts_new(from->words);
    return BAT_OK;
}

enum bat_code bat_counts_merge(struct bat_counts *counts, const struct bat_counts *from)
{
    const uint32_t before = counts->count;
    struct bat_counts_batch batch = {.count = 0};
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < from->count && code == BAT_OK; i++) {
        const uint64_t *item = bat_counts_item(from, i);
        code = bat_counts_add_later(counts, &batch, item, item[from->words], item[from->words + 1]);
    }
    code = code ? code : bat_counts_flush(counts, &batch);
    if (code == BAT_OK || counts->shared)
        return code;
    for (uint32_t i = 0; i < batch.added; i++) {
        const uint64_t *item = bat_counts_item(from, i);
        bat_counts_subtract(counts, item, item[from->words], item[from->words + 1]);
    }
    bat_counts_truncate(counts, before);
    return code;
}

const uint64_t *bat_counts_find(const struct bat_counts *counts, const uint64_t *key)
{
    if (!counts->slots)
        return NULL;
    uint32_t slot = find_slot(counts, key);
    return counts->slots[slot] ? item_at(counts, counts->slots[slot] - 1) : NULL;
}
