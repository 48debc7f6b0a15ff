/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Records of functions that BOLT has written: none that llvm-bolt would refuse the function for.
 * See spec/profiles.md 2, "Edges".
 */
#include "instructions.h"
#include "translation.h"

static enum bat_code flow_of(struct translation *translation, uint32_t function,
                             const struct bat_output_flow **flow)
{
    const struct bat_map *map = translation_map(translation);
    uint32_t table = translation->records->tables[function];
    return bat_records_flow(translation->records, map->functions[table].parent, flow,
                            translation->error);
}

/* The input block that an offset of a record lies in. */
static uint32_t block_of(const struct bat_output_flow *flow, uint64_t offset)
{
    return bat_block_at(flow->blocks, flow->block_count, offset);
}

/* What kind of instruction is at address. */
static uint8_t kind_at(const struct translation *translation, uint64_t address)
{
    const struct bat_elf *elf = translation->records->binary->elf;
    uint64_t available;
    const uint8_t *bytes = bat_elf_at_address(elf, address, &available);
    struct bat_instruction instruction;
    if (!bytes || !bat_instruction_decode(bat_elf_machine(elf), bytes, (size_t)available, address,
                                          &instruction))
        return BAT_INSTRUCTION_OTHER;
    return instruction.kind;
}

/* True if the note has an entry for exactly this address. */
static bool has_entry(const struct translation *translation, uint32_t function, uint64_t address)
{
    const struct bat_map *map = translation_map(translation);
    const struct bat_function *table = &map->functions[translation->records->tables[function]];
    const uint32_t *offsets = map->output_offsets + table->first_entry;
    uint64_t offset = address - table->address;
    uint32_t low = 0;
    uint32_t high = table->entry_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (offsets[middle] < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < table->entry_count && offsets[low] == offset;
}

/* Where control is, while a trace is followed. */
struct position {
    const struct bat_output_flow *flow;
    const struct trace *trace;
    uint32_t parent; /* the function */
    uint32_t block;  /* of the output */
    uint32_t owner;  /* of the input; BAT_NONE: not known */
};

/* The branches that BOLT may have exchanged targets of, one of which is in the owner; or NULL. */
static const struct bat_three_way *pair_of(const struct position *at)
{
    const struct bat_output_flow *flow = at->flow;
    uint32_t pair = flow->pair_of ? flow->pair_of[at->owner] : BAT_NONE;
    return pair == BAT_NONE ? NULL : &flow->pairs[pair];
}

/* Which of the pair's branches led to an input block before BOLT. */
static enum bat_three_way_place place_of(const struct bat_three_way *pair, uint32_t block)
{
    for (unsigned i = 0; i < BAT_OUTCOMES; i++)
        if (pair->targets[i] == block)
            return pair->places[i];
    return BAT_THREE_WAY_UNKNOWN;
}

/* The record of a way out of a pair: from its first block, over the second one or not. */
static enum bat_code add_exchanged(struct translation *translation, const struct position *at,
                                   const struct bat_three_way *pair, uint32_t next, uint64_t source,
                                   uint64_t mispredictions)
{
    /* From the first to the second: counted when control leaves that. */
    if (next == pair->second)
        return BAT_OK;
    const struct bat_block *blocks = at->flow->blocks;
    struct place first = {at->parent, at->owner == pair->first ? source : pair->branch};
    struct place second = {at->parent, blocks[pair->second].input_offset};
    struct place to = {at->parent, blocks[next].input_offset};
    uint64_t count = at->trace->count;
    enum bat_code code = BAT_OK;
    switch (place_of(pair, next)) {
    case BAT_THREE_WAY_FIRST:
        return translation_add(translation, first, to, count, mispredictions);
    case BAT_THREE_WAY_SECOND:
        code = translation_add(translation, first, second, count, 0);
        return code == BAT_OK ? translation_add(translation, second, to, count, mispredictions)
                              : code;
    default:
        translation->records->counters.left_out += count;
        return BAT_OK;
    }
}

/* A record from an offset in the owner to the input block next, and on from there. */
static enum bat_code add_edge(struct translation *translation, struct position *at, uint32_t next,
                              uint64_t source, uint64_t mispredictions)
{
    const struct bat_three_way *pair = pair_of(at);
    uint64_t offset = at->flow->blocks[next].input_offset;
    enum bat_code code = pair ? add_exchanged(translation, at, pair, next, source, mispredictions)
                              : translation_add(translation, (struct place){at->parent, source},
                                                (struct place){at->parent, offset},
                                                at->trace->count, mispredictions);
    at->owner = next;
    return code;
}

/* A record from an offset in the owner to each input block that begins at the output block to. */
static enum bat_code add_edges(struct translation *translation, struct position *at,
                               const struct bat_output_block *to, uint32_t first, uint64_t source,
                               uint64_t mispredictions)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = first; i < to->begin_count && code == BAT_OK; i++) {
        uint32_t next = at->flow->begins[to->first_begin + i];
        code = add_edge(translation, at, next, source, mispredictions);
        source = at->flow->blocks[next].input_offset;
    }
    return code;
}

/*
 * Control goes on to the output block to: by falling through to all that begins there, by a branch
 * (is_branch) to the last of it. source is the offset of the record's first end.
 */
static enum bat_code enter(struct translation *translation, struct position *at, uint32_t to,
                           bool is_branch, uint64_t source, uint64_t mispredictions)
{
    struct bat_translate_counters *counters = &translation->records->counters;
    const struct bat_output_flow *flow = at->flow;
    uint32_t from = at->block;
    at->block = to;
    uint32_t begins = bat_output_flow_through(flow, to);
    if (begins == BAT_NONE) {
        uint32_t owner = flow->all[to].owner;
        bool is_within = owner == BAT_NONE || owner == at->owner;
        *(is_within ? &counters->within_blocks : &counters->left_out) += at->trace->count;
        if (owner != BAT_NONE)
            at->owner = owner;
        return BAT_OK;
    }
    if (at->owner == BAT_NONE) {
        /* What goes through code of several blocks was counted when that was entered. */
        bool is_counted = bat_output_flow_through(flow, from) == begins;
        *(is_counted ? &counters->within_blocks : &counters->left_out) += at->trace->count;
        if (flow->all[to].begin_count != 0)
            at->owner = flow->all[to].owner;
        return BAT_OK;
    }
    const struct bat_output_block *block = &flow->all[begins];
    uint32_t first = is_branch || begins != to ? block->begin_count - 1 : 0;
    enum bat_code code = add_edges(translation, at, block, first, source, mispredictions);
    if (begins != to)
        at->owner = BAT_NONE; /* until control is there */
    return code;
}

/* A call, or a jump to another function: its source counts if the note has it. */
static enum bat_code add_transfer(struct translation *translation, const struct trace *trace,
                                  struct place from, struct place to)
{
    uint32_t function = translation_function(translation, trace->branch);
    if (!has_entry(translation, function, trace->branch)) {
        translation->records->counters.unknown_callers += trace->count;
        from = (struct place){.function = BAT_NONE};
        if (to.function == BAT_NONE)
            return BAT_OK;
    }
    return translation_add(translation, from, to, trace->count, trace->mispredictions);
}

enum bat_code translation_flow_branch(struct translation *translation, const struct trace *trace,
                                      struct place from, struct place to)
{
    uint8_t kind = kind_at(translation, trace->branch);
    bool is_call = kind == BAT_INSTRUCTION_CALL || kind == BAT_INSTRUCTION_INDIRECT_CALL;
    if (from.function != to.function || is_call)
        return add_transfer(translation, trace, from, to);

    const struct bat_output_flow *flow;
    enum bat_code code =
        flow_of(translation, translation_function(translation, trace->branch), &flow);
    if (code != BAT_OK)
        return code;
    uint32_t source = bat_output_flow_at(flow, trace->branch);
    uint32_t target = bat_output_flow_at(flow, trace->from);
    if (source == BAT_NONE || target == BAT_NONE || kind == BAT_INSTRUCTION_OTHER ||
        flow->all[target].start != trace->from) {
        translation->records->counters.left_out += trace->count;
        return BAT_OK;
    }
    struct position at = {.flow = flow,
                          .trace = trace,
                          .parent = from.function,
                          .block = source,
                          .owner = flow->all[source].owner};
    uint64_t offset = from.offset;
    if (at.owner != BAT_NONE && block_of(flow, offset) != at.owner)
        offset = flow->blocks[at.owner].input_offset;
    return enter(translation, &at, target, true, offset, trace->mispredictions);
}

enum bat_code translation_flow_run(struct translation *translation, uint32_t function,
                                   uint64_t from, const struct trace *trace)
{
    const struct bat_output_flow *flow;
    enum bat_code code = flow_of(translation, function, &flow);
    if (code != BAT_OK || from >= trace->to)
        return code;
    struct position at = {.flow = flow,
                          .trace = trace,
                          .parent = translation_parent(translation, function),
                          .block = bat_output_flow_at(flow, from)};
    if (at.block == BAT_NONE)
        return BAT_OK;
    at.owner = flow->all[at.block].owner;
    while (at.block + 1 < flow->count && flow->all[at.block + 1].start <= trace->to &&
           code == BAT_OK) {
        if (!flow->all[at.block].falls_through) {
            translation->records->counters.left_out += trace->count;
            return BAT_OK;
        }
        uint64_t source = at.owner == BAT_NONE ? 0 : flow->blocks[at.owner].input_offset;
        code = enter(translation, &at, at.block + 1, false, source, 0);
    }
    return code;
}
