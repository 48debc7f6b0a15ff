/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Blocks of the input that do nothing but lead on, which BOLT removes. Where a jump table or an
 * exception of the input leads to such a block, that of the output leads to where it goes on; here
 * the branch gets its detour back. Likewise a direct call of a PLT entry that the output makes
 * without it (-plt): it gets the entry back. A branch that the input's code explains as it is
 * stays.
 */
#include <elf.h>
#include <stdlib.h>

#include "binary/code/graph.h"
#include "input_flow.h"
#include "landing_pads.h"
#include "spec/array.h"
#include "spec/order.h"
#include "to_input.h"

#define MOST_PADS 8u  /* landing pads of one place */
#define MOST_IDLE 16u /* jumps and no-operations of one detour */

/* The blocks that are looked at: so many for each trace on average, and so many in any case. */
#define MEAN_BLOCKS 64u
#define LEAST_BLOCKS (UINT64_C(1) << 16)
#define CALLS_OF_BLOCK 8u /* that are looked at in the time of a block */

/* An input function with indirect jumps. */
struct table_function {
    struct bat_code_graph graph;
    uint32_t function; /* of the input */
    bool is_read;
};

struct detours {
    const struct bat_original *original;
    struct input_flow *flow;
    struct bat_to_input_counters *counters;
    const struct bat_counts *old;
    struct bat_counts traces;         /* the new ones */
    struct table_function *functions; /* ascending */
    uint32_t function_count;
    size_t function_capacity;
    struct bat_code_reader *reader;
    struct input_arrivals arrivals;
    uint64_t blocks_left;
    bool has_plt; /* a trace goes through a PLT entry */
};

/* --- Adding --------------------------------------------------------------------------------- */

static enum bat_code add(struct detours *detours, uint64_t branch, uint64_t from, uint64_t to,
                         const uint64_t *trace)
{
    const uint64_t key[3] = {branch, from, to};
    return bat_counts_add(&detours->traces, key, trace[3], branch == trace[0] ? trace[4] : 0);
}

/* Add a trace that goes from its branch to start, by the jumps to its start, and on. */
static enum bat_code add_detour(struct detours *detours, const uint64_t *trace, uint64_t start,
                                const struct input_jump *jumps, uint32_t count)
{
    enum bat_code code = BAT_OK;
    uint64_t branch = trace[0];
    for (uint32_t i = 0; i < count && code == BAT_OK; i++) {
        code = add(detours, branch, start, jumps[i].from, trace);
        detours->counters->balances.runs.made += trace[3];
        detours->counters->balances.branches.made += trace[3];
        branch = jumps[i].from;
        start = jumps[i].to;
    }
    return code ? code : add(detours, branch, start, trace[2], trace);
}

/* --- PLT entries ------------------------------------------------------------------------------ */

/*
 * True if a trace's branch names a PLT entry, but goes on behind it: out of the binary, or to a
 * function of this one that others may replace. jump->to is the entry, jump->from its jump.
 */
static bool goes_through_plt(const struct detours *detours, const uint64_t *trace,
                             struct input_jump *jump)
{
    struct bat_instruction instruction;
    if (trace[0] >= BAT_TRACE_EXTERNAL_RETURN || trace[0] == BAT_ADDRESS_EXTERNAL ||
        !input_flow_decode(detours->flow, trace[0], &instruction) ||
        !bat_kind_has_target(instruction.kind))
        return false;
    jump->to = instruction.target;
    return jump->to != trace[1] && input_flow_is_outside(detours->flow, jump->to, &jump->from);
}

/* --- Jump tables ------------------------------------------------------------------------------ */

static const struct bat_function_symbol *function_at(const struct detours *detours,
                                                     uint64_t address, uint32_t *function)
{
    const struct bat_original *original = detours->original;
    *function = bat_functions_find(original->input_functions, address);
    return *function == BAT_NONE ? NULL : &original->inputs[*function];
}

#define LONGEST_CALL 7u

/* True if an address is behind a call that may come back from outside the binary. */
static bool follows_call(const struct detours *detours, uint64_t address)
{
    struct bat_instruction call;
    for (uint64_t size = 2; size <= LONGEST_CALL && size <= address; size++)
        if (bat_original_decode(detours->original->elf, address - size, &call) &&
            call.length == size && bat_kind_is_call(call.kind) &&
            !(call.kind == BAT_INSTRUCTION_CALL && input_flow_has_code(detours->flow, call.target)))
            return true;
    return false;
}

/*
 * The function of a trace that starts with an indirect jump inside it, or that comes from outside
 * the binary, as to a landing pad; BAT_NONE for others.
 */
static uint32_t table_function_of(const struct detours *detours, const uint64_t *trace)
{
    struct bat_instruction instruction;
    uint32_t here;
    uint32_t there;
    if (trace[1] >= BAT_TRACE_EXTERNAL_RETURN || trace[1] == BAT_ADDRESS_EXTERNAL)
        return BAT_NONE;
    if (trace[0] == BAT_ADDRESS_EXTERNAL)
        return !follows_call(detours, trace[1]) && function_at(detours, trace[1], &there)
                   ? there
                   : BAT_NONE;
    if (trace[0] >= BAT_TRACE_EXTERNAL_RETURN ||
        !input_flow_decode(detours->flow, trace[0], &instruction) ||
        instruction.kind != BAT_INSTRUCTION_INDIRECT_JUMP ||
        !function_at(detours, trace[1], &there) || !function_at(detours, trace[0], &here))
        return BAT_NONE;
    return here == there ? here : BAT_NONE;
}

/* Where an indirect jump of a function goes by a trace. */
struct goal {
    uint32_t function;
    uint64_t address;
    bool is_label; /* of a computed goto: no-operations before it may be a label, too */
};

/* ADD of registers: 48 01 or 48 03, the last instruction before the jump by a table of distances.
 */
#define ADD_SIZE 3u

/* True if an indirect jump is by no jump table: a switch has no labels of no-operations. */
static bool is_computed_goto(const struct detours *detours, uint64_t jump)
{
    const struct bat_elf *elf = detours->original->elf;
    struct bat_instruction instruction;
    uint64_t size;
    const uint8_t *before =
        jump < ADD_SIZE ? NULL : bat_elf_at_address(elf, jump - ADD_SIZE, &size);
    const bool is_x86 = bat_elf_machine(elf) == EM_X86_64;
    return input_flow_decode(detours->flow, jump, &instruction) &&
           instruction.kind == BAT_INSTRUCTION_INDIRECT_JUMP &&
           instruction.jump != BAT_JUMP_TABLE && before && size > ADD_SIZE &&
           !(is_x86 && (before[0] & 0xf8) == 0x48 && (before[1] & 0xfd) == 0x01);
}

/*
 * Pass an instruction that does nothing but lead on: a jump, into *jump, or a no-operation, for
 * which jump->to is 0. False for others.
 */
static bool pass_idle(const struct detours *detours, uint64_t *at, struct input_jump *jump)
{
    struct bat_instruction instruction;
    *jump = (struct input_jump){*at, 0};
    if (!bat_original_decode(detours->original->elf, *at, &instruction) ||
        (instruction.kind != BAT_INSTRUCTION_JUMP && instruction.kind != BAT_INSTRUCTION_NOP))
        return false;
    if (instruction.kind == BAT_INSTRUCTION_JUMP)
        jump->to = instruction.target;
    *at = jump->to ? jump->to : *at + instruction.length;
    return true;
}

/* True if such instructions from an address on lead to one of the goals of a function. */
static bool leads_to_goal(const struct detours *detours, uint64_t address, const struct goal *goals,
                          uint32_t count)
{
    struct input_jump jump;
    bool has_jump = false;
    for (uint32_t i = 0; i < MOST_IDLE && pass_idle(detours, &address, &jump); i++) {
        has_jump |= jump.to != 0;
        uint32_t found = BAT_COUNT_BELOW(goals, count, address, address);
        if (found < count && goals[found].address == address && (has_jump || goals[found].is_label))
            return true;
    }
    return false;
}

/* True if a block of a function that does nothing may be on the way to one of its goals. */
static bool has_detour(const struct detours *detours, const struct goal *goals, uint32_t count)
{
    const struct bat_elf *elf = detours->original->elf;
    const struct bat_function_symbol *function = &detours->original->inputs[goals[0].function];
    const uint16_t machine = bat_elf_machine(elf);
    uint64_t size = 0;
    const uint8_t *bytes = bat_elf_at_address(elf, function->address, &size);
    size = bytes && size > function->size ? function->size : size;
    bool is_reached = false; /* by the instruction before: then a no-operation is no label */
    struct bat_instruction instruction;
    for (uint64_t at = 0; bytes && at < size; at += instruction.length) {
        at += is_reached ? bat_instructions_skip(machine, bytes + at, (size_t)(size - at)) : 0;
        if (at == size)
            return false;
        if (!bat_instruction_decode(machine, bytes + at, (size_t)(size - at),
                                    function->address + at, &instruction))
            return true; /* data between code */
        const bool is_nop = instruction.kind == BAT_INSTRUCTION_NOP;
        if ((instruction.kind == BAT_INSTRUCTION_JUMP || (is_nop && !is_reached)) &&
            leads_to_goal(detours, function->address + at, goals, count))
            return true;
        if (!is_nop)
            is_reached = input_kind_goes_on(instruction.kind);
    }
    return false;
}

static enum bat_code add_function(struct detours *detours, uint32_t function)
{
    return BAT_APPEND(detours->functions, detours->function_count, detours->function_capacity,
                      (struct table_function){.function = function})
               ? BAT_OK
               : BAT_ERR_MEMORY;
}

static struct goal goal_of(const struct detours *detours, const uint64_t *trace, uint32_t function)
{
    return (struct goal){
        .function = function,
        .address = trace[1],
        .is_label = is_computed_goto(detours, trace[0]),
    };
}

/* Find the functions of all traces with indirect jumps, those without detours left out. */
static enum bat_code find_functions(struct detours *detours)
{
    struct goal *goals = NULL;
    size_t capacity = 0;
    uint32_t count = 0;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < detours->old->count && code == BAT_OK; i++) {
        const uint64_t *trace = bat_counts_item(detours->old, i);
        struct input_jump ignored;
        detours->has_plt |= goes_through_plt(detours, trace, &ignored);
        uint32_t function = table_function_of(detours, trace);
        if (function == BAT_NONE)
            continue;
        if (BAT_GROW(goals, count, capacity))
            goals[count++] = goal_of(detours, trace, function);
        else
            code = BAT_ERR_MEMORY;
    }
    BAT_SORT(goals, count, BAT_ASCENDING(struct goal, function),
             BAT_ASCENDING(struct goal, address), BAT_DESCENDING(struct goal, is_label));
    for (uint32_t i = 0, end = 0; i < count && code == BAT_OK; i = end) {
        while (end < count && goals[end].function == goals[i].function)
            end++;
        if (has_detour(detours, goals + i, end - i))
            code = add_function(detours, goals[i].function);
    }
    free(goals);
    return code;
}

static enum bat_code open_reader(struct detours *detours)
{
    const struct bat_original *original = detours->original;
    uint32_t *indices = malloc(((size_t)detours->function_count + 1) * sizeof(*indices));
    for (uint32_t i = 0; indices && i < detours->function_count; i++)
        indices[i] = detours->functions[i].function;
    enum bat_code code =
        indices ? bat_code_open(original->elf, original->input_symbols, original->input_functions,
                                indices, detours->function_count, 1, &detours->reader, NULL)
                : BAT_ERR_MEMORY;
    free(indices);
    /* Code that nobody can read tells nothing of its tables. */
    if (code != BAT_ERR_UNSUPPORTED && code != BAT_ERR_ELF)
        return code;
    detours->function_count = 0;
    return BAT_OK;
}

/* The graph of a function; NULL if it has none. */
static enum bat_code graph_of(struct detours *detours, uint32_t function,
                              const struct bat_code_graph **graph)
{
    uint32_t found =
        BAT_COUNT_BELOW(detours->functions, detours->function_count, function, function);
    *graph = NULL;
    if (found == detours->function_count || detours->functions[found].function != function)
        return BAT_OK;
    struct table_function *table = &detours->functions[found];
    enum bat_code code = BAT_OK;
    if (!table->is_read)
        code = bat_code_graph(detours->reader, function, &table->graph, NULL);
    table->is_read = true;
    if (table->graph.blocks.count != 0)
        *graph = &table->graph;
    return code;
}

/* Follow idle code from an address to goal by its jumps; false if there is other code, or none. */
static bool follow_idle(const struct detours *detours, uint64_t at, uint64_t goal,
                        struct input_jump jumps[MOST_IDLE], uint32_t *count)
{
    *count = 0;
    if (at == goal)
        return false;
    for (uint32_t i = 0; i < MOST_IDLE && at != goal && pass_idle(detours, &at, &jumps[*count]);
         i++)
        *count += jumps[*count].to != 0;
    return at == goal;
}

/*
 * True if the jump at the end of a block may lead to another: by its table, or to any label. From
 * outside the binary, an exception leads to a landing pad.
 */
static bool may_lead(const struct bat_code_graph *graph, uint32_t from, uint32_t to)
{
    if (from == BAT_NONE)
        return graph->blocks.all[to].flags & BAT_BLOCK_LANDING_PAD;
    bool is_known = graph->first_edge[from] != graph->end_edge[from];
    return is_known ? bat_code_graph_is_successor(graph, from, to)
                    : (graph->blocks.all[to].flags & (BAT_BLOCK_ENTRY | BAT_BLOCK_REFERENCED)) != 0;
}

/*
 * True if a trace from outside the binary may be no exception: it enters, or returns to the call
 * before. The calls of the binary's own code do not return from outside.
 */
static bool may_return(const struct detours *detours, const struct bat_function_symbol *function,
                       const struct bat_code_graph *graph, uint32_t to)
{
    const struct bat_code_block *block = &graph->blocks.all[to];
    struct bat_instruction call;
    if (to == 0 || block->flags & BAT_BLOCK_ENTRY)
        return true;
    return block[-1].flags & BAT_BLOCK_ENDS_IN_CALL && block[-1].flags & BAT_BLOCK_REACHES_NEXT &&
           !(input_flow_decode(detours->flow, function->address + block[-1].last, &call) &&
             call.kind == BAT_INSTRUCTION_CALL && input_flow_has_code(detours->flow, call.target));
}

/* Add a trace that goes from its branch to start and on by idle code. */
static enum bat_code add_way(struct detours *detours, const uint64_t *trace, uint64_t start)
{
    struct input_jump jumps[MOST_IDLE];
    uint32_t count = 0;
    follow_idle(detours, start, trace[1], jumps, &count);
    return add_detour(detours, trace, start, jumps, count);
}

/*
 * Find up to `most` places where the jump of a block, or an exception, may lead, and from which
 * idle code leads to goal: goal itself comes first. Returns their number.
 */
static uint32_t find_pads(struct detours *detours, uint64_t goal,
                          const struct bat_function_symbol *function,
                          const struct bat_code_graph *graph, uint32_t from, struct input_pad *pads,
                          uint32_t most)
{
    const struct bat_code_blocks *blocks = &graph->blocks;
    uint32_t count = 0;
    if (may_lead(graph, from, bat_code_block_at(blocks, goal - function->address)))
        pads[count++].address = goal;
    for (uint32_t i = 0; i < blocks->count && count < most && detours->blocks_left != 0; i++) {
        struct input_jump ignored[MOST_IDLE];
        uint32_t jumps;
        const uint64_t start = function->address + blocks->all[i].start;
        detours->blocks_left--;
        if (may_lead(graph, from, i) && follow_idle(detours, start, goal, ignored, &jumps))
            pads[count++].address = start;
    }
    detours->counters->limited += detours->blocks_left == 0;
    return count;
}

/* Add the exceptions of a trace, which may have come to several landing pads. */
static enum bat_code add_exceptions(struct detours *detours, const uint64_t *trace,
                                    const struct bat_function_symbol *function,
                                    const struct bat_code_graph *graph, struct input_pad *pads,
                                    uint32_t count)
{
    const struct bat_original *original = detours->original;
    const struct input_landing landing = {.original = original,
                                          .reader = detours->reader,
                                          .graph = graph,
                                          .function = (uint32_t)(function - original->inputs)};
    struct input_arrivals *arrivals = &detours->arrivals;
    const uint64_t work = graph->kept_count / CALLS_OF_BLOCK;
    detours->blocks_left -= work < detours->blocks_left ? work : detours->blocks_left;
    enum bat_code code = input_arrivals_read(arrivals, original->elf, detours->old);
    code =
        code ? code : input_divide_exceptions(arrivals, &landing, trace[1], trace[3], pads, count);
    uint64_t part[5] = {trace[0], trace[1], trace[2], 0, trace[4]};
    for (uint32_t i = 0; i < count && code == BAT_OK; i++) {
        part[3] = pads[i].count;
        if (pads[i].count != 0)
            code = add_way(detours, part, pads[i].address);
        part[4] = pads[i].count != 0 ? 0 : part[4];
    }
    return code;
}

/* Add a trace that starts with the indirect jump of a function, or comes from outside. */
static enum bat_code add_table_trace(struct detours *detours, const uint64_t *trace,
                                     const struct bat_function_symbol *function,
                                     const struct bat_code_graph *graph)
{
    const struct bat_code_blocks *blocks = &graph->blocks;
    const uint64_t jump = trace[0] - function->address;
    const bool is_outside = trace[0] == BAT_ADDRESS_EXTERNAL;
    uint32_t from = is_outside ? BAT_NONE : bat_code_block_at(blocks, jump);
    uint32_t to = bat_code_block_at(blocks, trace[1] - function->address);
    bool is_jump = is_outside || (from != BAT_NONE && blocks->all[from].last == jump);
    if (!is_jump || to == BAT_NONE || blocks->all[to].start != trace[1] - function->address ||
        (is_outside && may_return(detours, function, graph, to)))
        return add_detour(detours, trace, trace[1], NULL, 0);
    struct input_pad pads[MOST_PADS] = {{0}};
    const uint32_t most = is_outside ? MOST_PADS : 1;
    const uint32_t count = find_pads(detours, trace[1], function, graph, from, pads, most);
    if (count < 2 || trace[3] == 0)
        return add_way(detours, trace, count == 0 ? trace[1] : pads[0].address);
    return add_exceptions(detours, trace, function, graph, pads, count);
}

/* --- All traces ------------------------------------------------------------------------------- */

static enum bat_code add_trace(struct detours *detours, const uint64_t *trace)
{
    struct input_jump jumps[2] = {{0}};
    if (goes_through_plt(detours, trace, &jumps[0])) {
        uint64_t entry = jumps[0].to;
        uint32_t there;
        const struct bat_function_symbol *goal = function_at(detours, trace[1], &there);
        /* A tail call whose callee BOLT has replaced (-inline-memcpy) has returned already. */
        const bool has_returned = goal && goal->address != trace[1];
        jumps[0].to = has_returned ? BAT_ADDRESS_EXTERNAL : trace[1];
        jumps[1] = (struct input_jump){BAT_ADDRESS_EXTERNAL, trace[1]};
        return add_detour(detours, trace, entry, jumps, 1 + has_returned);
    }
    uint32_t function = table_function_of(detours, trace);
    const struct bat_code_graph *graph = NULL;
    BAT_TRY(function == BAT_NONE ? BAT_OK : graph_of(detours, function, &graph));
    return graph ? add_table_trace(detours, trace, &detours->original->inputs[function], graph)
                 : bat_counts_add(&detours->traces, trace, trace[3], trace[4]);
}

static enum bat_code add_traces(struct detours *detours, struct bat_profile *result)
{
    enum bat_code code = detours->function_count != 0 ? open_reader(detours) : BAT_OK;
    for (uint32_t i = 0; i < detours->old->count && code == BAT_OK; i++)
        code = add_trace(detours, bat_counts_item(detours->old, i));
    if (code == BAT_OK) {
        struct bat_counts old = result->traces;
        result->traces = detours->traces;
        detours->traces = old;
    }
    return code;
}

enum bat_code input_add_detours(struct input_move *move, struct bat_profile *result)
{
    struct detours detours = {.original = move->original,
                              .flow = &move->follow.flow,
                              .counters = &move->counters,
                              .old = &result->traces,
                              .traces = bat_counts_new(3)};
    detours.blocks_left = LEAST_BLOCKS + MEAN_BLOCKS * (uint64_t)result->traces.count;
    enum bat_code code = find_functions(&detours);
    if (code == BAT_OK && (detours.function_count != 0 || detours.has_plt))
        code = add_traces(&detours, result);
    for (uint32_t i = 0; i < detours.function_count; i++)
        bat_code_graph_free(&detours.functions[i].graph);
    input_arrivals_free(&detours.arrivals);
    bat_code_close(detours.reader);
    free(detours.functions);
    bat_counts_free(&detours.traces);
    return code;
}
