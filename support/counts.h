/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A hash table of counters: keys of a few 64-bit words have two counters each. Its memory grows
 * with the distinct keys, not with the additions. Internal to the library.
 */
#pragma once

#include "bat.h"

#define BAT_COUNTS_MAX_WORDS 4u

struct bat_shared_counts;
struct bat_counts;

/* Moves all items of counts to shared; counts keeps its memory. Fails like bat_counts_add(). */
typedef enum bat_code bat_counts_give_fn(struct bat_shared_counts *shared,
                                         struct bat_counts *counts);

/* A table with this many items moves them to its shared table, if any, instead of growing. */
#define BAT_SHARED_LIMIT 8192u

struct bat_counts {
    uint64_t *items; /* count items of words + 2 each: the key, first and second counter */
    uint32_t *slots; /* item number + 1, or 0 */
    uint32_t count;
    uint32_t capacity; /* of items */
    uint32_t mask;     /* number of slots - 1; no slots yet if slots is NULL */
    uint32_t words;
    uint64_t seed; /* of the hashes, set with the first allocation: see hash_seed.h */
    struct bat_shared_counts *shared; /* NULL, or see bat_counts_share() in shared_counts.h */
    bat_counts_give_fn *give;         /* to shared, instead of growing */
};

/* An empty table for keys of words words, at most BAT_COUNTS_MAX_WORDS. Allocates nothing. */
static inline struct bat_counts bat_counts_new(uint32_t words)
{
    return (struct bat_counts){.words = words};
}

void bat_counts_free(struct bat_counts *counts);

/* Remove all items; the memory is kept for new ones. */
void bat_counts_clear(struct bat_counts *counts);

/*
 * Add to a key's counters. Fails with BAT_ERR_MEMORY, or with BAT_ERR_RANGE if a counter would
 * exceed 64 bits; nothing is added then.
 */
enum bat_code bat_counts_add(struct bat_counts *counts, const uint64_t *key, uint64_t first,
                             uint64_t second);

/*
 * Find a key's counters, or else add it with these. *found is set to them, valid until the next
 * addition, and *is_new says which. Fails with BAT_ERR_MEMORY.
 */
enum bat_code bat_counts_find_or_add(struct bat_counts *counts, const uint64_t *key, uint64_t first,
                                     uint64_t second, const uint64_t **found, bool *is_new);

/* Make room for so many keys at once: the table will not grow up to there. Fails with
 * BAT_ERR_MEMORY; the table is as it was then. */
enum bat_code bat_counts_expect(struct bat_counts *counts, uint32_t keys);

/* Make room for one key more, so that adding it cannot fail with BAT_ERR_MEMORY. */
enum bat_code bat_counts_reserve(struct bat_counts *counts);

/*
 * Additions that are made together: if a table is larger than the processor's caches, the memory of
 * one addition is fetched while others are prepared.
 */
#define BAT_COUNTS_BATCH 32u

struct bat_counts_batch {
    uint64_t items[BAT_COUNTS_BATCH][BAT_COUNTS_MAX_WORDS + 2]; /* keys, counters */
    uint32_t count;
    uint32_t added; /* additions that were made of this batch and those before it, modulo 2^32 */
};

/* Make all additions of a batch and empty it. Same errors; additions after the error are lost. */
enum bat_code bat_counts_flush(struct bat_counts *counts, struct bat_counts_batch *batch);

/* Put an addition into the batch; a full batch is flushed. */
static inline enum bat_code bat_counts_add_later(struct bat_counts *counts,
                                                 struct bat_counts_batch *batch,
                                                 const uint64_t *key, uint64_t first,
                                                 uint64_t second)
{
    uint64_t *item = batch->items[batch->count++];
    for (uint32_t i = 0; i < counts->words; i++)
        item[i] = key[i];
    item[counts->words] = first;
    item[counts->words + 1] = second;
    return batch->count == BAT_COUNTS_BATCH ? bat_counts_flush(counts, batch) : BAT_OK;
}

/* The same for keys of three words: the constant number lets the compiler unroll the copy. */
static inline enum bat_code bat_counts_add_three_later(struct bat_counts *counts,
                                                       struct bat_counts_batch *batch,
                                                       const uint64_t key[3], uint64_t first,
                                                       uint64_t second)
{
    uint64_t *item = batch->items[batch->count++];
    item[0] = key[0];
    item[1] = key[1];
    item[2] = key[2];
    item[3] = first;
    item[4] = second;
    return batch->count == BAT_COUNTS_BATCH ? bat_counts_flush(counts, batch) : BAT_OK;
}

/*
 * Add all items of from. Same errors; counts is as it was then, unless it shares its items with
 * others (shared_counts.h).
 */
enum bat_code bat_counts_merge(struct bat_counts *counts, const struct bat_counts *from);

/* The same, but from may be empty afterwards: if counts is empty, it takes over from's memory. */
enum bat_code bat_counts_take(struct bat_counts *counts, struct bat_counts *from);

/*
 * The error of an addition to a table that counts records: how it fails with BAT_ERR_RANGE, or not
 * enough memory for `what`. Returns code; BAT_OK is no error.
 */
static inline enum bat_code bat_counts_fail(struct bat_error *error, enum bat_code code,
                                            const char *what)
{
    if (code == BAT_OK)
        return BAT_OK;
    if (code == BAT_ERR_RANGE)
        return bat_fail(error, code,
                        "expected counts that add up to less than 2^64 for each record, found "
                        "more");
    return bat_fail_memory(error, "for %s", what);
}

/* Subtract what was added to a key, which is there. */
void bat_counts_subtract(struct bat_counts *counts, const uint64_t *key, uint64_t first,
                         uint64_t second);

/* Forget all items but the first `count`. Linear in them. */
void bat_counts_truncate(struct bat_counts *counts, uint32_t count);

/* The item of a key, or NULL. */
const uint64_t *bat_counts_find(const struct bat_counts *counts, const uint64_t *key);

/* Sort the items by key, word by word. Afterwards nothing can be looked up or added. */
void bat_counts_sort(struct bat_counts *counts);

/* The numbers of the items, sorted by key. The caller frees them; NULL if there is no memory. */
uint32_t *bat_counts_order(const struct bat_counts *counts);

/*
 * bat_counts_sort() for several tables: the items of all become those of counts, and the counters
 * of equal keys are added. Each of the others (at most BAT_PARTS_MAX - 1) is sorted in a thread of
 * its own; they are empty afterwards. Fails like bat_counts_add(); then no item has changed.
 */
enum bat_code bat_counts_sort_together(struct bat_counts *counts, struct bat_counts *others,
                                       unsigned other_count);

/* Item number i: words of key, then the counters. */
static inline const uint64_t *bat_counts_item(const struct bat_counts *counts, uint32_t i)
{
    return counts->items + (size_t)i * (counts->words + 2);
}

/* The sum of all items' first counters. */
static inline uint64_t bat_counts_sum(const struct bat_counts *counts)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < counts->count; i++)
        sum += bat_counts_item(counts, i)[counts->words];
    return sum;
}
