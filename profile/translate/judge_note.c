/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Judges a function's records without the input's code: the function's blocks are those that the
 * note lists, and its edges those that the output's code has between them.
 */
#include <stdlib.h>
#include <string.h>

#include "bat_decoder.h"
#include "binary/code/output_flow.h"
#include "binary/original/original.h"
#include "judge.h"
#include "spec/map.h"
#include "spec/order.h"

/* Most functions have far fewer records. */
#define SOURCE_BITS 1024u

struct note_judging {
    const struct judged_records *judged;
    const struct bat_output_flow *flow;
    uint64_t *edges; /* from block << 32 | to block, as they are found */
    size_t edge_count;
    uint32_t *targets;      /* of the edges, by the block that they are from */
    uint32_t *first_target; /* for each block, and for the end */
    uint32_t *starts;       /* for each block: 1 + the last output block that begins it, or 0 */
    uint32_t *next_start;   /* for each output block: another one that begins the same, or 0 */
    uint8_t *known; /* for each record: the note has its source, if no record before is from there;
                       filled once needed */
    bool has_known;
    uint64_t sources[SOURCE_BITS / 64]; /* bits of the records' sources, modulo SOURCE_BITS */
    uint32_t *ways;                     /* for each output block: see count_ways() */
    uint8_t *is_open; /* for each block: ends in an indirect jump, a return or a trap */
    bool is_given_up;
    uint32_t source_block; /* of the last record */
    struct bat_error *error;
};

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

/* In ways: control falls into an empty block from one without a branch at its end. */
#define WAYS_FALLS 0x80000000u

/*
 * An empty block E begins where another one, X, does: in the input it was only a jump to X. If the
 * block before it in the input falls into it, and has no branch at its end, then E begins a block
 * only because something branches there. If a single branch of the output goes to both, it is this
 * one: it led to E, although the note translates its target to X, and llvm-bolt finds no way to X.
 */
static void count_ways(struct note_judging *judging)
{
    const struct bat_output_flow *flow = judging->flow;
    bool is_any = false;
    for (uint32_t i = 0; i < flow->count; i++)
        is_any |= flow->all[i].begin_count == 2;
    /* Few functions have empty blocks. */
    for (uint32_t i = 0; i < flow->count && is_any; i++) {
        const struct bat_output_block *block = &flow->all[i];
        uint32_t next[2];
        bat_output_flow_next(flow, i, next);
        for (uint32_t j = 0; j < 2; j++) {
            uint32_t begins =
                next[j] == BAT_NONE ? BAT_NONE : bat_output_flow_through(flow, next[j]);
            if (begins == BAT_NONE || flow->all[begins].begin_count != 2)
                continue;
            bool falls = j == 0 && block->last_size == 0 && block->owner != BAT_NONE &&
                         block->owner + 1 == flow->begins[flow->all[begins].first_begin];
            judging->ways[begins] =
                falls ? judging->ways[begins] | WAYS_FALLS : judging->ways[begins] + 1;
        }
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
    bool is_last = (is_branch || begins != to) && judging->ways[begins] != (WAYS_FALLS | 1);
    uint32_t first = is_last ? block->begin_count - 1 : 0;
    add_edge(judging, from, flow->begins[block->first_begin + first]);
}

/* True if an output block starts with a call, or leaves the function. */
static bool starts_with_call(const struct note_judging *judging,
                             const struct bat_output_block *block)
{
    const struct bat_elf *elf = judging->judged->records->binary->elf;
    struct bat_instruction instruction;
    if (!bat_original_decode(elf, block->start, &instruction))
        return false;
    bool is_direct =
        instruction.kind == BAT_INSTRUCTION_JUMP || instruction.kind == BAT_INSTRUCTION_CONDITIONAL;
    return instruction.kind == BAT_INSTRUCTION_CALL ||
           instruction.kind == BAT_INSTRUCTION_INDIRECT_CALL ||
           instruction.kind == BAT_INSTRUCTION_INDIRECT_JUMP ||
           (is_direct && bat_output_flow_at(judging->flow, instruction.target) == BAT_NONE);
}

/* True for a call at an input block's start: the note has no separate entry for it. */
static bool is_call_at_start(const struct note_judging *judging, uint32_t block)
{
    for (uint32_t i = judging->starts[block]; i != 0; i = judging->next_start[i - 1])
        if (starts_with_call(judging, &judging->flow->all[i - 1]))
            return true;
    return false;
}

/* Find a jump that llvm-bolt cannot resolve: it gives the function up. */
static enum bat_code look_at_jump(struct note_judging *judging,
                                  const struct bat_output_block *block)
{
    if (!block->is_indirect || judging->is_given_up || judging->flow->block_count <= 1)
        return BAT_OK;
    const struct bat_elf *elf = judging->judged->records->binary->elf;
    uint64_t available;
    const uint8_t *bytes = bat_elf_at_address(elf, block->start, &available);
    bool tells;
    if (!bytes || available < block->size)
        return BAT_OK;
    enum bat_code code = bat_code_tells_jump(bat_elf_machine(elf), bytes, block->size, block->start,
                                             &tells, judging->error);
    judging->is_given_up = code == BAT_OK && !tells;
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
    bool is_open = !block->falls_through && !block->has_target;
    enum bat_code code = is_open ? look_at_jump(judging, block) : BAT_OK;
    if (block->owner == BAT_NONE)
        return code;
    if (block->begin_count != 0) {
        judging->next_start[number] = judging->starts[block->owner];
        judging->starts[block->owner] = number + 1;
    }
    judging->is_open[block->owner] |= is_open;
    uint32_t next[2];
    bat_output_flow_next(flow, number, next);
    for (uint32_t i = 0; i < 2; i++)
        if (next[i] != BAT_NONE)
            add_way(judging, block->owner, next[i], i == 1);
    return code;
}

static uint32_t hot_table(const struct note_judging *judging)
{
    const struct bat_records *records = judging->judged->records;
    return records->map->tables[records->tables[judging->judged->function]].parent;
}

/* The first record whose source is at or behind an offset. */
static size_t first_from(const struct judged_records *judged, uint64_t offset)
{
    const struct {
        uint64_t from, offset, to[2], counts[2];
    } *records = (const void *)bat_records_branch(judged->records, judged->first);
    return judged->first + BAT_COUNT_BELOW(records, judged->end - judged->first, offset, offset);
}

/* Look up the branches and calls of a table among the records. */
static void add_known(struct note_judging *judging, uint32_t table)
{
    const struct judged_records *judged = judging->judged;
    const struct bat_map *map = judged->records->map;
    const struct bat_table *function = &map->tables[table];
    for (uint32_t i = 0; i < function->entry_count; i++) {
        uint32_t input = map->input_offsets[function->first_entry + i];
        const uint64_t bits = judging->sources[(input >> 1) % SOURCE_BITS / 64];
        /* Most entries have no record. */
        if (!(input & BAT_BRANCH_ENTRY) || !(bits >> (input >> 1) % 64 & 1))
            continue;
        size_t found = first_from(judged, input >> 1);
        if (found < judged->end &&
            bat_records_branch(judged->records, (uint32_t)found)[1] == input >> 1)
            judging->known[found - judged->first] = 1;
    }
}

static void find_known(struct note_judging *judging)
{
    const struct judged_records *judged = judging->judged;
    const struct bat_map *map = judged->records->map;
    uint32_t hot = hot_table(judging);
    memset(judging->known, 0, judged->end - judged->first);
    for (uint32_t i = judged->first; i < judged->end; i++) {
        const uint64_t source = bat_records_branch(judged->records, i)[1];
        judging->sources[source % SOURCE_BITS / 64] |= (uint64_t)1 << source % 64;
    }
    add_known(judging, hot);
    for (uint32_t i = map->fragment_start[hot]; i < map->fragment_start[hot + 1]; i++)
        add_known(judging, map->fragments[i]);
    judging->has_known = true;
}

/* Up to this many edges of a block are searched one by one; most blocks have two. */
#define FEW_EDGES 8u

/* Fill targets and first_target from the edges. */
static void sort_edges(struct note_judging *judging)
{
    uint32_t blocks = judging->flow->block_count;
    uint32_t *end = judging->first_target;
    for (size_t i = 0; i < judging->edge_count; i++)
        end[judging->edges[i] >> 32]++;
    for (uint32_t i = 1; i <= blocks; i++)
        end[i] += end[i - 1];
    /* Filled from the back, each end moves to its block's first target. */
    for (size_t i = judging->edge_count; i-- > 0;)
        judging->targets[--end[judging->edges[i] >> 32]] = (uint32_t)judging->edges[i];
    for (uint32_t i = 0; i < blocks; i++) {
        uint32_t count = end[i + 1] - end[i];
        if (count > FEW_EDGES)
            qsort(judging->targets + end[i], count, sizeof(*judging->targets), bat_compare_u32);
    }
}

/* Lay out the arrays in the scratch memory. False if there is no memory. */
static bool allocate(struct note_judging *judging, struct judge_scratch *scratch)
{
    const struct bat_output_flow *flow = judging->flow;
    size_t entries = bat_map_count_entries(judging->judged->records->map, hot_table(judging));
    size_t edges = 2 * (size_t)flow->count + 7 * (size_t)flow->pair_count + entries;
    size_t blocks = (size_t)flow->block_count + 1;
    size_t cleared = (2 * blocks + flow->count) * sizeof(uint32_t);
    size_t size = edges * (sizeof(uint64_t) + sizeof(uint32_t)) + cleared +
                  flow->count * sizeof(uint32_t) + blocks +
                  (judging->judged->end - judging->judged->first);
    if (size > scratch->size) {
        free(scratch->memory);
        scratch->size = size + size / 2;
        scratch->memory = malloc(scratch->size);
    }
    if (!scratch->memory) {
        scratch->size = 0;
        return false;
    }
    judging->edges = scratch->memory;
    judging->first_target = (uint32_t *)(judging->edges + edges);
    judging->starts = judging->first_target + blocks;
    judging->ways = judging->starts + blocks;
    judging->targets = judging->ways + flow->count;
    judging->next_start = judging->targets + edges;
    judging->is_open = (uint8_t *)(judging->next_start + flow->count);
    judging->known = judging->is_open + blocks;
    memset(judging->first_target, 0, cleared);
    memset(judging->is_open, 0, blocks);
    return true;
}

static enum bat_code read_note(struct note_judging *judging, struct judge_scratch *scratch)
{
    enum bat_code code = BAT_OK;
    BAT_TRY_MEMORY(allocate(judging, scratch), judging->error, "for a function's edges");
    count_ways(judging);
    for (uint32_t i = 0; i < judging->flow->count && code == BAT_OK; i++)
        code = add_edges(judging, i);
    for (uint32_t i = 0; i < judging->flow->pair_count; i++)
        add_pair(judging, &judging->flow->pairs[i]);
    sort_edges(judging);
    return code;
}

/* --- Records ---------------------------------------------------------------------------------- */

/* True if the note has a branch or call at the record's source. */
static bool is_known(struct note_judging *judging, uint64_t offset)
{
    if (!judging->has_known)
        find_known(judging);
    return judging->known[first_from(judging->judged, offset) - judging->judged->first];
}

static bool has_edge(const struct note_judging *judging, uint32_t from, uint32_t to)
{
    const uint32_t *targets = judging->targets + judging->first_target[from];
    uint32_t count = judging->first_target[from + 1] - judging->first_target[from];
    uint32_t found = 0;
    if (count > FEW_EDGES)
        found = BAT_NUMBERS_BELOW(targets, count, to);
    else
        while (found < count && targets[found] != to)
            found++;
    return found < count && targets[found] == to;
}

/* The input blocks of a record's ends; BAT_NONE for none, and for one in another function. */
struct ends {
    uint32_t from;
    uint32_t to;
};

/* True if llvm-bolt accepts a record of a branch or call inside the function. */
static bool takes_branch(const struct note_judging *judging, const uint64_t *item,
                         const struct ends *ends)
{
    if (ends->from == BAT_NONE || ends->to == BAT_NONE)
        return false;
    if (item[1] == item[3])
        return true;
    if (judging->flow->blocks[ends->to].input_offset != item[3])
        return false;
    return ends->from == ends->to || item[3] == 0 || judging->is_open[ends->from] ||
           has_edge(judging, ends->from, ends->to);
}

static bool takes_yaml(struct note_judging *judging, const uint64_t *item, const struct ends *ends,
                       enum bat_yaml_place place)
{
    if (ends->from == BAT_NONE)
        return true;
    if (place == BAT_YAML_CALL)
        return (judging->flow->blocks[ends->from].input_offset == item[1] &&
                is_call_at_start(judging, ends->from)) ||
               is_known(judging, item[1]);
    return (judging->is_open[ends->from] && ends->from != ends->to) ||
           (ends->to != BAT_NONE && has_edge(judging, ends->from, ends->to));
}

/* The block of a record's source. Sources ascend, so each is at or behind the one before. */
static uint32_t block_of_source(struct note_judging *judging, uint64_t offset)
{
    const struct bat_output_flow *flow = judging->flow;
    uint32_t *at = &judging->source_block;
    while (*at + 1 < flow->block_count && flow->blocks[*at + 1].input_offset <= offset)
        ++*at;
    return *at < flow->block_count && flow->blocks[*at].input_offset <= offset ? *at : BAT_NONE;
}

static void judge_record(struct note_judging *judging, uint32_t record, struct verdicts *verdicts)
{
    const struct bat_output_flow *flow = judging->flow;
    const uint64_t *item = bat_records_branch(judging->judged->records, record);
    enum bat_yaml_place place = judged_yaml_place(judging->judged->records, record);
    struct ends ends = {block_of_source(judging, item[1]), BAT_NONE};
    if (item[0] == item[2])
        ends.to = bat_block_near(flow->blocks, flow->block_count, ends.from, item[3]);
    if (place != BAT_YAML_NOWHERE) {
        verdicts->yaml.samples += place == BAT_YAML_SUCCESSOR ? item[4] : 0;
        if (!takes_yaml(judging, item, &ends, place))
            judged_refuse(&verdicts->yaml, place == BAT_YAML_CALL ? BAT_STALE_EXIT : BAT_STALE_EDGE,
                          record);
    }
    if (judged_is_branch(item)) {
        verdicts->fdata.samples += item[4];
        if (item[0] == item[2] && !takes_branch(judging, item, &ends))
            judged_refuse(&verdicts->fdata, BAT_STALE_EDGE, record);
    }
}

enum bat_code judge_by_note(const struct judged_records *judged, const struct bat_output_flow *flow,
                            struct judge_scratch *scratch, struct verdicts *verdicts,
                            struct bat_error *error)
{
    *verdicts = (struct verdicts){0};
    struct note_judging judging = {.judged = judged, .flow = flow, .error = error};
    enum bat_code code = read_note(&judging, scratch);
    for (uint32_t i = judged->first; i < judged->end && !code; i++)
        judge_record(&judging, i, verdicts);
    verdicts->is_given_up = judging.is_given_up;
    return code;
}
