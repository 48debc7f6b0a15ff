/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Makes the records of functions with a table, by the note and the output's code: only records that
 * llvm-bolt accepts as edges of the input. See spec/profiles.md 2, "Edges".
 */
#include <string.h>

#include "binary/original/original.h"
#include "flow_steps.h"
#include "spec/order.h"

enum bat_code flow_of(struct translation *translation, uint32_t function,
                      const struct bat_output_flow **flow)
{
    const struct bat_records *records = translation->records;
    const struct bat_map *map = translation_map(translation);
    return bat_records_flow(translation->records, bat_map_parent(map, records->tables[function]),
                            flow, translation->error);
}

void flow_leave_out(struct translation *translation, uint64_t count)
{
    translation->records->counters.left_out += count;
    translation->outcome |= OUTCOME_LEFT_OUT;
}

/* The input block that holds an input offset. */
static uint32_t block_of(const struct bat_output_flow *flow, uint64_t offset)
{
    return bat_block_at(flow->blocks, flow->block_count, offset);
}

/* The kind of the instruction at an address. */
static uint8_t kind_at(const struct translation *translation, uint64_t address)
{
    const struct bat_elf *elf = translation->records->binary->elf;
    struct bat_instruction instruction;
    return bat_original_decode(elf, address, &instruction) ? instruction.kind
                                                           : BAT_INSTRUCTION_OTHER;
}

/* The output offset of the table's last entry at or below an address, or BAT_NONE. */
static uint32_t entry_below(const struct translation *translation, uint32_t function,
                            uint64_t address)
{
    const struct bat_map *map = translation_map(translation);
    const struct bat_table *table = &map->tables[translation->records->tables[function]];
    const uint32_t *offsets = map->output_offsets + table->first_entry;
    uint64_t offset = address - table->address;
    uint32_t up_to = BAT_NUMBERS_UP_TO(offsets, table->entry_count, offset);
    return up_to == 0 ? BAT_NONE : offsets[up_to - 1];
}

/* True if the note has an entry for exactly this address. */
static bool has_entry(const struct translation *translation, uint32_t function, uint64_t address)
{
    uint64_t start = translation->records->symbols[function].address;
    return entry_below(translation, function, address) == address - start;
}

/* The pair of branches with exchanged targets (three_way.h) that the owner belongs to, or NULL. */
static const struct bat_three_way *pair_of(const struct position *at)
{
    const struct bat_output_flow *flow = at->flow;
    uint32_t pair = flow->pair_of ? flow->pair_of[at->owner] : BAT_NONE;
    return pair == BAT_NONE ? NULL : &flow->pairs[pair];
}

/* Which branch of a pair led to an input block before BOLT. */
static enum bat_three_way_place place_of(const struct bat_three_way *pair, uint32_t block)
{
    for (unsigned i = 0; i < BAT_OUTCOMES; i++)
        if (pair->targets[i] == block)
            return pair->places[i];
    return BAT_THREE_WAY_UNKNOWN;
}

/* Add the records of a way out of a pair: from its first block, through the second one or not. */
static enum bat_code add_exchanged(struct translation *translation, const struct position *at,
                                   const struct bat_three_way *pair, uint32_t next, uint64_t source,
                                   uint64_t mispredictions)
{
    /* The edge from the first to the second block is counted when control leaves the second. */
    translation->outcome |= OUTCOME_WITHIN;
    if (next == pair->second)
        return BAT_OK;
    const struct bat_block *blocks = at->flow->blocks;
    uint64_t first = at->owner == pair->first ? source : pair->branch;
    uint64_t second = blocks[pair->second].input_offset;
    uint64_t to = blocks[next].input_offset;
    uint64_t count = at->trace->count;
    enum bat_code code = BAT_OK;
    switch (place_of(pair, next)) {
    case BAT_THREE_WAY_FIRST:
        return translation_add_inside(translation, at->parent, first, to, count, mispredictions);
    case BAT_THREE_WAY_SECOND:
        code = translation_add_inside(translation, at->parent, first, second, count, 0);
        return code == BAT_OK ? translation_add_inside(translation, at->parent, second, to, count,
                                                       mispredictions)
                              : code;
    default:
        flow_leave_out(translation, count);
        return BAT_OK;
    }
}

/* Add a record from an offset in the owner to the input block next, which is the new owner. */
static enum bat_code add_edge(struct translation *translation, struct position *at, uint32_t next,
                              uint64_t source, uint64_t mispredictions)
{
    const struct bat_three_way *pair = pair_of(at);
    uint64_t offset = at->flow->blocks[next].input_offset;
    enum bat_code code = pair ? add_exchanged(translation, at, pair, next, source, mispredictions)
                              : translation_add_inside(translation, at->parent, source, offset,
                                                       at->trace->count, mispredictions);
    at->owner = next;
    return code;
}

/* Add records from an offset in the owner through the input blocks that begin at block `to`. */
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

/* Count a step that gives no record, once for all levels: in the innermost one. */
static void count_without_record(struct translation *translation, const struct position *at,
                                 bool is_within)
{
    if (at->is_innermost && !is_within)
        flow_leave_out(translation, at->trace->count);
    else if (at->is_innermost)
        translation->records->counters.within_blocks += at->trace->count;
    translation->outcome |= OUTCOME_WITHIN;
}

/*
 * Add the records for control entering the output block `to`: a fall-through enters all input
 * blocks that begin there, a branch (is_branch) the last one. source is the input offset of the
 * record's source.
 */
static enum bat_code enter(struct translation *translation, struct position *at, uint32_t to,
                           bool is_branch, uint64_t source, uint64_t mispredictions)
{
    const struct bat_output_flow *flow = at->flow;
    uint32_t from = at->block;
    at->block = to;
    uint32_t begins = bat_output_flow_through(flow, to);
    if (begins == BAT_NONE) {
        uint32_t owner = flow->all[to].owner;
        count_without_record(translation, at, owner == BAT_NONE || owner == at->owner);
        if (owner != BAT_NONE)
            at->owner = owner;
        return BAT_OK;
    }
    if (at->owner == BAT_NONE) {
        /* The way through code of several blocks was counted when control entered that code. */
        bool is_counted = bat_output_flow_through(flow, from) == begins;
        count_without_record(translation, at, is_counted);
        if (flow->all[to].begin_count != 0)
            at->owner = flow->all[to].owner;
        return BAT_OK;
    }
    const struct bat_output_block *block = &flow->all[begins];
    uint32_t first = is_branch || begins != to ? block->begin_count - 1 : 0;
    enum bat_code code = add_edges(translation, at, block, first, source, mispredictions);
    if (begins != to)
        at->owner = BAT_NONE; /* until control arrives there */
    return code;
}

/* Fill the levels of an output block: its function, and the calls that are inlined there. */
static void find_place(struct translation *translation, const struct position *outermost,
                       struct place_in_code *place)
{
    place->levels[0] = *outermost;
    place->levels[0].begins_block = true;
    for (place->count = 1; place->count < MOST_LEVELS; place->count++) {
        const struct position *outer = &place->levels[place->count - 1];
        const struct bat_output_copy *copy = bat_output_flow_copy(outer->flow, outer->block);
        if (!copy)
            break;
        const struct bat_output_inlined *call = &outer->flow->inlined[copy->inlined];
        uint64_t address = translation_map(translation)->tables[call->table].address;
        uint32_t function = translation_function(translation, address);
        if (function == BAT_NONE)
            break;
        translation_touch(translation, function, 0);
        place->levels[place->count] = (struct position){
            .flow = call->flow,
            .trace = outermost->trace,
            .parent = function,
            .call = copy->inlined,
            .block = copy->copied,
            .owner = call->flow->all[copy->copied].owner,
            .begins_block = outer->begins_block && copy->begins_copy,
        };
    }
    place->levels[place->count - 1].is_innermost = true;
}

/* The input offset of a record's source: the owner's start, or the branch at the block's end. */
static uint64_t source_of(const struct position *at, bool is_branch)
{
    if (at->owner == BAT_NONE)
        return 0;
    uint32_t branch = at->flow->all[at->block].branch;
    /* llvm-bolt ignores a record from a block's start to the same offset. */
    return is_branch && branch != BAT_NONE && block_of(at->flow, branch) == at->owner
               ? branch
               : at->flow->blocks[at->owner].input_offset;
}

/* Add calls of the inlined functions whose start control enters, from level `first` on. */
static enum bat_code enter_calls(struct translation *translation, const struct place_in_code *place,
                                 unsigned first)
{
    enum bat_code code = BAT_OK;
    for (unsigned i = first; i < place->count && code == BAT_OK; i++) {
        const struct position *at = &place->levels[i];
        if (!at->begins_block || at->owner == BAT_NONE ||
            at->flow->blocks[at->owner].input_offset != 0)
            continue;
        translation->records->counters.inlined_calls += at->trace->count;
        code = translation_add(translation, (struct place){.function = BAT_NONE},
                               (struct place){.function = at->parent}, at->trace->count, 0);
    }
    return code;
}

/* Add the records to the returns of inlined functions that control leaves: they have no code. */
static enum bat_code leave_calls(struct translation *translation, struct place_in_code *place,
                                 unsigned first, bool is_branch)
{
    enum bat_code code = BAT_OK;
    for (unsigned i = place->count; i-- > first && code == BAT_OK;) {
        struct position *at = &place->levels[i];
        uint32_t block = bat_output_flow_return(at->flow, at->block);
        if (block == BAT_NONE || at->owner == BAT_NONE)
            continue;
        at->is_innermost = false;
        code =
            enter(translation, at, block, is_branch, at->flow->blocks[at->owner].input_offset, 0);
    }
    return code;
}

/*
 * Follow control from a place to the output block `to`, on all levels that both have in common, and
 * out of and into the others. source is the input offset of the record's source on level 0.
 */
static enum bat_code go_on(struct translation *translation, struct place_in_code *place,
                           uint32_t to, bool is_branch, uint64_t source, uint64_t mispredictions)
{
    struct position outermost = place->levels[0];
    struct place_in_code next;
    outermost.block = to;
    find_place(translation, &outermost, &next);
    unsigned common = 1;
    while (common < place->count && common < next.count &&
           place->levels[common].call == next.levels[common].call)
        common++;
    enum bat_code code = leave_calls(translation, place, common, is_branch);
    for (unsigned i = 0; i < common && code == BAT_OK; i++) {
        struct position *at = &place->levels[i];
        at->is_innermost = i + 1 == common;
        if (i != 0)
            source = source_of(at, is_branch);
        if (next.levels[i].begins_block)
            code = enter(translation, at, next.levels[i].block, is_branch, source, mispredictions);
        else
            count_without_record(translation, at, true);
        next.levels[i].owner = at->owner;
    }
    code = code ? code : enter_calls(translation, &next, common);
    /* Most places have one level of the sixteen. */
    place->count = next.count;
    place->levels[0] = next.levels[0];
    if (next.count > 1)
        memcpy(place->levels + 1, next.levels + 1, (next.count - 1) * sizeof(next.levels[0]));
    return code;
}

/* The address of the callee's instruction that an inlined one is a copy of; 0 for others. */
static uint64_t origin_of(const struct bat_output_flow *flow, uint64_t address,
                          const struct bat_output_flow **callee)
{
    uint32_t block = bat_output_flow_at(flow, address);
    const struct bat_output_copy *copy =
        block == BAT_NONE ? NULL : bat_output_flow_copy(flow, block);
    if (!copy || !copy->origin)
        return 0;
    *callee = flow->inlined[copy->inlined].flow;
    return copy->origin + (address - flow->all[block].start);
}

/*
 * Replace *address by that of the instruction with an entry in the note: itself, or the one of an
 * inlined function that it is a copy of. *is_found is false if there is none.
 */
static enum bat_code find_entry(struct translation *translation, uint64_t *address, bool *is_found)
{
    uint32_t function = translation_function(translation, *address);
    *is_found = has_entry(translation, function, *address);
    if (*is_found)
        return BAT_OK;
    const struct bat_output_flow *flow;
    enum bat_code code = flow_of(translation, function, &flow);
    for (unsigned i = 0; i < MOST_LEVELS && code == BAT_OK && !*is_found; i++) {
        *address = origin_of(flow, *address, &flow);
        function = *address ? translation_function(translation, *address) : BAT_NONE;
        if (function == BAT_NONE || translation->records->tables[function] == BAT_NONE)
            break;
        *is_found = has_entry(translation, function, *address);
    }
    return code;
}

/* Add a call, or a jump to another function. Its source is unknown if the note has no entry. */
static enum bat_code add_transfer(struct translation *translation, const struct trace *trace,
                                  struct place from, struct place to)
{
    uint64_t branch = trace->branch;
    bool is_found;
    BAT_TRY(find_entry(translation, &branch, &is_found));
    if (is_found && branch != trace->branch) {
        from = translation_place(translation, branch, true);
        translation_touch(translation, from.function, 0);
    }
    if (!is_found) {
        translation->records->counters.unknown_callers += trace->count;
        from = (struct place){.function = BAT_NONE};
        translation->outcome |= OUTCOME_LEFT_OUT;
        if (to.function == BAT_NONE)
            return BAT_OK;
    }
    return translation_add(translation, from, to, trace->count, trace->mispredictions);
}

/* The source offset of a branch's record: by the note, or the start of the owner. */
static uint64_t branch_offset(const struct translation *translation, uint32_t function,
                              const struct position *at, struct place from, struct place to)
{
    if (at->owner == BAT_NONE)
        return from.offset;
    uint64_t start = translation->records->symbols[function].address;
    uint64_t branch = at->trace->branch;
    uint32_t entry = entry_below(translation, function, branch);
    /* Below the first entry the offset is the output's, not translated. */
    bool is_input = entry != BAT_NONE && block_of(at->flow, from.offset) == at->owner;
    /*
     * The record of a jump to the function's start must not start at a call: it would count as one.
     */
    bool is_as_call = to.offset == 0 && is_input && start + entry != branch &&
                      bat_kind_is_call(kind_at(translation, start + entry));
    return is_input && !is_as_call ? from.offset : at->flow->blocks[at->owner].input_offset;
}

enum bat_code translation_flow_branch(struct translation *translation, const struct trace *trace,
                                      struct place from, struct place to)
{
    uint8_t kind = kind_at(translation, trace->branch);
    if (from.function != to.function || bat_kind_is_call(kind))
        return add_transfer(translation, trace, from, to);

    uint32_t function = trace->in.branch;
    const struct bat_output_flow *flow;
    BAT_TRY(flow_of(translation, function, &flow));
    uint32_t source = bat_output_flow_at(flow, trace->branch);
    uint32_t target = translation_block_from(translation, flow, trace->from);
    if (source == BAT_NONE || target == BAT_NONE || kind == BAT_INSTRUCTION_OTHER ||
        flow->all[target].start != trace->from) {
        flow_leave_out(translation, trace->count);
        return BAT_OK;
    }
    struct position at = {.flow = flow,
                          .trace = trace,
                          .parent = from.function,
                          .block = source,
                          .owner = flow->all[source].owner};
    uint64_t offset = branch_offset(translation, function, &at, from, to);
    struct place_in_code place;
    find_place(translation, &at, &place);
    return go_on(translation, &place, target, true, offset, trace->mispredictions);
}

void flow_begin_at(struct translation *translation, uint32_t function,
                   const struct bat_output_flow *flow, uint32_t block, const struct trace *trace,
                   struct place_in_code *place)
{
    const struct position at = {.flow = flow,
                                .trace = trace,
                                .parent = translation_parent(translation, function),
                                .block = block,
                                .owner = flow->all[block].owner};
    find_place(translation, &at, place);
}

bool flow_is_as_begun(const struct place_in_code *place)
{
    for (unsigned i = 0; i < place->count; i++)
        if (place->levels[i].owner != place->levels[i].flow->all[place->levels[i].block].owner)
            return false;
    return true;
}

enum bat_code flow_fall_through(struct translation *translation, struct place_in_code *place,
                                uint32_t to)
{
    return go_on(translation, place, to, false, source_of(&place->levels[0], false), 0);
}

enum bat_code translation_flow_step(struct translation *translation, uint32_t function,
                                    uint32_t block, uint64_t count)
{
    const struct bat_output_flow *flow;
    const struct trace trace = {.count = count};
    struct place_in_code place;
    BAT_TRY(flow_of(translation, function, &flow));
    flow_begin_at(translation, function, flow, block, &trace, &place);
    return flow_fall_through(translation, &place, block + 1);
}
