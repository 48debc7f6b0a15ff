/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Moves the profile of functions that are not explained (explained.c) by the note alone: their
 * runs and branches are translated as for the BOLTed binary without its input, and what comes out,
 * edges between blocks, is added to the result as branches.
 */
#include <stdlib.h>

#include "profile/translate/records.h"
#include "to_input.h"

/* --- Which parts ------------------------------------------------------------------------------ */

/* True if an address is in a function that is moved by the note alone. *is_known is true for all
 * functions whose input function is known. */
static bool is_by_note_at(const struct input_move *move, uint64_t address, bool *is_known)
{
    const struct bat_original *original = move->original;
    const uint32_t output = bat_functions_find(original->output_functions, address);
    *is_known = output != BAT_NONE && original->input_of[output] != BAT_NONE;
    const uint32_t table = *is_known ? original->table_of[output] : BAT_NONE;
    return table != BAT_NONE && input_is_by_note(move, table);
}

static bool is_return(const struct input_move *move, uint64_t branch)
{
    struct bat_instruction instruction;
    return bat_counts_find(&move->profile->returns, &branch) ||
           (bat_original_decode(move->original->binary->elf, branch, &instruction) &&
            instruction.kind == BAT_INSTRUCTION_RETURN);
}

/* True if the note has a block that starts at an output address of a function with a table. */
static bool starts_block(const struct input_move *move, uint64_t address)
{
    const struct bat_original *original = move->original;
    const uint32_t output = bat_functions_find(original->output_functions, address);
    const uint64_t offset = address - original->outputs[output].address;
    const struct bat_map *map = original->binary->map;
    const uint32_t entry = bat_original_entry(map, original->table_of[output], offset);
    return entry != BAT_NONE && map->output_offsets[entry] == offset &&
           !(map->input_offsets[entry] & BAT_BRANCH_ENTRY);
}

/*
 * What of a trace is not moved by the note alone. A return is a part of the run behind it: the note
 * has records of runs behind calls, not of returns.
 */
static enum input_rest rest_of(const struct input_move *move, const struct input_piece *trace)
{
    const bool has_branch =
        trace->branch < BAT_TRACE_EXTERNAL_RETURN && trace->branch != BAT_ADDRESS_EXTERNAL;
    bool has_source = false;
    bool has_start;
    const bool is_run = is_by_note_at(move, trace->from, &has_start);
    const bool is_branch = has_branch && is_by_note_at(move, trace->branch, &has_source);
    if (is_branch && has_start && !is_run)
        return INPUT_REST_RUN;
    if (is_run && has_source && !is_branch && !is_return(move, trace->branch))
        return INPUT_REST_BRANCH;
    return is_branch || is_run ? INPUT_REST_NOTHING : INPUT_REST_ALL;
}

enum bat_code input_by_note_keep(struct input_move *move, const struct input_piece *trace,
                                 struct input_piece *rest, enum input_rest *kind)
{
    struct input_piece kept = *trace;
    *kind = rest_of(move, trace);
    switch (*kind) {
    case INPUT_REST_ALL:
        return BAT_OK;
    case INPUT_REST_BRANCH:
        kept.branch = BAT_TRACE_FALLTHROUGH_ONLY;
        kept.mispredictions = 0;
        rest->to = BAT_TRACE_BRANCH_ONLY;
        if (trace->to == BAT_TRACE_BRANCH_ONLY)
            return BAT_OK;
        break;
    case INPUT_REST_RUN:
        kept.to = BAT_TRACE_BRANCH_ONLY;
        rest->branch =
            is_return(move, trace->branch) ? BAT_TRACE_EXTERNAL_RETURN : BAT_ADDRESS_EXTERNAL;
        rest->mispredictions = 0;
        break;
    case INPUT_REST_NOTHING:
        move->counters.moved += trace->count;
        if (trace->branch == BAT_ADDRESS_EXTERNAL && !starts_block(move, trace->from)) {
            /* It returns from outside. */
            kept.branch = BAT_TRACE_EXTERNAL_RETURN;
            kept.mispredictions = 0;
            move->counters.balances.branches.joined += trace->count;
            move->counters.balances.mispredictions.left_out += trace->mispredictions;
        }
        break;
    }
    const uint64_t key[3] = {kept.branch, kept.from, kept.to};
    return bat_counts_add(&move->by_note->traces, key, kept.count, kept.mispredictions);
}

/* --- The input's code ------------------------------------------------------------------------- */

struct adding {
    struct input_move *move;
    struct bat_profile *result;
    uint32_t *tables;          /* for each input function its hot table, or BAT_NONE */
    struct bat_counts entered; /* start of a run, block, its last instruction: how often it ran */
    struct bat_counts left;    /* last instruction of a block: how often a run went on from there */
};

static enum bat_code find_tables(struct adding *adding)
{
    const struct bat_original *original = adding->move->original;
    adding->tables = malloc(((size_t)original->input_count + 1) * sizeof(*adding->tables));
    if (!adding->tables)
        return BAT_ERR_MEMORY;
    for (uint32_t i = 0; i < original->input_count; i++)
        adding->tables[i] = BAT_NONE;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < original->binary->map->hot_count && code == BAT_OK; i++) {
        const uint32_t input = bat_original_input_of_table(original, i);
        if (input == BAT_NONE)
            continue;
        adding->tables[input] = i;
        code = input_flow_read(&adding->move->follow.flow, i);
    }
    return code;
}

/* The function of an input address; BAT_NONE for none. */
static uint32_t function_at(const struct adding *adding, uint64_t address)
{
    return bat_functions_find(adding->move->original->input_functions, address);
}

/* The hot table of the function at an input address, or BAT_NONE. */
static uint32_t hot_at(const struct adding *adding, uint64_t address)
{
    const uint32_t function = function_at(adding, address);
    return function == BAT_NONE ? BAT_NONE : adding->tables[function];
}

#define MOST_INSTRUCTIONS 4096u

/* The last instruction of the straight code of one function from an address on, below limit. */
static struct bat_instruction last_of_code(const struct adding *adding, uint64_t start,
                                           uint64_t limit, uint64_t *address)
{
    struct input_flow *flow = &adding->move->follow.flow;
    const struct bat_function_symbol *symbol =
        &adding->move->original->inputs[function_at(adding, start)];
    const uint32_t most = input_flow_most_steps(flow, MOST_INSTRUCTIONS);
    struct bat_instruction last = {.kind = BAT_INSTRUCTION_OTHER};
    struct bat_instruction next;
    uint32_t steps = 0;
    *address = start;
    for (uint64_t at = start; steps < most && at < limit && at - symbol->address < symbol->size &&
                              input_flow_decode(flow, at, &next);
         at += next.length, steps++) {
        last = next;
        *address = at;
        if (input_kind_changes_flow(next.kind) && !bat_kind_is_call(next.kind))
            break;
    }
    input_flow_spend(flow, steps, most);
    return last;
}

/* The last instruction of the note's block that holds an address with a hot table. */
static uint64_t last_of_block(const struct adding *adding, uint64_t address)
{
    struct input_flow *flow = &adding->move->follow.flow;
    uint64_t last;
    last_of_code(adding, address, input_flow_next_block(flow, hot_at(adding, address), address + 1),
                 &last);
    return last;
}

/* --- Edges ------------------------------------------------------------------------------------ */

/* An edge between two blocks, or into or out of a function, in the input. */
struct edge {
    uint64_t from; /* BAT_ADDRESS_EXTERNAL: not known, as to */
    uint64_t to;
    uint64_t count;
    uint64_t mispredictions;
};

static enum bat_code add_branch(struct adding *adding, const struct edge *edge)
{
    struct bat_balances *balances = &adding->move->counters.balances;
    const uint64_t key[3] = {edge->from, edge->to, BAT_TRACE_BRANCH_ONLY};
    if (edge->count == 0 && edge->mispredictions == 0)
        return BAT_OK;
    balances->branches.made += edge->count;
    balances->mispredictions.made += edge->mispredictions;
    return bat_counts_add(&adding->result->traces, key, edge->count, edge->mispredictions);
}

static enum bat_code add_run(struct adding *adding, uint64_t from, uint64_t to, uint64_t count)
{
    const uint64_t key[3] = {BAT_TRACE_FALLTHROUGH_ONLY, from, to};
    /* Backwards only where functions overlap. */
    if (count == 0 || from > to)
        return BAT_OK;
    adding->move->counters.balances.runs.made += count;
    return bat_counts_add(&adding->result->traces, key, count, 0);
}

/*
 * Count an edge into a block: if its function is moved by the note alone, the block ran, and what
 * is before it from the instruction at `start` on. Other functions have their runs already.
 */
static enum bat_code enter(struct adding *adding, uint64_t start, uint64_t block, uint64_t count)
{
    const uint32_t hot = hot_at(adding, block);
    if (count == 0)
        return BAT_OK;
    if (hot == BAT_NONE || !adding->move->is_by_note[hot])
        return start == block ? BAT_OK : add_run(adding, start, block, count);
    const uint64_t key[3] = {start, block, last_of_block(adding, block)};
    return bat_counts_add(&adding->entered, key, count, 0);
}

/* Add an edge whose source only leads on, to what is behind it: a run from the end of its block. */
static enum bat_code add_step(struct adding *adding, const struct edge *edge)
{
    const uint64_t last = last_of_block(adding, edge->from);
    const struct edge missed = {edge->from, edge->to, 0, edge->mispredictions};
    enum bat_code code = enter(adding, last, edge->to, edge->count);
    code = code ? code : bat_counts_add(&adding->left, &last, edge->count, 0);
    return code != BAT_OK || missed.mispredictions == 0 ? code : add_branch(adding, &missed);
}

/*
 * Add an edge. The note's edges begin at the start of a block or at the branch at its end; those of
 * the input's profile, at an instruction that leads there.
 */
static enum bat_code add_edge(struct adding *adding, struct edge edge)
{
    struct bat_instruction own;
    uint64_t address;
    if (edge.from == BAT_ADDRESS_EXTERNAL || hot_at(adding, edge.from) == BAT_NONE) {
        const enum bat_code code = enter(adding, edge.to, edge.to, edge.count);
        return code ? code : add_branch(adding, &edge);
    }
    const bool is_inside = function_at(adding, edge.from) == function_at(adding, edge.to);
    const uint64_t limit = is_inside && edge.to > edge.from ? edge.to : UINT64_MAX;
    const struct bat_instruction last = last_of_code(adding, edge.from, limit, &address);
    const bool jumps = last.kind == BAT_INSTRUCTION_JUMP ||
                       (last.kind == BAT_INSTRUCTION_CONDITIONAL && last.target == edge.to);
    if (is_inside && !jumps && address + last.length == edge.to)
        return add_step(adding, &edge);
    if (!input_flow_decode(&adding->move->follow.flow, edge.from, &own) ||
        !input_kind_changes_flow(own.kind))
        edge.from = is_inside ? address : BAT_ADDRESS_EXTERNAL;
    const enum bat_code code = enter(adding, edge.to, edge.to, edge.count);
    return code ? code : add_branch(adding, &edge);
}

/*
 * Add the runs through blocks. Runs that go on from the end of a block count its last instruction
 * already.
 */
static enum bat_code add_blocks(struct adding *adding)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < adding->entered.count && code == BAT_OK; i++) {
        const uint64_t *item = bat_counts_item(&adding->entered, i);
        const uint64_t start = item[0];
        const uint64_t block = item[1];
        const uint64_t last = item[2];
        const uint64_t *went_on = bat_counts_find(&adding->left, &last);
        const uint64_t most = went_on && (block != last || start == block) ? went_on[1] : 0;
        const uint64_t both = most < item[3] ? most : item[3];
        uint64_t before;
        last_of_code(adding, block, last, &before);
        if (both != 0)
            bat_counts_subtract(&adding->left, &last, both, 0);
        code = add_run(adding, start, last, item[3] - both);
        if (code == BAT_OK && block != last)
            code = add_run(adding, start, before, both);
    }
    return code;
}

/* --- To the result ---------------------------------------------------------------------------- */

/*
 * The input address of an end of a record; BAT_ADDRESS_EXTERNAL if it is in no known function, or
 * behind its end, as a wrong note may say.
 */
static uint64_t address_of(const struct input_move *move, const struct bat_records *records,
                           const uint64_t *end)
{
    const struct bat_original *original = move->original;
    if (!bat_records_is_function(records, end[0]))
        return BAT_ADDRESS_EXTERNAL;
    const uint64_t start = records->symbols[(uint32_t)end[0]].address;
    const uint32_t output = bat_functions_find(original->output_functions, start);
    const uint32_t input = output == BAT_NONE ? BAT_NONE : original->input_of[output];
    const uint64_t address = input == BAT_NONE ? 0 : original->inputs[input].address + end[1];
    return input != BAT_NONE && bat_functions_find(original->input_functions, address) == input
               ? address
               : BAT_ADDRESS_EXTERNAL;
}

static enum bat_code add_records(struct adding *adding, const struct bat_records *records)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < records->branches.count && code == BAT_OK; i++) {
        const uint64_t *item = bat_records_branch(records, i);
        const struct edge edge = {.from = address_of(adding->move, records, item),
                                  .to = address_of(adding->move, records, item + 2),
                                  .count = item[4],
                                  .mispredictions = item[5]};
        if (edge.from != BAT_ADDRESS_EXTERNAL || edge.to != BAT_ADDRESS_EXTERNAL)
            code = add_edge(adding, edge);
    }
    return code;
}

/* Enter the blocks where branches of other functions, which are in the result, lead. */
static enum bat_code enter_by_others(struct adding *adding)
{
    enum bat_code code = BAT_OK;
    const struct bat_counts *traces = &adding->result->traces;
    for (uint32_t i = 0; i < traces->count && code == BAT_OK; i++) {
        const uint64_t *item = bat_counts_item(traces, i);
        if (item[2] == BAT_TRACE_BRANCH_ONLY)
            code = enter(adding, item[1], item[1], item[3]);
    }
    return code;
}

/* Add what became of the traces that were kept. Those that have records are a part of these. */
static void add_balance(struct bat_balance *sum, const struct bat_balance *added)
{
    sum->joined += added->joined + added->out;
    sum->left_out += added->left_out;
    sum->invalid += added->invalid;
    sum->outside += added->outside;
}

static enum bat_code translate(struct input_move *move, struct bat_records **records)
{
    const struct bat_original *original = move->original;
    const bool has_own_symbols = original->output_symbols == original->binary->elf;
    const struct bat_translate_options options = {
        .size = sizeof(options),
        .symbols = has_own_symbols ? NULL : original->output_symbols,
        .threads = original->threads};
    *records = NULL;
    enum bat_code code = bat_counts_merge(&move->by_note->returns, &move->profile->returns);
    return code ? code
                : bat_profile_translate(move->by_note, original->binary, &options, records, NULL);
}

enum bat_code input_by_note_add(struct input_move *move, struct bat_profile *result)
{
    struct adding adding = {
        .move = move, .result = result, .entered = bat_counts_new(3), .left = bat_counts_new(1)};
    struct bat_balances *balances = &move->counters.balances;
    struct bat_records *records = NULL;
    if (!move->by_note)
        return BAT_OK;
    enum bat_code code = find_tables(&adding);
    code = code ? code : translate(move, &records);
    code = code ? code : enter_by_others(&adding);
    code = code ? code : add_records(&adding, records);
    code = code ? code : add_blocks(&adding);
    bat_counts_free(&adding.entered);
    bat_counts_free(&adding.left);
    free(adding.tables);
    if (code == BAT_OK) {
        const struct bat_translate_counters done = bat_records_counters(records);
        add_balance(&balances->branches, &done.balances.branches);
        add_balance(&balances->runs, &done.balances.runs);
        add_balance(&balances->mispredictions, &done.balances.mispredictions);
    }
    bat_records_free(records);
    return code;
}
