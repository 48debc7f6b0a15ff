/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sorts tables of counts, several of them into one. */
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "key_sort.h"
#include "parallel.h"
#include "spec/large_memory.h"
#include "spec/order.h"

/* A table that is sorted. */
struct run {
    const struct bat_counts *counts;
    struct bat_sort_key *keys; /* its items in order (values); NULL if there is no memory */
    uint32_t next;             /* of keys, while the runs are merged */
};

/*
 * Sort items, given by order's values, that agree in the words before `word`: by this word, and
 * those that agree in it too, mostly few, by the next. spare has room for as many.
 */
static void sort_items(const struct bat_counts *counts, struct bat_sort_key *order,
                       struct bat_sort_key *spare, size_t count, uint32_t word)
{
    const size_t size = counts->words + 2;
    for (size_t i = 0; i < count; i++)
        order[i].key = counts->items[order[i].value * size + word];
    if (bat_sort_keys(order, spare, count) == spare)
        memcpy(order, spare, count * sizeof(*order));
    if (++word == counts->words)
        return;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && order[end].key == order[i].key; end++)
            continue;
        if (end - i > 1)
            sort_items(counts, order + i, spare, end - i, word);
    }
}

static void *find_order(void *context)
{
    struct run *run = context;
    const size_t count = run->counts->count;
    run->keys = bat_large_array(2 * count + 1, sizeof(*run->keys));
    if (!run->keys)
        return NULL;
    for (size_t i = 0; i < count; i++)
        run->keys[i].value = i;
    sort_items(run->counts, run->keys, run->keys + count, count, 0);
    return NULL;
}

static const uint64_t *item_of(const struct run *run, size_t i)
{
    return bat_counts_item(run->counts, (uint32_t)run->keys[i].value);
}

/* The first item that is left of a run; NULL if there is none. */
static const uint64_t *head(const struct run *run)
{
    return run->next < run->counts->count ? item_of(run, run->next) : NULL;
}

/* How many items ahead the prefetch is. */
#define FETCH_AHEAD 8u

/* Take the smallest item that is left in any run; NULL if there is none. */
static const uint64_t *take_smallest(struct run *runs, unsigned count, uint32_t words)
{
    struct run *smallest = NULL;
    const uint64_t *item = NULL;
    for (unsigned i = 0; i < count; i++) {
        const uint64_t *other = head(&runs[i]);
        if (!other || (item && bat_compare_words(item, other, words) <= 0))
            continue;
        smallest = &runs[i];
        item = other;
    }
    if (!smallest)
        return NULL;
    smallest->next++;
    if (smallest->counts->count - smallest->next > FETCH_AHEAD)
        __builtin_prefetch(item_of(smallest, (size_t)smallest->next + FETCH_AHEAD));
    return item;
}

/* Write the items of all runs to sorted; the counters of equal keys are added. */
static enum bat_code merge_runs(struct run *runs, unsigned count, uint64_t *sorted, uint32_t *used)
{
    const uint32_t words = runs[0].counts->words;
    const size_t size = words + 2;
    uint64_t *last = NULL;
    const uint64_t *item;
    *used = 0;
    while ((item = take_smallest(runs, count, words)) != NULL) {
        if (!last || bat_compare_words(last, item, words) != 0) {
            last = sorted + (size_t)(*used)++ * size;
            memcpy(last, item, size * sizeof(*last));
            continue;
        }
        if (last[words] > UINT64_MAX - item[words] ||
            last[words + 1] > UINT64_MAX - item[words + 1])
            return BAT_ERR_RANGE;
        last[words] += item[words];
        last[words + 1] += item[words + 1];
    }
    return BAT_OK;
}

static enum bat_code sort_runs(struct run *runs, unsigned count, struct bat_counts *result)
{
    bat_parts_run(find_order, runs, sizeof(*runs), count);
    uint64_t all = 0;
    for (unsigned i = 0; i < count; i++) {
        if (!runs[i].keys)
            return BAT_ERR_MEMORY;
        all += runs[i].counts->count;
    }
    const size_t size = (result->words + 2) * sizeof(*result->items);
    if (all >= BAT_NONE || all > SIZE_MAX / size - 1)
        return BAT_ERR_MEMORY;
    uint64_t *sorted = bat_large_array((size_t)all + 1, size);
    if (!sorted)
        return BAT_ERR_MEMORY;
    uint32_t used;
    enum bat_code code = merge_runs(runs, count, sorted, &used);
    if (code != BAT_OK) {
        free(sorted);
        return code;
    }
    bat_counts_free(result);
    result->items = sorted;
    result->count = used;
    result->capacity = (uint32_t)all + 1;
    return BAT_OK;
}

enum bat_code bat_counts_sort_together(struct bat_counts *counts, struct bat_counts *others,
                                       unsigned other_count)
{
    struct run *runs = calloc((size_t)other_count + 1, sizeof(*runs));
    if (!runs)
        return BAT_ERR_MEMORY;
    for (unsigned i = 0; i <= other_count; i++) {
        struct bat_counts *table = i == 0 ? counts : &others[i - 1];
        runs[i].counts = table;
        /* Makes room for what sorting needs. */
        free(table->slots);
        table->slots = NULL;
    }
    enum bat_code code = sort_runs(runs, other_count + 1, counts);
    for (unsigned i = 0; i <= other_count; i++)
        free(runs[i].keys);
    free(runs);
    for (unsigned i = 0; i < other_count && code == BAT_OK; i++)
        bat_counts_free(&others[i]);
    return code;
}

static int compare_keys(const void *left, const void *right, void *words)
{
    return bat_compare_words(left, right, *(const uint32_t *)words);
}

static int compare_items(const void *left, const void *right, void *context)
{
    const struct bat_counts *counts = context;
    return bat_compare_words(bat_counts_item(counts, *(const uint32_t *)left),
                             bat_counts_item(counts, *(const uint32_t *)right), counts->words);
}

uint32_t *bat_counts_order(const struct bat_counts *counts)
{
    return bat_sorted_order(counts->count, compare_items, counts);
}

void bat_counts_sort(struct bat_counts *counts)
{
    if (bat_counts_sort_together(counts, NULL, 0) == BAT_OK)
        return;
    free(counts->slots);
    counts->slots = NULL;
    if (counts->count > 1)
        qsort_r(counts->items, counts->count, (counts->words + 2) * sizeof(uint64_t), compare_keys,
                &counts->words);
}
