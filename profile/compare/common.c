/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What all of several profiles agree on (spec/compare.md 5). */
#include <stdlib.h>
#include <string.h>

#include "bat_compare.h"
#include "profile/profile.h"
#include "profile/translate/records.h"
#include "spec/order.h"
#include "support/text_writer.h"

static uint64_t smaller(uint64_t left, uint64_t right)
{
    return left < right ? left : right;
}

/* --- Keeping what both have ------------------------------------------------------------------ */

/* Tables of a profile, in one order. */
#define TABLES 6u

static void list_tables(struct bat_profile *profile, struct bat_counts *tables[TABLES])
{
    struct bat_counts *const all[TABLES] = {&profile->traces,         &profile->samples,
                                            &profile->returns,        &profile->mem_samples,
                                            &profile->fdata.branches, &profile->fdata.samples};
    memcpy(tables, all, sizeof(all));
}

/* For each name of fdata its number in the other profile, or BAT_NONE. */
static uint32_t *number_names(const struct bat_strings *names, const struct bat_strings *others)
{
    uint32_t *numbers = malloc(((size_t)names->count + 1) * sizeof(*numbers));
    for (uint32_t i = 0; numbers && i < names->count; i++) {
        const char *name = bat_strings_get(names, i);
        numbers[i] = bat_strings_find(others, name, strlen(name));
    }
    return numbers;
}

/* The key of the same record in the other profile. False if that lacks a name. */
static bool translate_key(const uint64_t *key, uint32_t words, const uint32_t *numbers,
                          uint64_t other[BAT_COUNTS_MAX_WORDS])
{
    memcpy(other, key, words * sizeof(*key));
    for (uint32_t i = 0; numbers && i < words; i += 2) {
        uint32_t number = numbers[(uint32_t)key[i]];
        if (number == BAT_NONE)
            return false;
        other[i] = bat_fdata_word((uint32_t)(key[i] >> 32), number);
    }
    return true;
}

/* Fill common, which is empty, with what both tables have. numbers: words 0 and 2 have names. */
static enum bat_code find_common(struct bat_counts *common, const struct bat_counts *left,
                                 const struct bat_counts *right, const uint32_t *numbers)
{
    enum bat_code code = BAT_OK;
    uint32_t words = left->words;
    for (uint32_t i = 0; i < left->count && code == BAT_OK; i++) {
        const uint64_t *item = bat_counts_item(left, i);
        uint64_t key[BAT_COUNTS_MAX_WORDS];
        const uint64_t *other =
            translate_key(item, words, numbers, key) ? bat_counts_find(right, key) : NULL;
        if (other)
            code = bat_counts_add(common, item, smaller(item[words], other[words]),
                                  smaller(item[words + 1], other[words + 1]));
    }
    return code;
}

static enum bat_code check_kinds(const struct bat_profile *left, const struct bat_profile *right,
                                 struct bat_error *error)
{
    if (left->fdata.seen != right->fdata.seen)
        return bat_fail(error, BAT_ERR_MISMATCH, "expected %s, as before, found %s",
                        left->fdata.seen ? "fdata" : "a pre-aggregated profile",
                        left->fdata.seen ? "a pre-aggregated profile" : "fdata");
    if (left->fdata.bolted != right->fdata.bolted || left->fdata.no_lbr != right->fdata.no_lbr)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected fdata of the same kind as before (boltedcollection, no_lbr), "
                        "found another");
    return BAT_OK;
}

static enum bat_code find_events(struct bat_strings *common, const struct bat_strings *left,
                                 const struct bat_strings *right)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < left->count && code == BAT_OK; i++) {
        const char *name = bat_strings_get(left, i);
        uint32_t number;
        if (bat_strings_find(right, name, strlen(name)) != BAT_NONE)
            code = bat_strings_add(common, name, strlen(name), &number);
    }
    return code;
}

enum bat_code bat_profile_keep_common(struct bat_profile *profile, const struct bat_profile *from,
                                      struct bat_error *error)
{
    BAT_TRY(check_kinds(profile, from, error));
    struct bat_counts *own[TABLES];
    struct bat_counts *others[TABLES];
    struct bat_counts common[TABLES];
    struct bat_strings events = {0};
    list_tables(profile, own);
    list_tables((struct bat_profile *)from, others);
    uint32_t *numbers = number_names(&profile->fdata.names, &from->fdata.names);
    enum bat_code code =
        numbers ? find_events(&events, &profile->events, &from->events) : BAT_ERR_MEMORY;
    for (unsigned i = 0; i < TABLES; i++) {
        common[i] = bat_counts_new(own[i]->words);
        bool has_names = own[i] == &profile->fdata.branches || own[i] == &profile->fdata.samples;
        code = code ? code : find_common(&common[i], own[i], others[i], has_names ? numbers : NULL);
    }
    free(numbers);
    /* From here on nothing fails: exchange all, and free what is not needed. */
    for (unsigned i = 0; i < TABLES; i++) {
        struct bat_counts unneeded = code == BAT_OK ? *own[i] : common[i];
        if (code == BAT_OK)
            *own[i] = common[i];
        bat_counts_free(&unneeded);
    }
    struct bat_strings unneeded = code == BAT_OK ? profile->events : events;
    if (code == BAT_OK)
        profile->events = events;
    bat_strings_free(&unneeded);
    return code == BAT_OK ? BAT_OK : bat_fail_memory(error, "for what profiles have in common");
}

/* --- Writing fdata --------------------------------------------------------------------------- */

struct sorting {
    const struct bat_counts *counts;
    const struct bat_strings *names;
};

/* By the names and offsets of the ends, then their kinds: numbers of names depend on the input. */
static int by_text(const void *left_pointer, const void *right_pointer, void *context)
{
    const struct sorting *sorting = context;
    const uint64_t *left = bat_counts_item(sorting->counts, *(const uint32_t *)left_pointer);
    const uint64_t *right = bat_counts_item(sorting->counts, *(const uint32_t *)right_pointer);
    int order = 0;
    for (uint32_t i = 0; i < sorting->counts->words && order == 0; i += 2) {
        order = strcmp(bat_strings_get(sorting->names, (uint32_t)left[i]),
                       bat_strings_get(sorting->names, (uint32_t)right[i]));
        order = order ? order : bat_compare_numbers(left[i + 1], right[i + 1]);
        order = order ? order : bat_compare_numbers(left[i] >> 32, right[i] >> 32);
    }
    return order;
}

static void write_end(struct bat_text_writer *writer, const struct bat_fdata *fdata,
                      const uint64_t *end)
{
    char *at = bat_text_room(writer, 32);
    *at++ = (char)('0' + (end[0] >> 32));
    *at++ = ' ';
    bat_text_end(writer, at);
    const char *name = bat_strings_get(&fdata->names, (uint32_t)end[0]);
    bat_text_bytes(writer, name, strlen(name));
    at = bat_text_room(writer, 32);
    *at++ = ' ';
    at = bat_put_hex(at, end[1]);
    *at++ = ' ';
    bat_text_end(writer, at);
}

enum bat_code bat_profile_write_fdata(const struct bat_profile *profile, struct bat_output *output,
                                      struct bat_error *error)
{
    const struct bat_fdata *fdata = &profile->fdata;
    struct sorting sorting = {.counts = fdata->no_lbr ? &fdata->samples : &fdata->branches,
                              .names = &fdata->names};
    uint32_t count = sorting.counts->count;
    uint32_t *order = bat_sorted_order(count, by_text, &sorting);
    BAT_TRY_MEMORY(order, error, "for what profiles have in common");
    struct bat_text_writer writer;
    enum bat_code code = bat_text_begin(&writer, output, error);
    if (code == BAT_OK) {
        bat_fdata_write_header(&writer, fdata->no_lbr ? &profile->events : NULL, fdata->bolted);
        for (uint32_t i = 0; i < count; i++) {
            const uint64_t *item = bat_counts_item(sorting.counts, order[i]);
            for (uint32_t end = 0; end < sorting.counts->words; end += 2)
                write_end(&writer, fdata, item + end);
            bat_fdata_write_counts(&writer, item, sorting.counts->words);
        }
        code = bat_text_finish(&writer, BAT_OK);
    }
    free(order);
    return code;
}
