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

struct judging {
    struct bat_records *records;
    struct bat_judgement *result;
    bool is_yaml;
    struct bat_uncovered *kept;     /* code that the translation has read; NULL if of no use */
    struct bat_uncovered uncovered; /* code of the functions that are not in kept */
    uint8_t *is_named;              /* for each function: a record is from it, or enters it */
    struct bat_error *error;
};

static enum bat_code fail_memory(struct bat_error *error)
{
    return bat_fail(error, BAT_ERR_MEMORY, "not enough memory to judge the profile");
}

static bool is_function(const struct bat_records *records, uint64_t word)
{
    return word >> 32 == BAT_KIND_SYMBOL && (uint32_t)word < records->function_count;
}

struct bat_block *judged_blocks(const struct judged_records *judged, uint32_t *count)
{
    const struct bat_map *map = judged->records->map;
    uint32_t table = judged->records->tables[judged->function];
    uint32_t capacity = bat_map_blocks(map, table, NULL, 0);
    struct bat_block *blocks = malloc(((size_t)capacity + 1) * sizeof(*blocks));
    *count = blocks ? bat_map_blocks(map, table, blocks, capacity) : 0;
    return blocks;
}

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
    if (records->original)
        return records->original->input_of[function];
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
    if (!wanted)
        return fail_memory(judging->error);
    if (!original && records->uncovered.has_graphs)
        judging->kept = &records->uncovered;
    bool is_any = false;
    for (uint32_t i = 0; i < records->function_count; i++) {
        uint32_t function = judging->is_named[i] ? code_of(records, i) : BAT_NONE;
        if (function == BAT_NONE || (judging->kept && bat_uncovered_has(judging->kept, function)))
            continue;
        wanted[function] = is_any = true;
    }
    enum bat_code code = BAT_OK;
    if (is_any)
        code =
            bat_uncovered_open(&judging->uncovered, original ? original->elf : records->binary->elf,
                               original ? original->input_symbols : records->symbols_elf, functions,
                               wanted, judging->error);
    judging->uncovered.has_graphs = true;
    free(wanted);
    return code;
}

static enum bat_code read_code(struct judging *judging, uint32_t function,
                               const struct bat_code_graph **graph)
{
    bool is_kept = judging->kept && bat_uncovered_has(judging->kept, function);
    return bat_uncovered_graph(is_kept ? judging->kept : &judging->uncovered, function, graph,
                               judging->error);
}

/* --- Functions ------------------------------------------------------------------------------ */

static void name_functions(struct judging *judging)
{
    const struct bat_records *records = judging->records;
    for (uint32_t i = 0; i < records->branches.count; i++) {
        const uint64_t *item = bat_counts_item(&records->branches, i);
        if (!judged_is_branch(item))
            continue;
        for (uint32_t end = 0; end < 4; end += 2)
            if (is_function(records, item[end]) &&
                !(records->symbols[(uint32_t)item[end]].flags & BAT_FUNCTION_PLT))
                judging->is_named[(uint32_t)item[end]] = 1;
    }
}

static void count_verdict(struct judging *judging, const struct verdict *verdict)
{
    struct bat_judgement *result = judging->result;
    result->functions++;
    result->samples += verdict->samples;
    if (!verdict->is_stale)
        return;
    result->stale_functions++;
    result->stale_samples += verdict->samples;
}

static enum bat_code judge_function(struct judging *judging, const struct judged_records *judged)
{
    struct verdict verdict;
    uint32_t function = code_of(judging->records, judged->function);
    if (function == BAT_NONE) {
        if (judging->records->tables[judged->function] == BAT_NONE)
            return BAT_OK;
        enum bat_code code = judge_by_note(judged, &verdict, judging->error);
        if (code)
            return code;
        if (verdict.is_given_up)
            return BAT_OK;
        judging->result->functions_by_note++;
        count_verdict(judging, &verdict);
        return BAT_OK;
    }
    const struct bat_code_graph *graph;
    enum bat_code code = read_code(judging, function, &graph);
    if (!code && graph->is_simple)
        code = judge_by_code(judged, graph, &verdict, judging->error);
    if (!code && graph->is_simple)
        count_verdict(judging, &verdict);
    return code;
}

/* Judge all named functions. Records are sorted by their source function. */
static enum bat_code judge_functions(struct judging *judging)
{
    struct bat_records *records = judging->records;
    const struct bat_counts *branches = &records->branches;
    uint32_t next = 0;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < records->function_count && !code; i++) {
        uint64_t word = bat_fdata_word(BAT_KIND_SYMBOL, i);
        struct judged_records judged = {
            .records = records, .function = i, .is_yaml = judging->is_yaml};
        while (next < branches->count && bat_counts_item(branches, next)[0] < word)
            next++;
        judged.first = next;
        while (next < branches->count && bat_counts_item(branches, next)[0] == word)
            next++;
        judged.end = next;
        if (judging->is_named[i])
            code = judge_function(judging, &judged);
    }
    return code;
}

enum bat_code bat_records_judge(struct bat_records *records, bool is_yaml,
                                struct bat_judgement *judgement, struct bat_error *error)
{
    *judgement = (struct bat_judgement){0};
    /* llvm-bolt does not check basic samples. */
    if (records->kind != BAT_PROFILE_BRANCHES)
        return BAT_OK;
    struct judging judging = {
        .records = records, .result = judgement, .is_yaml = is_yaml, .error = error};
    judging.is_named = calloc((size_t)records->function_count + 1, 1);
    if (!judging.is_named)
        return fail_memory(error);
    name_functions(&judging);
    enum bat_code code = open_code(&judging);
    if (!code)
        code = judge_functions(&judging);
    bat_uncovered_close(&judging.uncovered);
    free(judging.is_named);
    return code;
}
