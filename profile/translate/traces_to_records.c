/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Translates the traces of a BOLTed binary to records of its input binary: spec/profiles.md 2. */
#include <stdlib.h>

#include "bat_decoder.h"
#include "binary/code/instructions.h"
#include "binary/original/folded.h"
#include "binary/original/original.h"
#include "profile/profile.h"
#include "records.h"
#include "tableless.h"
#include "translation.h"

/* True if the instruction at this address of the binary is a return. */
static bool is_return_instruction(const struct translation *translation, uint64_t address)
{
    const struct bat_elf *elf = translation->records->binary->elf;
    uint64_t available;
    const uint8_t *bytes = bat_elf_at_address(elf, address, &available);
    return bytes && bat_is_return(bat_elf_machine(elf), bytes, (size_t)available);
}

static bool is_return(const struct translation *translation, const struct trace *trace)
{
    uint64_t branch = trace->branch;
    if (branch >= BAT_TRACE_EXTERNAL_RETURN || branch == BAT_ADDRESS_EXTERNAL)
        return branch == BAT_TRACE_EXTERNAL_RETURN;
    return bat_counts_find(&translation->profile->returns, &branch) != NULL ||
           (trace->in.branch != BAT_NONE && is_return_instruction(translation, branch));
}

static bool records_of_table(const struct translation *translation, uint32_t function)
{
    return translation->records->tables[function] != BAT_NONE;
}

/* The place where a trace's run begins. */
static struct place place_from(struct translation *translation, const struct trace *trace)
{
    if (trace->from != translation->last_start) {
        translation->last_start = trace->from;
        translation->last_place =
            translation_place_in(translation, trace->in.from, trace->from, false);
    }
    return translation->last_place;
}

/* Add the record of a trace's branch: from its source to where the fall-through starts. */
static enum bat_code translate_branch(struct translation *translation, const struct trace *trace)
{
    struct bat_translate_counters *counters = &translation->records->counters;
    struct place from = translation_place_in(translation, trace->in.branch, trace->branch, true);
    struct place to = place_from(translation, trace);
    if (from.function == BAT_NONE && to.function == BAT_NONE) {
        counters->external += trace->count;
        translation->outcome |= OUTCOME_OUTSIDE;
        return BAT_OK;
    }
    counters->inside += trace->count;
    if (from.function != BAT_NONE)
        translation_touch(translation, from.function, trace->count);
    else
        translation_touch(translation, to.function, trace->count);
    if (to.function != BAT_NONE)
        translation_touch(translation, to.function, 0);
    if (!translation->options.keep_all_records && from.function != BAT_NONE &&
        records_of_table(translation, from.function))
        return translation_flow_branch(translation, trace, from, to);
    return translation_add(translation, from, to, trace->count, trace->mispredictions);
}

/* Add fall-throughs in a function with a table. Behind a return they begin in the call's block. */
static enum bat_code translate_by_table(struct translation *translation, uint32_t function,
                                        const struct trace *trace, bool returned)
{
    const struct bat_records *records = translation->records;
    uint64_t start = records->symbols[function].address;
    uint64_t from = trace->from - start;
    if (returned) {
        /* There is no call before a function's start. */
        translation->outcome |= from == 0 ? OUTCOME_INVALID : 0;
        if (from == 0)
            return BAT_OK;
        from--;
    }
    translation->outcome |= trace->from > trace->to ? OUTCOME_INVALID : OUTCOME_WITHIN;
    if (!translation->options.keep_all_records)
        return translation_flow_run(translation, function, start + from, trace);
    uint32_t parent = translation_parent(translation, function);
    struct bat_fallthrough_walk walk = bat_map_fallthroughs(
        translation_map(translation), records->tables[function], from, trace->to - start);
    struct bat_fallthrough pair;
    enum bat_code code = BAT_OK;
    if (walk.last - walk.entry > LONG_RUN)
        return translation_add_long_run(translation, function, walk.table->entry_count,
                                        walk.entry - walk.table->first_entry,
                                        walk.last - walk.table->first_entry, trace->count);
    while (code == BAT_OK && bat_fallthrough_next(&walk, &pair))
        code = translation_add_inside(translation, parent, pair.from, pair.to, trace->count, 0);
    return code;
}

/* The bits of enum bat_trace_source for a trace in a function without a table. */
static unsigned trace_source(const struct bat_function_symbol *symbol, const struct trace *trace,
                             bool returned)
{
    bool is_inside =
        trace->branch == BAT_TRACE_FALLTHROUGH_ONLY ||
        (trace->branch >= symbol->address && trace->branch - symbol->address < symbol->size);
    return (is_inside ? BAT_TRACE_INSIDE : BAT_TRACE_OUTSIDE) |
           (returned ? BAT_TRACE_RETURN : BAT_TRACE_INSIDE);
}

/* Add fall-throughs in a function that BOLT has left in place, by its instructions. */
static enum bat_code translate_by_code(struct translation *translation, uint32_t function,
                                       const struct trace *trace, bool returned)
{
    const struct bat_function_symbol *symbol = &translation->records->symbols[function];
    translation->outcome |= OUTCOME_WITHIN;
    if (symbol->flags & BAT_FUNCTION_PLT)
        return BAT_OK;
    const struct bat_code_blocks *blocks;
    BAT_TRY(bat_tableless_blocks(&translation->records->tableless, function, &blocks,
                                 translation->error));
    enum bat_code code = BAT_OK;
    struct bat_code_fallthroughs found;
    if (!bat_code_fallthroughs(blocks, trace->from - symbol->address, trace->to - symbol->address,
                               trace_source(symbol, trace, returned), &found)) {
        translation->outcome |= OUTCOME_INVALID;
        translation->records->counters.invalid += trace->count;
        translation->records->counters.unread += blocks->count == 0 ? trace->count : 0;
        return BAT_OK;
    }
    if (found.end > found.first + LONG_RUN)
        return translation_add_long_run(translation, function, blocks->count, found.first,
                                        found.end, trace->count);
    for (uint32_t i = found.first; i < found.end && code == BAT_OK; i++)
        code = translation_add_fallthrough(translation, function, &blocks->all[i], trace->count);
    return code;
}

/*
 * The function that holds both ends of a fall-through, or BAT_NONE. *is_invalid is true if the ends
 * are in two different functions.
 */
static uint32_t fallthrough_function(const struct trace *trace, bool *is_invalid)
{
    uint32_t from = trace->in.from;
    uint32_t to = trace->in.to;
    *is_invalid = from != BAT_NONE && to != BAT_NONE && from != to;
    return from == to ? from : BAT_NONE;
}

/* Add the fall-through of a trace, from the branch's target to the next branch. */
static enum bat_code translate_fallthrough(struct translation *translation,
                                           const struct trace *trace, bool returned)
{
    struct bat_translate_counters *counters = &translation->records->counters;
    bool is_invalid;
    uint32_t function = fallthrough_function(trace, &is_invalid);
    counters->fallthroughs += trace->count;
    if (function == BAT_NONE) {
        translation->outcome |= is_invalid ? OUTCOME_INVALID : OUTCOME_OUTSIDE;
        counters->invalid += is_invalid ? trace->count : 0;
        counters->out_of_range += is_invalid ? 0 : trace->count;
        counters->elsewhere += trace->from == 0 || trace->to == 0 ? trace->count : 0;
        return BAT_OK;
    }
    translation_touch(translation, translation_parent(translation, function), 0);
    if (translation->records->tables[function] != BAT_NONE)
        return translate_by_table(translation, function, trace, returned);
    return translate_by_code(translation, function, trace, returned);
}

/* Settle a trace's branch. Records need not have its mispredictions. */
static void settle_branch(struct translation *translation, const struct trace *trace)
{
    struct bat_balances *balances = &translation->records->counters.balances;
    unsigned outcome = translation->outcome;
    if (trace->branch < BAT_TRACE_EXTERNAL_RETURN)
        translation_settle(&balances->branches, outcome, trace->count);
    if (trace->branch >= BAT_TRACE_EXTERNAL_RETURN ||
        (outcome & (OUTCOME_RECORDED | OUTCOME_MISPREDICTED)) == OUTCOME_RECORDED)
        outcome = OUTCOME_LEFT_OUT;
    translation_settle(&balances->mispredictions, outcome, trace->mispredictions);
}

static enum bat_code translate_trace(struct translation *translation, const struct trace *trace)
{
    struct bat_translate_counters *counters = &translation->records->counters;
    counters->samples += trace->count;
    translation->outcome = 0;
    bool returned = is_return(translation, trace);
    bool has_branch = trace->branch < BAT_TRACE_EXTERNAL_RETURN;
    enum bat_code code = BAT_OK;
    if (returned || !has_branch) {
        counters->returns += returned ? trace->count : 0;
        uint32_t function = trace->in.from;
        if (function == BAT_NONE) {
            counters->external += trace->count;
            translation->outcome |= OUTCOME_OUTSIDE;
        } else {
            counters->inside += trace->count;
            translation->outcome |= OUTCOME_WITHIN; /* the run stands for the return */
            translation_touch(translation, translation_parent(translation, function), trace->count);
        }
    } else {
        code = translate_branch(translation, trace);
    }
    settle_branch(translation, trace);
    if (code != BAT_OK || trace->to == BAT_TRACE_BRANCH_ONLY)
        return code;
    translation->outcome = 0;
    code = translate_fallthrough(translation, trace, returned);
    translation_settle(&counters->balances.runs, translation->outcome, trace->count);
    return code;
}

static struct trace trace_at(const struct translation *translation, uint32_t i)
{
    const uint64_t *item = bat_counts_item(&translation->profile->traces, i);
    return (struct trace){.branch = item[0],
                          .from = item[1],
                          .to = item[2],
                          .count = item[3],
                          .mispredictions = item[4],
                          .in = translation->ends[i]};
}

/* How many traces ahead the prefetch is. */
#define FETCH_AHEAD 8u

/* Fetch a trace, and the instruction of one that was fetched before. */
static void fetch(const struct translation *translation, uint32_t i, uint32_t end)
{
    const struct bat_counts *traces = &translation->profile->traces;
    if (end - i > 2 * FETCH_AHEAD)
        translation_fetch(translation, i + 2 * FETCH_AHEAD);
    if (end - i > FETCH_AHEAD) {
        const uint32_t number = (uint32_t)translation->order[i + FETCH_AHEAD].value;
        uint64_t available;
        __builtin_prefetch(bat_elf_at_address(translation->records->binary->elf,
                                              bat_counts_item(traces, number)[0], &available));
    }
}

/* Mark a function without a table: its code must be read. */
static void want_code(const struct translation *translation, uint32_t function, uint8_t *wanted)
{
    const struct bat_records *records = translation->records;
    if (function != BAT_NONE && records->tables[function] == BAT_NONE &&
        !(records->symbols[function].flags & BAT_FUNCTION_PLT))
        wanted[function] = 1;
}

enum bat_code translation_open_uncovered(struct translation *translation, struct bat_error *error)
{
    struct bat_records *records = translation->records;
    bool is_judged = translation->options.will_be_judged;
    uint8_t *wanted = calloc((size_t)records->function_count + 1, 1);
    translation->has_uncovered = true;
    BAT_TRY_MEMORY(wanted, error, "for the translated profile");
    for (uint32_t i = 0; i < translation->profile->traces.count; i++) {
        struct trace trace = trace_at(translation, i);
        bool is_invalid;
        if (trace.to != BAT_TRACE_BRANCH_ONLY)
            want_code(translation, fallthrough_function(&trace, &is_invalid), wanted);
        if (is_judged && trace.branch < BAT_TRACE_EXTERNAL_RETURN)
            want_code(translation, trace.in.branch, wanted);
        if (is_judged)
            want_code(translation, trace.in.from, wanted);
    }
    enum bat_code code =
        bat_tableless_open(&records->tableless, records->binary->elf, records->symbols_elf,
                           records->functions, wanted, error);
    records->tableless.has_graphs = is_judged;
    free(wanted);
    return code ? code : bat_tableless_read_all(&records->tableless, error);
}

enum bat_code translation_traces(struct translation *translation, uint32_t first, uint32_t end)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = first; i < end && code == BAT_OK; i++) {
        fetch(translation, i, end);
        struct trace trace = trace_at(translation, (uint32_t)translation->order[i].value);
        code = translate_trace(translation, &trace);
    }
    code = code ? code : translation_end_long_runs(translation);
    free(translation->long_runs.steps);
    translation->long_runs = (struct long_runs){0};
    if (code != BAT_OK)
        return code;
    code = bat_counts_flush(&translation->records->branches, &translation->batch);
    return code == BAT_OK ? BAT_OK : translation_fail(translation->error, code);
}
