/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Starts of runs (see to_input.h). The record of a fall-through alone does not say what led to it;
 * a record of a branch alone to the same address does.
 */
#include <stdlib.h>

#include "to_input.h"

struct input_starts input_starts_new(void)
{
    return (struct input_starts){.by_output = bat_counts_new(1)};
}

void input_starts_free(struct input_starts *starts)
{
    bat_counts_free(&starts->by_output);
    free(starts->all);
}

static bool is_same(const struct input_start *left, const struct input_start *right)
{
    return left->branch == right->branch && left->from == right->from && left->way == right->way &&
           left->start_join == right->start_join;
}

static uint64_t add_counts(uint64_t left, uint64_t right)
{
    return right <= UINT64_MAX - left ? left + right : UINT64_MAX;
}

/* The equal start of the same output address, or BAT_NONE. */
static uint32_t find_same(const struct input_starts *starts, const uint64_t *item,
                          const struct input_start *start)
{
    uint32_t i = item ? (uint32_t)item[1] : BAT_NONE;
    while (i != BAT_NONE && !is_same(&starts->all[i], start))
        i = starts->all[i].next;
    return i;
}

enum bat_code input_starts_add(struct input_starts *starts, uint64_t output,
                               const struct input_start *start)
{
    const uint64_t *item = bat_counts_find(&starts->by_output, &output);
    uint32_t same = find_same(starts, item, start);
    if (same != BAT_NONE) {
        starts->all[same].count = add_counts(starts->all[same].count, start->count);
        return BAT_OK;
    }
    if (starts->count == starts->capacity) {
        uint32_t capacity = starts->capacity ? 2 * starts->capacity : 256;
        struct input_start *grown = realloc(starts->all, capacity * sizeof(*grown));
        if (!grown)
            return BAT_ERR_MEMORY;
        starts->all = grown;
        starts->capacity = capacity;
    }
    struct input_start *made = &starts->all[starts->count];
    *made = *start;
    made->next = BAT_NONE;
    if (!item)
        return bat_counts_add(&starts->by_output, &output, starts->count++, 0);
    /* Behind the first one: the table keeps the index of that. */
    made->next = starts->all[item[1]].next;
    starts->all[item[1]].next = starts->count++;
    return BAT_OK;
}

void input_starts_remove(struct input_starts *starts, uint64_t output,
                         const struct input_start *start)
{
    uint32_t same = find_same(starts, bat_counts_find(&starts->by_output, &output), start);
    if (same != BAT_NONE)
        starts->all[same].count -=
            start->count < starts->all[same].count ? start->count : starts->all[same].count;
}

bool input_starts_take(struct input_starts *starts, uint64_t output, uint64_t count,
                       struct input_start *start)
{
    const uint64_t *item = bat_counts_find(&starts->by_output, &output);
    uint32_t i = item ? (uint32_t)item[1] : BAT_NONE;
    while (i != BAT_NONE && starts->all[i].count == 0)
        i = starts->all[i].next;
    if (i == BAT_NONE)
        return false;
    *start = starts->all[i];
    start->count = count < start->count ? count : start->count;
    starts->all[i].count -= start->count;
    return true;
}
