/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "measured.h"

#include <stdlib.h>

#include "spec/array.h"
#include "spec/order.h"
#include "support/parallel.h"

#define STRETCH 16u /* units that a thread reads at a time */

static void counts_free(struct next_counts *counts)
{
    if (!counts)
        return;
    BAT_FREE_ALL(counts->blocks, counts->edges, counts->entered, counts);
}

/* The counts of a unit, made at their first use; *counts is NULL if the code cannot be read. */
static enum bat_code counts_of(struct next_measured *measured, uint32_t unit,
                               struct next_counts **counts, const struct next_unit **code_of,
                               struct bat_error *error)
{
    BAT_TRY(next_unit_get(measured->program, unit, code_of, error));
    *counts = measured->units[unit];
    if (*counts)
        return BAT_OK;
    struct next_counts *made = calloc(1, sizeof(*made));
    if (!made)
        return bat_fail_memory(error, "for counts");
    made->blocks = calloc((size_t)(*code_of)->block_count + 1, sizeof(*made->blocks));
    made->entered = calloc((size_t)(*code_of)->block_count + 1, sizeof(*made->entered));
    made->edges = calloc((size_t)(*code_of)->edge_count + 1, sizeof(*made->edges));
    measured->units[unit] = *counts = made;
    if (!made->blocks || !made->entered || !made->edges)
        return bat_fail_memory(error, "for counts");
    return BAT_OK;
}

static uint32_t unit_of_word(const struct next_measured *measured, uint64_t word)
{
    if (!bat_records_is_function(measured->records, word))
        return BAT_NONE;
    return measured->program->unit_of[(uint32_t)word];
}

static enum bat_code add_call(struct next_measured *measured, uint32_t item, uint64_t from,
                              uint64_t offset, uint64_t to, struct bat_error *error)
{
    const uint64_t *record = bat_counts_item(&measured->records->branches, item);
    bool is_function = bat_records_is_function(measured->records, to);
    if (!BAT_APPEND(measured->calls, measured->call_count, measured->call_capacity,
                    (struct next_call){.function = (uint32_t)from,
                                       .offset = (uint32_t)offset,
                                       .target = is_function ? (uint32_t)to : BAT_NONE,
                                       .item = item,
                                       .count = record[4]}))
        return bat_fail_memory(error, "for calls");
    return BAT_OK;
}

/* True if a record from this offset is of a call, if it leads to the function itself. */
static bool is_call_at(const struct next_unit *unit, const struct next_block *block,
                       uint64_t offset)
{
    for (uint32_t i = 0; i < block->instruction_count; i++) {
        const struct next_instruction *all = &unit->instructions[block->first_instruction + i];
        if (all->offset == offset)
            return all->flags & NEXT_IS_CALL;
    }
    return false;
}

/* The edge that a record inside a unit counts; BAT_NONE. *is_padding: it starts or ends in padding
 * that an edge was led past, and counts no edge of its own. */
static uint32_t edge_of(const struct next_program *program, const struct next_unit *unit,
                        const uint64_t *item, bool *is_padding)
{
    *is_padding = false;
    uint32_t from = next_block_at(program, unit, (uint32_t)item[0], item[1]);
    uint32_t to = next_block_at(program, unit, (uint32_t)item[2], item[3]);
    if (from == BAT_NONE || to == BAT_NONE)
        return BAT_NONE;
    bool is_entry = item[3] == 0 && (uint32_t)item[2] == unit->blocks[0].function;
    if (is_entry && is_call_at(unit, &unit->blocks[from], item[1]))
        return BAT_NONE;
    if (unit->blocks[from].is_padding) {
        *is_padding = true;
        return BAT_NONE;
    }
    while (unit->blocks[to].is_padding && unit->blocks[to].edge_count == 1)
        to = unit->edges[unit->blocks[to].first_edge].to;
    return next_find_edge(unit, from, to, (uint32_t)item[1]);
}

/* A record from one place of a unit to another. */
static enum bat_code add_inner(struct next_measured *measured, uint32_t index, uint32_t unit,
                               struct bat_error *error)
{
    const uint64_t *item = bat_counts_item(&measured->records->branches, index);
    const struct next_unit *code_of;
    struct next_counts *counts;
    BAT_TRY(counts_of(measured, unit, &counts, &code_of, error));
    enum bat_code code = BAT_OK;
    counts->total += item[4];
    bool is_padding;
    uint32_t edge = edge_of(measured->program, code_of, item, &is_padding);
    if (edge != BAT_NONE) {
        counts->edges[edge] += item[4];
    } else if (item[3] == 0 && (uint32_t)item[2] == measured->program->first_part[unit]) {
        counts->entry += item[4];
        code = add_call(measured, index, (uint32_t)item[0], item[1], item[2], error);
    } else if (!is_padding) {
        counts->misfits += item[4];
    }
    return code;
}

/* True if a record from elsewhere that leads to a place of a block is the return of a call there or
 * right before: other objects' returns have records. */
static bool is_return(const struct next_unit *unit, uint32_t block, uint64_t offset)
{
    const struct next_block *at = &unit->blocks[block];
    if (offset != at->start)
        return true;
    if (block == 0 || at->is_entered)
        return false;
    const struct next_block *before = &unit->blocks[block - 1];
    return before->end == NEXT_END_ON && before->function == at->function &&
           unit->instructions[at->first_instruction - 1].flags & NEXT_IS_CALL;
}

/* A record that enters a unit from elsewhere. */
static enum bat_code add_entry(struct next_measured *measured, uint32_t index, uint32_t unit,
                               bool is_external, struct bat_error *error)
{
    const uint64_t *item = bat_counts_item(&measured->records->branches, index);
    const struct next_unit *code_of;
    struct next_counts *counts;
    BAT_TRY(counts_of(measured, unit, &counts, &code_of, error));
    uint32_t block = next_block_at(measured->program, code_of, (uint32_t)item[2], item[3]);
    if (block == 0 && item[3] == 0)
        counts->entry += item[4];
    else if (block != BAT_NONE && !is_return(code_of, block, item[3]))
        counts->entered[block] += item[4];
    if (is_external && block == 0)
        counts->external += item[4];
    return BAT_OK;
}

static enum bat_code add_record(struct next_measured *measured, uint32_t i, struct bat_error *error)
{
    const uint64_t *item = bat_counts_item(&measured->records->branches, i);
    uint32_t from = unit_of_word(measured, item[0]);
    uint32_t to = unit_of_word(measured, item[2]);
    enum bat_code code = BAT_OK;
    measured->total += item[4];
    if (from != BAT_NONE && from == to)
        return add_inner(measured, i, from, error);
    if (from != BAT_NONE) {
        const struct next_unit *code_of;
        struct next_counts *counts;
        code = counts_of(measured, from, &counts, &code_of, error);
        if (code == BAT_OK) {
            counts->total += item[4];
            code = add_call(measured, i, (uint32_t)item[0], item[1], item[2], error);
        }
    }
    if (code == BAT_OK && to != BAT_NONE)
        code = add_entry(measured, i, to, from == BAT_NONE, error);
    return code;
}

void next_calls_at(const struct next_measured *measured, uint32_t function, uint32_t offset,
                   size_t *first, size_t *end)
{
    struct bat_search search = {.high = measured->call_count};
    while (bat_search_next(&search)) {
        const struct next_call *call = &measured->calls[search.middle];
        bat_search_go(&search, call->function < function ||
                                   (call->function == function && call->offset < offset));
    }
    *first = *end = search.low;
    while (*end < measured->call_count && measured->calls[*end].function == function &&
           measured->calls[*end].offset == offset)
        ++*end;
}

/* Records say nothing of what falls through inside of BOLT's blocks: all that comes in. */
static void fall_through(const struct next_unit *code, struct next_counts *counts, uint64_t *in,
                         uint32_t block)
{
    const struct next_block *from = &code->blocks[block];
    for (uint32_t i = from->first_edge; i < from->first_edge + from->edge_count; i++) {
        const struct next_edge *edge = &code->edges[i];
        if (!code->blocks[edge->to].is_split || !next_is_fall_through(code, edge))
            continue;
        counts->edges[i] = in[block];
        in[edge->to] += in[block];
    }
}

/* The count of a block: what comes in or what goes out, if that is more, or what it calls. */
static enum bat_code count_blocks(struct next_measured *measured, uint32_t unit,
                                  struct bat_error *error)
{
    const struct next_unit *code = measured->program->units[unit];
    struct next_counts *counts = measured->units[unit];
    uint64_t *out = counts->blocks;
    uint64_t *in = calloc((size_t)code->block_count + 1, sizeof(*in));
    if (!in)
        return bat_fail_memory(error, "for counts");
    counts->entered[0] = counts->entry;
    for (uint32_t i = 0; i < code->edge_count; i++)
        in[code->edges[i].to] += counts->edges[i];
    for (uint32_t i = 0; i < code->block_count; i++) {
        in[i] += counts->entered[i];
        fall_through(code, counts, in, i);
    }
    for (uint32_t i = 0; i < code->edge_count; i++)
        out[code->edges[i].from] += counts->edges[i];
    for (uint32_t i = 0; i < code->block_count; i++)
        out[i] = in[i] > out[i] ? in[i] : out[i];
    free(in);
    for (uint32_t i = 0; i < code->block_count; i++) {
        const struct next_block *block = &code->blocks[i];
        for (uint32_t k = 0; k < block->instruction_count; k++) {
            const struct next_instruction *all = &code->instructions[block->first_instruction + k];
            if (!(all->flags & (NEXT_IS_CALL | NEXT_IS_INDIRECT)) && all->callee == BAT_NONE)
                continue;
            size_t first;
            size_t end;
            uint64_t sum = 0;
            next_calls_at(measured, block->function, all->offset, &first, &end);
            for (; first < end; first++)
                sum += measured->calls[first].count;
            if (sum > out[i] && block->end != NEXT_END_TAIL_IF)
                out[i] = sum;
        }
    }
    return BAT_OK;
}

static enum bat_code read_marked(void *context, size_t item, unsigned thread,
                                 struct bat_error *error)
{
    const struct next_measured *measured = context;
    const struct next_unit *code;
    (void)thread;
    return measured->has_records[item]
               ? next_unit_get(measured->program, (uint32_t)item, &code, error)
               : BAT_OK;
}

/* Read the code of all units with records, in several threads. */
static enum bat_code read_units(struct next_measured *measured, struct bat_error *error)
{
    const struct next_program *program = measured->program;
    const struct bat_counts *branches = &measured->records->branches;
    measured->has_records = calloc((size_t)program->unit_count + 1, 1);
    BAT_TRY_MEMORY(measured->has_records, error, "for counts");
    for (uint32_t i = 0; i < branches->count; i++)
        for (unsigned end = 0; end < 4; end += 2) {
            uint32_t unit = unit_of_word(measured, bat_counts_item(branches, i)[end]);
            if (unit != BAT_NONE)
                measured->has_records[unit] = 1;
        }
    return bat_parallel_try(program->unit_count, STRETCH, program->threads, read_marked, measured,
                            error);
}

enum bat_code next_measure(struct next_program *program, const struct bat_records *records,
                           struct next_measured *measured, struct bat_error *error)
{
    *measured = (struct next_measured){.program = program, .records = records};
    measured->units = calloc((size_t)program->unit_count + 1, sizeof(struct next_counts *));
    if (!measured->units)
        return bat_fail_memory(error, "for counts");
    enum bat_code code = read_units(measured, error);
    for (uint32_t i = 0; i < records->branches.count && code == BAT_OK; i++)
        code = add_record(measured, i, error);
    BAT_SORT(measured->calls, measured->call_count, BAT_ASCENDING(struct next_call, function),
             BAT_ASCENDING(struct next_call, offset), BAT_ASCENDING(struct next_call, item));
    for (uint32_t i = 0; i < program->unit_count && code == BAT_OK; i++)
        if (measured->units[i] && program->units[i]->is_read)
            code = count_blocks(measured, i, error);
    return code;
}

void next_measured_free(struct next_measured *measured)
{
    for (uint32_t i = 0; measured->units && i < measured->program->unit_count; i++)
        counts_free(measured->units[i]);
    BAT_FREE_ALL(measured->units, measured->calls, measured->has_records);
    *measured = (struct next_measured){0};
}
