/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Translates the traces of a profile by several threads: each translates a part of them into
 * records of its own. Branches are added up when they are sorted, the rest at the end.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "support/parallel.h"
#include "translation.h"

/* The fewest traces for which a thread is worth its start. */
#define TRACES_MIN 16384u

/* Traces that a thread takes at a time: some take longer than others. */
#define STRETCH 4096u

struct part {
    struct translation *translation; /* the whole one for the first part; own for the others */
    struct translation own;
    struct bat_records records; /* of own: what it adds to is own, the rest is the whole one's */
    _Atomic(uint64_t) *next;    /* of all parts: the first position in translation->order left */
    enum bat_code code;
    struct bat_error error;
};

/* True if translating traces only reads what the parts share. */
static bool can_divide(const struct translation *translation)
{
    const struct bat_records *records = translation->records;
    return bat_records_have_note(records) &&
           (translation->options.keep_all_records || translation->has_read_flows);
}

static enum bat_code begin_part(struct part *part, const struct translation *whole)
{
    part->records = *whole->records;
    part->records.branches = bat_counts_new(whole->records->branches.words);
    part->records.starts_reached = bat_counts_new(whole->records->starts_reached.words);
    part->records.counters = (struct bat_translate_counters){0};
    part->own = *whole;
    part->own.records = &part->records;
    part->own.error = &part->error;
    part->own.touched = calloc((size_t)whole->records->function_count + 1, 1);
    part->translation = &part->own;
    return part->own.touched ? BAT_OK : BAT_ERR_MEMORY;
}

static void end_part(struct part *part)
{
    bat_counts_free(&part->records.branches);
    bat_counts_free(&part->records.starts_reached);
    free(part->own.touched);
}

static void *run_part(void *context)
{
    struct part *part = context;
    const uint32_t traces = part->translation->profile->traces.count;
    for (uint64_t first; (first = atomic_fetch_add(part->next, STRETCH)) < traces;) {
        const uint64_t end = first + STRETCH < traces ? first + STRETCH : traces;
        if (part->code == BAT_OK)
            part->code = translation_traces(part->translation, (uint32_t)first, (uint32_t)end);
    }
    return NULL;
}

/* Unite the functions that have samples; counters counts each of them once. */
static void unite_functions(struct translation *whole, const struct part *part)
{
    const struct bat_records *records = whole->records;
    struct bat_translate_counters *counters = &whole->records->counters;
    for (uint32_t i = 0; i < records->function_count; i++) {
        if (!part->own.touched[i] || whole->touched[i])
            continue;
        whole->touched[i] = 1;
        counters->functions++;
        counters->functions_without_table += records->tables[i] == BAT_NONE;
    }
}

/* All counters are sums, but functions are counted by unite_functions(). */
static void add_counters(struct bat_translate_counters *sum, struct bat_translate_counters *part)
{
    part->functions = 0;
    part->functions_without_table = 0;
    uint64_t *numbers = (uint64_t *)sum;
    const uint64_t *added = (const uint64_t *)part;
    for (size_t i = 0; i < sizeof(*sum) / sizeof(*numbers); i++)
        numbers[i] += added[i];
}

static enum bat_code add_part(struct translation *whole, struct part *part)
{
    struct bat_records *records = whole->records;
    unite_functions(whole, part);
    add_counters(&records->counters, &part->records.counters);
    whole->others[whole->other_count++] = part->records.branches;
    part->records.branches = bat_counts_new(records->branches.words);
    enum bat_code code = bat_counts_merge(&records->starts_reached, &part->records.starts_reached);
    return bat_counts_fail(whole->error, code, "the translated profile");
}

static enum bat_code run_parts(struct translation *whole, struct part *parts, unsigned count)
{
    _Atomic(uint64_t) next = 0;
    whole->others = calloc(count, sizeof(*whole->others));
    BAT_TRY_MEMORY(whole->others, whole->error, "for the translated profile");
    parts[0].translation = whole;
    for (unsigned i = 0; i < count; i++) {
        parts[i].next = &next;
        if (i != 0 && begin_part(&parts[i], whole) != BAT_OK)
            return bat_fail_memory(whole->error, "for the translated profile");
        /* About as many as its traces. Without memory for them, adding them may fail. */
        (void)bat_counts_expect(&parts[i].translation->records->branches,
                                whole->profile->traces.count / count);
    }
    bat_parts_run(run_part, parts, sizeof(parts[0]), count);
    for (unsigned i = 0; i < count; i++) {
        if (parts[i].code == BAT_OK)
            continue;
        if (i != 0 && whole->error)
            *whole->error = parts[i].error;
        return parts[i].code;
    }
    for (unsigned i = 1; i < count; i++)
        BAT_TRY(add_part(whole, &parts[i]));
    return BAT_OK;
}

enum bat_code translation_all_traces(struct translation *translation)
{
    uint32_t traces = translation->profile->traces.count;
    unsigned count = bat_parallel_threads(translation->options.threads, traces / TRACES_MIN);
    if (count == 1 || !can_divide(translation))
        return translation_traces(translation, 0, traces);
    struct part *parts = calloc(count, sizeof(*parts));
    BAT_TRY_MEMORY(parts, translation->error, "for the translated profile");
    enum bat_code code = run_parts(translation, parts, count);
    for (unsigned i = 1; i < count; i++)
        end_part(&parts[i]);
    free(parts);
    return code;
}
