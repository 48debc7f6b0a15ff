/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Looks up the functions of all samples before they are translated: only their tables are decoded,
 * and only they get names. What is freed then makes room for the records.
 */
#include <pthread.h>
#include <stdlib.h>

#include "bat_decoder.h"
#include "spec/large_memory.h"
#include "support/key_sort.h"
#include "support/parallel.h"
#include "translation.h"

/* --- Functions of addresses ----------------------------------------------------------------- */

/* translation_function() of an address that is probably in the function `near`. */
static uint32_t function_near(const struct translation *translation, uint64_t address,
                              uint32_t near)
{
    const struct bat_records *records = translation->records;
    if (near == BAT_NONE)
        return translation_function(translation, address);
    const struct bat_function_symbol *symbol = &records->symbols[near];
    bool is_near = address - symbol->address < symbol->size &&
                   (near + 1 == records->function_count || address < symbol[1].address);
    return is_near ? near : translation_function(translation, address);
}

/* Mark a function with samples, and its parent. */
static void mark(const struct translation *translation, uint32_t function)
{
    if (function == BAT_NONE || translation->surveyed[function])
        return;
    translation->surveyed[function] = 1;
    translation->surveyed[translation_parent(translation, function)] = 1;
}

static void mark_addresses(const struct translation *translation, const struct bat_counts *counts)
{
    for (uint32_t i = 0; i < counts->count; i++)
        for (uint32_t word = 0; word < counts->words; word++)
            mark(translation, translation_function(translation, bat_counts_item(counts, i)[word]));
}

/* How many traces ahead the prefetch is. */
#define FETCH_AHEAD 16u

/* Look up the functions at the ends of the traces first to end - 1 in translation->order. */
static void find_ends(void *context, size_t first, size_t end, unsigned thread)
{
    const struct translation *translation = context;
    (void)thread;
    uint32_t last = BAT_NONE;
    for (size_t i = first; i < end; i++) {
        if (end - i > FETCH_AHEAD)
            translation_fetch(translation, (uint32_t)i + FETCH_AHEAD);
        uint32_t number = (uint32_t)translation->order[i].value;
        const uint64_t *item = bat_counts_item(&translation->profile->traces, number);
        struct trace_functions *ends = &translation->ends[number];
        ends->from = function_near(translation, item[1], last);
        ends->to = function_near(translation, item[2], ends->from);
        ends->branch = function_near(translation, item[0], ends->from);
        last = ends->from;
    }
}

/* Traces that a thread looks up at a time. */
#define STRETCH 8192u

static enum bat_code survey_traces(struct translation *translation)
{
    uint32_t count = translation->profile->traces.count;
    translation->ends = bat_large_array((size_t)count + 1, sizeof(*translation->ends));
    BAT_TRY_MEMORY(translation->ends, translation->error, "for the translated profile");
    unsigned threads = bat_parallel_threads(translation->options.threads, count / STRETCH);
    bat_parallel_run(count, STRETCH, threads, find_ends, translation);
    for (uint32_t i = 0; i < count; i++) {
        const struct trace_functions *ends = &translation->ends[i];
        mark(translation, ends->branch);
        mark(translation, ends->from);
        mark(translation, ends->to);
    }
    return BAT_OK;
}

enum bat_code translation_sort_traces(struct translation *translation)
{
    const struct bat_counts *traces = &translation->profile->traces;
    uint32_t count = traces->count;
    translation->keys = bat_large_array(2 * ((size_t)count + 1), sizeof(*translation->keys));
    BAT_TRY_MEMORY(translation->keys, translation->error, "for the translated profile");
    struct bat_sort_key *keys = translation->keys;
    for (uint32_t i = 0; i < count; i++)
        keys[i] = (struct bat_sort_key){.key = bat_counts_item(traces, i)[1], .value = i};
    translation->order = bat_sort_keys(keys, keys + count, count);
    return BAT_OK;
}

/* --- Names ---------------------------------------------------------------------------------- */

/* True if BOLT may have inlined functions, whose records samples of other functions make. */
static bool may_have_inlined(const struct translation *translation)
{
    const struct bat_records *records = translation->records;
    return bat_records_have_note(records) &&
           bat_output_may_have_option(records->binary->elf, "inline");
}

enum bat_code translation_name(struct translation *translation, const uint8_t *wanted)
{
    struct bat_functions *functions = translation->records->functions;
    if (!bat_records_have_note(translation->records))
        bat_functions_take_first_names(functions);
    translation->has_names = true;
    return bat_functions_name(functions, wanted, translation->error);
}

/* --- Tables --------------------------------------------------------------------------------- */

/* Decode the entries of the surveyed functions, and read their code. */
static enum bat_code load_surveyed(struct translation *translation, struct bat_sparse_map *sparse)
{
    const struct bat_records *records = translation->records;
    const struct bat_map *map = translation_map(translation);
    uint8_t *wanted = calloc((size_t)map->hot_count + 1, 1);
    BAT_TRY_MEMORY(wanted, translation->error, "for the translated profile");
    for (uint32_t i = 0; i < records->function_count; i++)
        if (translation->surveyed[i] && records->tables[i] != BAT_NONE)
            wanted[bat_map_parent(map, records->tables[i])] = 1;
    enum bat_code code = bat_binary_load_tables(
        records->binary, sparse, wanted, translation->options.threads == 1 ? NULL : bat_parts_run,
        translation->error);
    if (code == BAT_OK && !translation->options.keep_all_records &&
        records->kind == BAT_PROFILE_BRANCHES) {
        code = bat_records_read_flows(translation->records, wanted, translation->error);
        translation->has_read_flows = bat_records_can_lend_flows(translation->records);
    }
    free(wanted);
    return code;
}

/* Naming, and what follows from the functions of the traces, in a thread beside the loading. */
struct naming {
    struct translation *translation;
    enum bat_code code;
    struct bat_error error;
};

static void *run_naming(void *context)
{
    struct naming *naming = context;
    struct translation *translation = naming->translation;
    naming->code =
        bat_functions_name(translation->records->functions, translation->surveyed, &naming->error);
    if (naming->code == BAT_OK && translation->records->kind == BAT_PROFILE_BRANCHES)
        naming->code = translation_open_uncovered(translation, &naming->error);
    return NULL;
}

/* translation_name() and load_surveyed() of a binary with a note. */
static enum bat_code name_and_load(struct translation *translation, struct bat_sparse_map *sparse)
{
    struct naming naming = {.translation = translation};
    pthread_t thread;
    translation->has_names = true;
    const bool is_started = translation->options.threads != 1 &&
                            pthread_create(&thread, NULL, run_naming, &naming) == 0;
    if (!is_started)
        run_naming(&naming);
    enum bat_code code =
        is_started || naming.code == BAT_OK ? load_surveyed(translation, sparse) : BAT_OK;
    if (is_started)
        pthread_join(thread, NULL);
    if (naming.code == BAT_OK)
        return code;
    if (translation->error)
        *translation->error = naming.error;
    return naming.code;
}

/* --- All of it ------------------------------------------------------------------------------ */

enum bat_code translation_survey(struct translation *translation, struct bat_sparse_map *sparse,
                                 bool is_renamed)
{
    const struct bat_records *records = translation->records;
    translation->surveyed = calloc((size_t)records->function_count + 1, 1);
    translation->touched = calloc((size_t)records->function_count + 1, 1);
    if (!translation->surveyed || !translation->touched)
        return bat_fail_memory(translation->error, "for the translated profile");
    BAT_TRY(survey_traces(translation));
    enum bat_code code = BAT_OK;
    mark_addresses(translation, &translation->profile->samples);
    mark_addresses(translation, &translation->profile->mem_samples);
    /* Inputs of fdata may name any function. */
    bool is_enough = !translation->fdata_of->fdata.seen && !may_have_inlined(translation);
    if (is_enough && !is_renamed && sparse->tables)
        return name_and_load(translation, sparse);
    if (is_enough)
        code = translation_name(translation, translation->surveyed);
    if (code == BAT_OK && sparse->tables)
        code = bat_binary_load_tables(records->binary, sparse, NULL, NULL, translation->error);
    return code;
}
