/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Judges all functions of a profile (bat_records_judge()): by their code in the input binary where
 * that is at hand (judge_code.c), otherwise by the note (judge_note.c). Sums up the verdicts.
 */
#include "judge.h"

#include <stdlib.h>

#include "bat_decoder.h"
#include "binary/original/original.h"
#include "profile/profile.h"
#include "spec/array.h"
#include "spec/order.h"
#include "support/parallel.h"

/* What one thread has judged. */
struct part {
    struct bat_judgement fdata;
    struct bat_judgement yaml;
    struct judged_function *stale;
    uint32_t stale_count;
    size_t stale_capacity;
    struct judge_scratch scratch;
    struct bat_flow_reader *reader;
    enum bat_code code;
    struct bat_error error;
};

struct judging {
    struct bat_records *records;
    struct bat_tableless *kept;     /* code that the translation has read; NULL if of no use */
    struct bat_tableless tableless; /* code of the functions that are not in kept */
    uint8_t *is_named;              /* for each function: a record is from it, or enters it */
    struct judged_records *all;     /* for each of these functions */
    uint32_t count;
    struct part parts[BAT_PARALLEL_MAX];
    struct bat_error *error;
};

/* --- Code ----------------------------------------------------------------------------------- */

/*
 * The index of the function whose code llvm-bolt will compare the records with: one of the input
 * binary, or one that BOLT has not changed. BAT_NONE if its code is not at hand: then the note
 * decides.
 */
static uint32_t code_of(const struct bat_records *records, uint32_t function)
{
    if (records->input || !bat_records_have_note(records))
        return function;
    if (records->original) {
        const uint32_t output = bat_functions_at(records->original->output_functions,
                                                 records->symbols[function].address);
        return output == BAT_NONE ? BAT_NONE : records->original->input_of[output];
    }
    return records->tables[function] == BAT_NONE ? function : BAT_NONE;
}

/* Open the code of all named functions that the translation has not read. */
static enum bat_code open_code(struct judging *judging)
{
    struct bat_records *records = judging->records;
    const struct bat_original *original = records->input ? NULL : records->original;
    const struct bat_functions *functions =
        original ? original->input_functions : records->functions;
    uint32_t total;
    bat_functions_all(functions, &total);
    uint8_t *wanted = calloc((size_t)total + 1, 1);
    BAT_TRY_MEMORY(wanted, judging->error, "to judge the profile");
    if (!original && records->tableless.has_graphs)
        judging->kept = &records->tableless;
    bool is_any = false;
    for (uint32_t i = 0; i < records->function_count; i++) {
        uint32_t function = judging->is_named[i] ? code_of(records, i) : BAT_NONE;
        if (function == BAT_NONE || (judging->kept && bat_tableless_has(judging->kept, function)))
            continue;
        wanted[function] = is_any = true;
    }
    enum bat_code code = BAT_OK;
    if (is_any)
        code =
            bat_tableless_open(&judging->tableless, original ? original->elf : records->binary->elf,
                               original ? original->input_symbols : records->symbols_elf, functions,
                               wanted, judging->error);
    judging->tableless.has_graphs = true;
    free(wanted);
    return code ? code : bat_tableless_read_all(&judging->tableless, judging->error);
}

static enum bat_code read_code(struct judging *judging, uint32_t function,
                               const struct bat_code_graph **graph, struct bat_error *error)
{
    bool is_kept = judging->kept && bat_tableless_has(judging->kept, function);
    return bat_tableless_graph(is_kept ? judging->kept : &judging->tableless, function, graph,
                               error);
}

/* --- Functions ------------------------------------------------------------------------------ */

static void name_functions(struct judging *judging)
{
    const struct bat_records *records = judging->records;
    for (uint32_t i = 0; i < records->branches.count; i++) {
        const uint64_t *item = bat_records_branch(records, i);
        if (!judged_is_branch(item))
            continue;
        for (uint32_t end = 0; end < 4; end += 2)
            if (bat_records_is_function(records, item[end]) &&
                !(records->symbols[(uint32_t)item[end]].flags & BAT_FUNCTION_PLT))
                judging->is_named[(uint32_t)item[end]] = 1;
    }
}

/* List the named functions with their records, which are sorted by their source function. */
static enum bat_code list_functions(struct judging *judging)
{
    struct bat_records *records = judging->records;
    const struct bat_counts *branches = &records->branches;
    uint32_t count = 0;
    for (uint32_t i = 0; i < records->function_count; i++)
        count += judging->is_named[i];
    judging->all = malloc(((size_t)count + 1) * sizeof(*judging->all));
    BAT_TRY_MEMORY(judging->all, judging->error, "to judge the profile");
    uint32_t next = 0;
    for (uint32_t i = 0; i < records->function_count; i++) {
        if (!judging->is_named[i])
            continue;
        uint64_t word = bat_fdata_word(BAT_KIND_SYMBOL, i);
        struct judged_records judged = {.records = records, .function = i};
        while (next < branches->count && bat_counts_item(branches, next)[0] < word)
            next++;
        judged.first = next;
        while (next < branches->count && bat_counts_item(branches, next)[0] == word)
            next++;
        judged.end = next;
        judging->all[judging->count++] = judged;
    }
    return BAT_OK;
}

/* --- Verdicts ------------------------------------------------------------------------------- */

static void count_verdict(struct bat_judgement *judgement, const struct verdict *verdict,
                          bool is_by_note)
{
    judgement->functions++;
    judgement->functions_by_note += is_by_note;
    judgement->samples += verdict->samples;
    if (!verdict->is_stale)
        return;
    judgement->stale_functions++;
    judgement->stale_samples += verdict->samples;
}

static enum bat_code count_verdicts(struct part *part, uint32_t function,
                                    const struct verdicts *verdicts, bool is_by_note)
{
    count_verdict(&part->fdata, &verdicts->fdata, is_by_note);
    count_verdict(&part->yaml, &verdicts->yaml, is_by_note);
    if (!verdicts->fdata.is_stale && !verdicts->yaml.is_stale)
        return BAT_OK;
    if (!BAT_APPEND(
            part->stale, part->stale_count, part->stale_capacity,
            (struct judged_function){function, is_by_note, verdicts->fdata, verdicts->yaml}))
        return bat_fail_memory(&part->error, "to judge the profile");
    return BAT_OK;
}

static enum bat_code judge_with_note(const struct judged_records *judged, struct part *part)
{
    struct bat_records *records = judged->records;
    struct verdicts verdicts;
    const struct bat_output_flow *flow;
    struct bat_output_flow *own = NULL;
    uint32_t hot = bat_map_parent(records->map, records->tables[judged->function]);
    enum bat_code code =
        bat_records_borrow_flow(records, hot, &part->reader, &flow, &own, &part->error);
    code = code ? code : judge_by_note(judged, flow, &part->scratch, &verdicts, &part->error);
    bat_output_flow_free(own);
    if (code == BAT_OK && !verdicts.is_given_up)
        code = count_verdicts(part, judged->function, &verdicts, true);
    return code;
}

static enum bat_code judge_function(struct judging *judging, const struct judged_records *judged,
                                    struct part *part)
{
    uint32_t function = code_of(judging->records, judged->function);
    if (function == BAT_NONE) {
        bool has_table = judging->records->tables[judged->function] != BAT_NONE;
        return has_table ? judge_with_note(judged, part) : BAT_OK;
    }
    struct verdicts verdicts;
    const struct bat_code_graph *graph;
    enum bat_code code = read_code(judging, function, &graph, &part->error);
    if (code || !graph->is_simple || graph->is_left_alone)
        return code;
    code = judge_by_code(judged, graph, &verdicts, &part->error);
    return code ? code : count_verdicts(part, judged->function, &verdicts, false);
}

static void judge_functions(void *context, size_t first, size_t end, unsigned thread)
{
    struct judging *judging = context;
    struct part *part = &judging->parts[thread];
    for (size_t i = first; i < end && part->code == BAT_OK; i++) {
        if (i + 1 < end)
            bat_records_fetch_flow(judging->records, judging->all[i + 1].function);
        part->code = judge_function(judging, &judging->all[i], part);
    }
}

/* --- All of them ---------------------------------------------------------------------------- */

/* Functions that a thread judges at a time. */
#define STRETCH 64u

/* The fewest stretches for which a thread is worth its start. */
#define STRETCHES_MIN 8u

static void add_judgement(struct bat_judgement *sum, const struct bat_judgement *part)
{
    sum->functions += part->functions;
    sum->stale_functions += part->stale_functions;
    sum->samples += part->samples;
    sum->stale_samples += part->stale_samples;
    sum->functions_by_note += part->functions_by_note;
}

/* Put the stale functions of all threads into one list. */
static enum bat_code collect_stale(struct judging *judging, unsigned threads)
{
    struct bat_records *records = judging->records;
    size_t count = 0;
    for (unsigned i = 0; i < threads; i++)
        count += judging->parts[i].stale_count;
    records->stale = malloc((count + 1) * sizeof(*records->stale));
    for (unsigned i = 0; i < 2; i++)
        records->stale_as[i] = malloc((count + 1) * sizeof(*records->stale_as[i]));
    if (!records->stale || !records->stale_as[0] || !records->stale_as[1])
        return bat_fail_memory(judging->error, "to judge the profile");
    for (unsigned i = 0; i < threads; i++)
        for (uint32_t j = 0; j < judging->parts[i].stale_count; j++)
            records->stale[records->stale_count++] = judging->parts[i].stale[j];
    BAT_SORT_BY(records->stale, count, function);
    for (uint32_t i = 0; i < records->stale_count; i++) {
        if (records->stale[i].fdata.is_stale)
            records->stale_as[0][records->stale_as_count[0]++] = i;
        if (records->stale[i].yaml.is_stale)
            records->stale_as[1][records->stale_as_count[1]++] = i;
    }
    return BAT_OK;
}

/* Judge the listed functions by several threads. */
static enum bat_code judge_all(struct judging *judging)
{
    struct bat_records *records = judging->records;
    unsigned threads =
        bat_parallel_threads(records->threads, judging->count / STRETCH / STRETCHES_MIN);
    if (!bat_records_can_lend_flows(records))
        threads = 1;
    bat_parallel_run(judging->count, STRETCH, threads, judge_functions, judging);
    enum bat_code code = BAT_OK;
    for (unsigned i = 0; i < threads; i++) {
        const struct part *part = &judging->parts[i];
        add_judgement(&records->as_fdata, &part->fdata);
        add_judgement(&records->as_yaml, &part->yaml);
        free(part->scratch.memory);
        bat_flow_reader_free(part->reader);
        if (part->code != BAT_OK && code == BAT_OK) {
            code = part->code;
            if (judging->error)
                *judging->error = part->error;
        }
    }
    code = code ? code : collect_stale(judging, threads);
    for (unsigned i = 0; i < threads; i++)
        free(judging->parts[i].stale);
    return code;
}

/* Fill as_fdata and as_yaml of the records. */
static enum bat_code judge(struct bat_records *records, struct bat_error *error)
{
    struct judging *judging = calloc(1, sizeof(*judging));
    BAT_TRY_MEMORY(judging, error, "to judge the profile");
    judging->records = records;
    judging->tableless.threads = records->threads;
    judging->error = error;
    judging->is_named = calloc((size_t)records->function_count + 1, 1);
    enum bat_code code =
        judging->is_named ? BAT_OK : bat_fail_memory(error, "to judge the profile");
    if (!code) {
        name_functions(judging);
        code = open_code(judging);
    }
    code = code ? code : list_functions(judging);
    code = code ? code : judge_all(judging);
    bat_tableless_close(&judging->tableless);
    BAT_FREE_ALL(judging->is_named, judging->all, judging);
    return code;
}

enum bat_code bat_records_judge(struct bat_records *records, bool is_yaml,
                                struct bat_judgement *judgement, struct bat_error *error)
{
    *judgement = (struct bat_judgement){0};
    /* llvm-bolt does not check basic samples. */
    if (records->kind != BAT_PROFILE_BRANCHES)
        return BAT_OK;
    /* Both are judged together, because reading the code takes most of the time. */
    if (!records->is_judged) {
        BAT_TRY(judge(records, error));
        records->is_judged = true;
    }
    *judgement = is_yaml ? records->as_yaml : records->as_fdata;
    return BAT_OK;
}

bool bat_records_stale(const struct bat_records *records, bool is_yaml, uint64_t i,
                       struct bat_stale_function *stale)
{
    if (i >= records->stale_as_count[is_yaml])
        return false;
    const struct judged_function *judged = &records->stale[records->stale_as[is_yaml][i]];
    const struct verdict *verdict = is_yaml ? &judged->yaml : &judged->fdata;
    *stale = (struct bat_stale_function){.name = records->symbols[judged->function].name,
                                         .samples = verdict->samples,
                                         .reason = verdict->reason,
                                         .record = verdict->record == BAT_NONE ? UINT64_MAX
                                                                               : verdict->record,
                                         .is_by_note = judged->is_by_note,
                                         .address = records->symbols[judged->function].address};
    return true;
}
