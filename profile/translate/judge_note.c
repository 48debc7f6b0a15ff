/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Judges a function's records without the input's code: the function's blocks are those that the
 * note lists, and its edges those that the output's code has between them.
 */
#include <elf.h>
#include <stdlib.h>

#include "bat_decoder.h"
#include "binary/code/output_flow.h"
#include "binary/original/original.h"
#include "judge.h"

struct note_judging {
    const struct judged_records *judged;
    const struct bat_output_flow *flow;
    uint64_t *edges; /* from block << 32 | to block, ascending */
    size_t edge_count;
    uint8_t *is_open; /* for each block: ends in an indirect jump, a return or a trap */
    uint8_t *calls;   /* for each block: its first instruction is a call, or leaves the function */
    uint32_t *known;  /* input offsets of branches and calls, ascending */
    size_t known_count;
    bool is_given_up;
    struct bat_error *error;
};

static int by_edge(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static int by_offset(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* --- Edges and calls -------------------------------------------------------------------------- */

static void add_edge(struct note_judging *judging, uint32_t from, uint32_t to)
{
    judging->edges[judging->edge_count++] = (uint64_t)from << 32 | to;
}

/* The pair of branches with exchanged targets (three_way.h) that a block belongs to, or NULL. */
static const struct bat_three_way *pair_of(const struct note_judging *judging, uint32_t block)
{
    const struct bat_output_flow *flow = judging->flow;
    uint32_t pair = flow->pair_of ? flow->pair_of[block] : BAT_NONE;
    return pair == BAT_NONE ? NULL : &flow->pairs[pair];
}

/* Add the edges that a pair had before BOLT; both, if it is not known which branch had a target. */
static void add_pair(struct note_judging *judging, const struct bat_three_way *pair)
{
    add_edge(judging, pair->first, pair->second);
    for (unsigned i = 0; i < BAT_OUTCOMES; i++) {
        if (pair->places[i] != BAT_THREE_WAY_SECOND)
            add_edge(judging, pair->first, pair->targets[i]);
        if (pair->places[i] != BAT_THREE_WAY_FIRST)
            add_edge(judging, pair->second, pair->targets[i]);
    }
}

/* Add the edge to the input block that begins where control enters an output block. */
static void add_way(struct note_judging *judging, uint32_t from, uint32_t to, bool is_branch)
{
    const struct bat_output_flow *flow = judging->flow;
    uint32_t begins = bat_output_flow_through(flow, to);
    if (begins == BAT_NONE || pair_of(judging, from))
        return;
    const struct bat_output_block *block = &flow->all[begins];
    uint32_t first = is_branch || begins != to ? block->begin_count - 1 : 0;
    add_edge(judging, from, flow->begins[block->first_begin + first]);
}

/* Find calls at a block's start: the note has no separate entry for them. */
static void look_at_start(struct note_judging *judging, const struct bat_output_block *block)
{
    const struct bat_elf *elf = judging->judged->records->binary->elf;
    struct bat_instruction instruction;
    if (block->begin_count == 0 || !bat_original_decode(elf, block->start, &instruction))
        return;
    bool is_direct =
        instruction.kind == BAT_INSTRUCTION_JUMP || instruction.kind == BAT_INSTRUCTION_CONDITIONAL;
    judging->calls[block->owner] |=
        instruction.kind == BAT_INSTRUCTION_CALL ||
        instruction.kind == BAT_INSTRUCTION_INDIRECT_CALL ||
        instruction.kind == BAT_INSTRUCTION_INDIRECT_JUMP ||
        (is_direct && bat_output_flow_at(judging->flow, instruction.target) == BAT_NONE);
}

/* Find a jump that llvm-bolt cannot resolve: it gives the function up. */
static enum bat_code look_at_jump(struct note_judging *judging,
                                  const struct bat_output_block *block)
{
    const struct bat_elf *elf = judging->judged->records->binary->elf;
    uint64_t available;
    const uint8_t *bytes = bat_elf_at_address(elf, block->start, &available);
    uint64_t size = block->end - block->start;
    bool tells;
    if (!block->last || !bytes || available < size || size > UINT32_MAX)
        return BAT_OK;
    enum bat_code code = bat_code_tells_jump(bat_elf_machine(elf), bytes, (uint32_t)size,
                                             block->start, &tells, judging->error);
    judging->is_given_up |= code == BAT_OK && !tells && judging->flow->block_count > 1;
    return code;
}

/* Add the edges of an output block: at most two, and those between blocks that begin there. */
static enum bat_code add_edges(struct note_judging *judging, uint32_t number)
{
    const struct bat_output_flow *flow = judging->flow;
    const struct bat_output_block *block = &flow->all[number];
    for (uint32_t i = 1; i < block->begin_count; i++)
        add_edge(judging, flow->begins[block->first_begin + i - 1],
                 flow->begins[block->first_begin + i]);
    bool is_open = !block->falls_through && !block->target;
    enum bat_code code = is_open ? look_at_jump(judging, block) : BAT_OK;
    if (block->owner == BAT_NONE)
        return code;
    look_at_start(judging, block);
    judging->is_open[block->owner] |= is_open;
    uint32_t next[2];
    bat_output_flow_next(flow, number, next);
    for (uint32_t i = 0; i < 2; i++)
        if (next[i] != BAT_NONE)
            add_way(judging, block->owner, next[i], i == 1);
    return code;
}

static void add_known(struct note_judging *judging, uint32_t table)
{
    const struct bat_map *map = judging->judged->records->map;
    const struct bat_table *function = &map->tables[table];
    for (uint32_t i = 0; i < function->entry_count; i++) {
        uint32_t input = map->input_offsets[function->first_entry + i];
        if (input & BAT_BRANCH_ENTRY)
            judging->known[judging->known_count++] = input >> 1;
    }
}

/* The number of entries in all tables of a function. */
static size_t count_entries(const struct bat_map *map, uint32_t hot)
{
    size_t count = map->tables[hot].entry_count;
    for (uint32_t i = map->fragment_start[hot]; i < map->fragment_start[hot + 1]; i++)
        count += map->tables[map->fragments[i]].entry_count;
    return count;
}

static enum bat_code read_note(struct note_judging *judging)
{
    struct bat_records *records = judging->judged->records;
    const struct bat_map *map = records->map;
    uint32_t hot = map->tables[records->tables[judging->judged->function]].parent;
    enum bat_code code = bat_records_flow(records, hot, &judging->flow, judging->error);
    if (code != BAT_OK)
        return code;
    size_t entries = count_entries(map, hot);
    size_t edges = 2 * (size_t)judging->flow->count + 7 * (size_t)judging->flow->pair_count;
    judging->edges = malloc((edges + entries + 1) * sizeof(*judging->edges));
    judging->is_open = calloc((size_t)judging->flow->block_count + 1, 1);
    judging->calls = calloc((size_t)judging->flow->block_count + 1, 1);
    judging->known = malloc((entries + 1) * sizeof(*judging->known));
    if (!judging->edges || !judging->is_open || !judging->calls || !judging->known)
        return bat_fail(judging->error, BAT_ERR_MEMORY, "not enough memory for a function's edges");
    for (uint32_t i = 0; i < judging->flow->count && code == BAT_OK; i++)
        code = add_edges(judging, i);
    for (uint32_t i = 0; i < judging->flow->pair_count; i++)
        add_pair(judging, &judging->flow->pairs[i]);
    add_known(judging, hot);
    for (uint32_t i = map->fragment_start[hot]; i < map->fragment_start[hot + 1]; i++)
        add_known(judging, map->fragments[i]);
    qsort(judging->edges, judging->edge_count, sizeof(*judging->edges), by_edge);
    qsort(judging->known, judging->known_count, sizeof(*judging->known), by_offset);
    return code;
}

/* --- Records ---------------------------------------------------------------------------------- */

static bool is_known(const struct note_judging *judging, uint64_t offset)
{
    uint32_t wanted = (uint32_t)offset;
    return offset <= UINT32_MAX &&
           bsearch(&wanted, judging->known, judging->known_count, sizeof(wanted), by_offset);
}

static bool has_edge(const struct note_judging *judging, uint32_t from, uint32_t to)
{
    uint64_t wanted = (uint64_t)from << 32 | to;
    return bsearch(&wanted, judging->edges, judging->edge_count, sizeof(wanted), by_edge);
}

/* True if llvm-bolt accepts a record of a branch or call inside the function. */
static bool takes_branch(const struct note_judging *judging, const uint64_t *item)
{
    const struct bat_output_flow *flow = judging->flow;
    uint32_t from = bat_block_at(flow->blocks, flow->block_count, item[1]);
    uint32_t to = bat_block_at(flow->blocks, flow->block_count, item[3]);
    if (from == BAT_NONE || to == BAT_NONE)
        return false;
    if (item[1] == item[3])
        return true;
    if (flow->blocks[to].input_offset != item[3])
        return false;
    return from == to || item[3] == 0 || judging->is_open[from] || has_edge(judging, from, to);
}

static bool takes_yaml(const struct note_judging *judging, const uint64_t *item,
                       enum bat_yaml_place place)
{
    const struct bat_output_flow *flow = judging->flow;
    uint32_t from = bat_block_at(flow->blocks, flow->block_count, item[1]);
    if (from == BAT_NONE)
        return true;
    if (place == BAT_YAML_CALL)
        return is_known(judging, item[1]) ||
               (flow->blocks[from].input_offset == item[1] && judging->calls[from]);
    uint32_t to = bat_block_at(flow->blocks, flow->block_count, item[3]);
    return (judging->is_open[from] && from != to) ||
           (to != BAT_NONE && has_edge(judging, from, to));
}

static void judge_record(const struct note_judging *judging, uint32_t record,
                         struct verdict *verdict)
{
    const uint64_t *item = bat_counts_item(&judging->judged->records->branches, record);
    enum bat_yaml_place place = judged_yaml_place(judging->judged->records, record);
    if (judging->judged->is_yaml && place != BAT_YAML_NOWHERE) {
        verdict->samples += place == BAT_YAML_SUCCESSOR ? item[4] : 0;
        verdict->is_stale |= !takes_yaml(judging, item, place);
    } else if (!judging->judged->is_yaml && judged_is_branch(item)) {
        verdict->samples += item[4];
        verdict->is_stale |= item[0] == item[2] && !takes_branch(judging, item);
    }
}

enum bat_code judge_by_note(const struct judged_records *judged, struct verdict *verdict,
                            struct bat_error *error)
{
    *verdict = (struct verdict){0};
    struct note_judging judging = {.judged = judged, .error = error};
    enum bat_code code = read_note(&judging);
    for (uint32_t i = judged->first; i < judged->end && !code; i++)
        judge_record(&judging, i, verdict);
    verdict->is_given_up = judging.is_given_up;
    free(judging.edges);
    free(judging.is_open);
    free(judging.calls);
    free(judging.known);
    return code;
}
