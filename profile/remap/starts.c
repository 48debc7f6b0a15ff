/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Starts of runs (see to_input.h). The record of a fall-through alone does not say what led to it;
 * a record of a branch alone to the same address does.
 */
#include <stdlib.h>

#include "spec/array.h"
#include "to_input.h"

struct input_starts input_starts_new(void)
{
    return (struct input_starts){.by_output = bat_counts_new(1), .by_start = bat_counts_new(4)};
}

void input_starts_free(struct input_starts *starts)
{
    bat_counts_free(&starts->by_output);
    bat_counts_free(&starts->by_start);
    free(starts->all);
}

static uint64_t add_counts(uint64_t left, uint64_t right)
{
    return right <= UINT64_MAX - left ? left + right : UINT64_MAX;
}

/* The key of equal starts of one output address. */
struct start_key {
    uint64_t words[4];
};

static struct start_key key_of(uint64_t output, const struct input_start *start)
{
    return (struct start_key){
        {output, start->branch, start->from, (uint64_t)start->start_join << 8 | start->way}};
}

enum bat_code input_starts_add(struct input_starts *starts, uint64_t output,
                               const struct input_start *start)
{
    const struct start_key key = key_of(output, start);
    const uint64_t *number;
    bool is_new;
    enum bat_code code =
        bat_counts_find_or_add(&starts->by_start, key.words, starts->count, 0, &number, &is_new);
    if (code == BAT_OK && !is_new)
        starts->all[*number].count = add_counts(starts->all[*number].count, start->count);
    if (code != BAT_OK || !is_new)
        return code;
    if (!BAT_GROW(starts->all, starts->count, starts->capacity))
        return BAT_ERR_MEMORY;
    struct input_start *made = &starts->all[starts->count];
    *made = *start;
    made->next = BAT_NONE;
    const uint64_t *item = bat_counts_find(&starts->by_output, &output);
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
    const struct start_key key = key_of(output, start);
    const uint64_t *item = bat_counts_find(&starts->by_start, key.words);
    if (!item)
        return;
    struct input_start *same = &starts->all[item[4]];
    same->count -= start->count < same->count ? start->count : same->count;
}

bool input_starts_take(struct input_starts *starts, uint64_t output, uint64_t count,
                       struct input_start *start)
{
    const uint64_t *item = bat_counts_find(&starts->by_output, &output);
    if (!item)
        return false;
    struct input_start *first = &starts->all[item[1]];
    uint32_t i = (uint32_t)item[1];
    while (i != BAT_NONE && starts->all[i].count == 0)
        i = starts->all[i].next;
    /* The table keeps the first; those behind it that have nothing left are not passed again. */
    if (i != item[1])
        first->next = i;
    if (i == BAT_NONE)
        return false;
    *start = starts->all[i];
    start->count = count < start->count ? count : start->count;
    starts->all[i].count -= start->count;
    return true;
}
