/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Adding one profile to another. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "profile.h"
#include "spec/array.h"
#include "support/shared_counts.h"

/* --- Strings ------------------------------------------------------------------------------ */

/*
 * *numbers gets the new numbers of from's strings, to be freed. NULL if they are what they were.
 */
static enum bat_code merge_numbered(struct bat_strings *strings, const struct bat_strings *from,
                                    uint32_t **numbers)
{
    *numbers = NULL;
    if (strings->count != 0) {
        *numbers = malloc(((size_t)from->count + 1) * sizeof(**numbers));
        if (!*numbers)
            return BAT_ERR_MEMORY;
    }
    return bat_strings_add_all(strings, from, *numbers);
}

/* --- Tables ------------------------------------------------------------------------------- */

/* A table that gets all items of another one. */
struct table_merge {
    struct bat_counts *counts;
    const struct bat_counts *from;
    struct bat_counts *used_up; /* from, if it may be empty afterwards; or NULL */
    /*
     * New numbers of the strings that keys name in every other word, from the first, in its lower
     * half; NULL if keys name none, or they stay as they are.
     */
    const uint32_t *numbers;
    uint32_t before; /* how many items counts had */
    uint32_t added;  /* of from's, how many were added */
};

/* The key of item number i as counts has it. */
static const uint64_t *key_of(const struct table_merge *merge, uint32_t i, uint64_t *renamed)
{
    const uint64_t *item = bat_counts_item(merge->from, i);
    if (!merge->numbers)
        return item;
    memcpy(renamed, item, merge->from->words * sizeof(*renamed));
    for (uint32_t word = 0; word < merge->from->words; word += 2)
        renamed[word] =
            bat_fdata_word((uint32_t)(item[word] >> 32), merge->numbers[(uint32_t)item[word]]);
    return renamed;
}

static enum bat_code merge_renamed(struct table_merge *merge)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < merge->from->count && code == BAT_OK; i++) {
        const uint64_t *values = bat_counts_item(merge->from, i) + merge->from->words;
        uint64_t renamed[BAT_COUNTS_MAX_WORDS];
        code = bat_counts_add(merge->counts, key_of(merge, i, renamed), values[0], values[1]);
        merge->added += code == BAT_OK;
    }
    return code;
}

/* Add all items. On failure merge->added of them have been. */
static enum bat_code merge_table(struct table_merge *merge)
{
    merge->before = merge->counts->count;
    if (merge->numbers)
        return merge_renamed(merge);
    /* Items that are taken over are no longer there, and count in merge->before as if they were. */
    uint32_t count = merge->from->count;
    BAT_TRY(merge->used_up ? bat_counts_take(merge->counts, merge->used_up)
                           : bat_counts_merge(merge->counts, merge->from));
    merge->added = count;
    return BAT_OK;
}

static void take_back_table(struct table_merge *merge)
{
    /* Of a table that was empty, all items are new; from may have none any more. */
    for (uint32_t i = 0; merge->before != 0 && i < merge->added; i++) {
        const uint64_t *values = bat_counts_item(merge->from, i) + merge->from->words;
        uint64_t renamed[BAT_COUNTS_MAX_WORDS];
        bat_counts_subtract(merge->counts, key_of(merge, i, renamed), values[0], values[1]);
    }
    bat_counts_truncate(merge->counts, merge->before);
}

/* --- Profiles ----------------------------------------------------------------------------- */

/* fdata files can be merged only if their headers are equal. */
static enum bat_code check_headers(const struct bat_fdata *fdata, const struct bat_fdata *from,
                                   struct bat_error *error)
{
    if (!fdata->seen)
        return BAT_OK;
    if (fdata->bolted != from->bolted)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected fdata %s \"boltedcollection\", like the fdata before, found "
                        "fdata %s it",
                        fdata->bolted ? "with" : "without", from->bolted ? "with" : "without");
    if (fdata->no_lbr != from->no_lbr)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected fdata of %s, like the fdata before, found %s",
                        fdata->no_lbr ? "basic samples (no_lbr)" : "branches",
                        from->no_lbr ? "basic samples (no_lbr)" : "branches");
    return BAT_OK;
}

void bat_profile_add_counters(struct bat_profile_counters *counters,
                              const struct bat_profile_counters *from)
{
    uint64_t *sums = (uint64_t *)counters;
    const uint64_t *more = (const uint64_t *)from;
    for (size_t i = 0; i < sizeof(*counters) / sizeof(*sums); i++)
        sums[i] += more[i];
}

#define TABLE_COUNT 7u

/* What a profile gets from another one, and what it had. */
struct profile_merge {
    struct bat_profile *profile;
    const struct bat_profile *from;
    uint32_t events, foreign_names, names; /* strings before */
    bool names_events;                     /* before */
    uint32_t *foreign_numbers;
    uint32_t *numbers;
    struct table_merge tables[TABLE_COUNT];
    size_t tables_done; /* these were merged */
};

static enum bat_code merge_names(struct profile_merge *merge)
{
    struct bat_profile *profile = merge->profile;
    const struct bat_profile *from = merge->from;
    merge->events = profile->events.count;
    merge->names_events = profile->names_events;
    profile->names_events = profile->names_events || from->names_events;
    merge->foreign_names = profile->foreign_names.count;
    merge->names = profile->fdata.names.count;
    enum bat_code code = bat_strings_add_all(&profile->events, &from->events, NULL);
    if (code == BAT_OK)
        code =
            merge_numbered(&profile->foreign_names, &from->foreign_names, &merge->foreign_numbers);
    return code ? code : merge_numbered(&profile->fdata.names, &from->fdata.names, &merge->numbers);
}

/* The tables of a profile, and which of a merge's numbers the strings in their keys have. */
static const struct {
    size_t offset;  /* in struct bat_profile */
    size_t numbers; /* in struct profile_merge; 0: keys name no strings */
} profile_tables[TABLE_COUNT] = {
    {offsetof(struct bat_profile, traces), 0},
    {offsetof(struct bat_profile, samples), 0},
    {offsetof(struct bat_profile, returns), 0},
    {offsetof(struct bat_profile, mem_samples), 0},
    {offsetof(struct bat_profile, foreign_counts), offsetof(struct profile_merge, foreign_numbers)},
    {offsetof(struct bat_profile, fdata.branches), offsetof(struct profile_merge, numbers)},
    {offsetof(struct bat_profile, fdata.samples), offsetof(struct profile_merge, numbers)},
};

static struct bat_counts *table_of(struct bat_profile *profile, size_t i)
{
    return (struct bat_counts *)((char *)profile + profile_tables[i].offset);
}

/* Merge all tables, as far as merge->tables_done tells. used_up is as for begin_merge(). */
static enum bat_code merge_tables(struct profile_merge *merge, struct bat_profile *used_up)
{
    enum bat_code code = BAT_OK;
    while (merge->tables_done < TABLE_COUNT && code == BAT_OK) {
        size_t i = merge->tables_done++;
        struct table_merge *table = &merge->tables[i];
        size_t numbers = profile_tables[i].numbers;
        *table = (struct table_merge){
            .counts = table_of(merge->profile, i),
            .from =
                (const struct bat_counts *)((const char *)merge->from + profile_tables[i].offset),
            .used_up = used_up ? table_of(used_up, i) : NULL,
            .numbers = numbers ? *(uint32_t *const *)((const char *)merge + numbers) : NULL};
        code = merge_table(table);
    }
    return code;
}

/* Make the profile what it was before begin_merge(). */
static void take_back(struct profile_merge *merge)
{
    while (merge->tables_done > 0)
        take_back_table(&merge->tables[--merge->tables_done]);
    bat_strings_truncate(&merge->profile->events, merge->events);
    merge->profile->names_events = merge->names_events;
    bat_strings_truncate(&merge->profile->foreign_names, merge->foreign_names);
    bat_strings_truncate(&merge->profile->fdata.names, merge->names);
}

static void free_merge(struct profile_merge *merge)
{
    BAT_FREE_ALL(merge->foreign_numbers, merge->numbers);
}

/*
 * Add all tables of from, or nothing. used_up is from, if its tables may be taken over; or NULL.
 * After success the caller may still take it back; finish_merge() does the rest.
 */
static enum bat_code begin_merge(struct profile_merge *merge, struct bat_profile *profile,
                                 const struct bat_profile *from, struct bat_profile *used_up,
                                 struct bat_error *error)
{
    *merge = (struct profile_merge){.profile = profile, .from = from};
    if (from->sum > BAT_COUNT_MAX - profile->sum)
        return bat_fail(error, BAT_ERR_RANGE,
                        "expected counts that add up to less than 2^63 over all inputs, found "
                        "more");
    BAT_TRY(from->fdata.seen ? check_headers(&profile->fdata, &from->fdata, error) : BAT_OK);
    enum bat_code code = merge_names(merge);
    code = code ? code : merge_tables(merge, used_up);
    if (code != BAT_OK)
        take_back(merge);
    return bat_counts_fail(error, code, "the profile");
}

static void finish_merge(const struct profile_merge *merge)
{
    struct bat_profile *profile = merge->profile;
    const struct bat_profile *from = merge->from;
    profile->sum += from->sum;
    if (from->fdata.seen) {
        profile->fdata.bolted = from->fdata.bolted;
        profile->fdata.no_lbr = from->fdata.no_lbr;
        profile->fdata.seen = true;
    }
    bat_profile_add_counters(&profile->counters, &from->counters);
    profile->branch_filter |= from->branch_filter;
    if (profile->elsewhere[0] == '\0')
        memcpy(profile->elsewhere, from->elsewhere, sizeof(profile->elsewhere));
}

static enum bat_code merge_profiles(struct bat_profile *profile, const struct bat_profile *from,
                                    struct bat_profile *used_up, struct bat_error *error)
{
    struct profile_merge merge;
    enum bat_code code = begin_merge(&merge, profile, from, used_up, error);
    if (code == BAT_OK)
        finish_merge(&merge);
    free_merge(&merge);
    return code;
}

enum bat_code bat_profiles_take(struct bat_profile *const *profiles,
                                struct bat_profile *const *from, size_t count,
                                struct bat_error *error)
{
    struct profile_merge *merges = calloc(count, sizeof(*merges));
    BAT_TRY_MEMORY(merges, error, "for the profile");
    enum bat_code code = BAT_OK;
    size_t done = 0;
    for (; done < count && code == BAT_OK; done++)
        code = begin_merge(&merges[done], profiles[done], from[done], from[done], error);
    for (size_t i = 0; i < done; i++) {
        if (code == BAT_OK)
            finish_merge(&merges[i]);
        else if (i + 1 < done)
            take_back(&merges[i]);
        free_merge(&merges[i]);
    }
    free(merges);
    return code;
}

enum bat_code bat_profile_take(struct bat_profile *profile, struct bat_profile *from,
                               struct bat_error *error)
{
    return merge_profiles(profile, from, from, error);
}

enum bat_code bat_profile_merge(struct bat_profile *profile, const struct bat_profile *from,
                                struct bat_error *error)
{
    if (profile == from)
        return bat_fail(error, BAT_ERR_ARGUMENT,
                        "expected another profile to merge, found the same one");
    return merge_profiles(profile, from, NULL, error);
}

/* --- Tables that several threads add to --------------------------------------------------- */

/* The first profile_tables, which can be large. */
#define SHARED_TABLES 4u

bool bat_profile_parts_make(struct bat_profile_parts *parts, struct bat_profile *const *profiles,
                            uint32_t count, unsigned threads)
{
    const size_t all = (size_t)count * threads;
    const size_t shared = threads > 1 ? (size_t)count * SHARED_TABLES : 0;
    *parts = (struct bat_profile_parts){.profiles = profiles,
                                        .count = count,
                                        .threads = threads,
                                        .all = calloc(all + 1, sizeof(*parts->all)),
                                        .shared = calloc(shared + 1, sizeof(*parts->shared))};
    bool is_made = parts->all && parts->shared;
    for (size_t i = 0; is_made && i < shared; i++) {
        const struct bat_counts *table = table_of(profiles[i / SHARED_TABLES], i % SHARED_TABLES);
        parts->shared[i] = bat_shared_counts_new(table->words);
        is_made = parts->shared[i] != NULL;
    }
    for (size_t i = 0; is_made && i < all; i++) {
        parts->all[i] = shared ? bat_profile_new_part(profiles[i % count]) : profiles[i];
        is_made = parts->all[i] != NULL;
        for (size_t j = 0; is_made && shared && j < SHARED_TABLES; j++)
            bat_counts_share(table_of(parts->all[i], j),
                             parts->shared[i % count * SHARED_TABLES + j]);
    }
    return is_made;
}

void bat_profile_parts_free(struct bat_profile_parts *parts)
{
    const size_t all = parts->all && parts->threads > 1 ? (size_t)parts->count * parts->threads : 0;
    for (size_t i = 0; i < all; i++)
        bat_profile_free(parts->all[i]);
    for (size_t i = 0; parts->shared && parts->shared[i]; i++)
        bat_shared_counts_free(parts->shared[i]);
    BAT_FREE_ALL(parts->all, parts->shared);
}

enum bat_code bat_profile_parts_take(struct bat_profile_parts *parts, struct bat_error *error)
{
    const size_t all = parts->threads > 1 ? (size_t)parts->count * parts->threads : 0;
    enum bat_code code = BAT_OK;
    for (size_t i = 0; i < all && code == BAT_OK; i++) {
        code = bat_profile_take(parts->profiles[i % parts->count], parts->all[i], error);
        bat_profile_free(parts->all[i]);
        parts->all[i] = NULL;
    }
    for (size_t i = 0; parts->shared[i] && code == BAT_OK; i++) {
        struct bat_counts *table = table_of(parts->profiles[i / SHARED_TABLES], i % SHARED_TABLES);
        code =
            bat_counts_fail(error, bat_shared_counts_take(parts->shared[i], table), "the profile");
    }
    return code;
}
