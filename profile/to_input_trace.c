/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One trace of the BOLTed layout becomes runs of the input's. */
#include "bat_decoder.h"
#include "to_input.h"

/* --- Places in the output --------------------------------------------------------------------- */

/* A place in the code of an output function whose input function is known. */
struct spot {
    uint64_t address; /* in the output */
    uint64_t input;   /* in the input */
    uint32_t output;  /* function */
    uint32_t table;   /* of the function, or BAT_NONE */
    uint32_t block;   /* position of the block's entry; BAT_NONE without a table */
};

static const struct bat_map *map_of(const struct input_move *move)
{
    return move->original->binary->map;
}

static uint64_t offset_in(const struct input_move *move, const struct spot *spot)
{
    return spot->address - move->original->outputs[spot->output].address;
}

static uint64_t input_start(const struct input_move *move, uint32_t output)
{
    return move->original->inputs[move->original->input_of[output]].address;
}

/* The input address of an entry. */
static uint64_t input_of_entry(const struct input_move *move, uint32_t output, uint32_t entry)
{
    return input_start(move, output) + (map_of(move)->input_offsets[entry] >> 1);
}

static bool is_branch_entry(const struct bat_map *map, uint32_t entry)
{
    return (map->input_offsets[entry] & BAT_BRANCH_ENTRY) != 0;
}

/* The last block entry at or below an offset, or BAT_NONE. */
static uint32_t find_block(const struct bat_map *map, uint32_t table, uint64_t offset)
{
    uint32_t entry = bat_original_entry(map, table, offset);
    uint32_t first = map->functions[table].first_entry;
    while (entry != BAT_NONE && is_branch_entry(map, entry))
        entry = entry == first ? BAT_NONE : entry - 1;
    return entry;
}

/* The place of an output address; false if it is in no function with an input function. */
static bool find_spot(const struct input_move *move, uint64_t address, struct spot *spot)
{
    const struct bat_original *original = move->original;
    uint32_t output = bat_functions_find(original->output_functions, address);
    struct bat_original_place place;
    if (output == BAT_NONE || !bat_original_find(original, address, false, &place))
        return false;
    *spot = (struct spot){.address = address,
                          .input = place.address,
                          .output = output,
                          .table = original->table_of[output],
                          .block = BAT_NONE};
    if (spot->table != BAT_NONE)
        spot->block = find_block(map_of(move), spot->table, offset_in(move, spot));
    return true;
}

static uint32_t hot_table(const struct input_move *move, const struct spot *spot)
{
    return map_of(move)->functions[spot->table].parent;
}

/*
 * A function's first block may have no code in the output, which then starts with another one: who
 * comes from outside, at the function's start, has come to the first all the same.
 */
static void enter_function(const struct input_move *move, struct spot *spot)
{
    const struct bat_map *map = map_of(move);
    if (spot->block == BAT_NONE || offset_in(move, spot) != 0 || spot->table >= map->hot_count)
        return;
    uint32_t first = map->functions[spot->table].first_entry;
    if (is_branch_entry(map, first))
        return;
    spot->block = first;
    spot->input = input_of_entry(move, spot->output, first);
}

/* The branch or call that BAT knows at exactly this place, or BAT_NONE. */
static uint32_t exact_branch(const struct input_move *move, const struct spot *spot)
{
    const struct bat_map *map = map_of(move);
    uint64_t offset = offset_in(move, spot);
    uint32_t entry = bat_original_entry(map, spot->table, offset);
    bool is_exact =
        entry != BAT_NONE && is_branch_entry(map, entry) && map->output_offsets[entry] == offset;
    return is_exact ? entry : BAT_NONE;
}

static bool same_function(const struct input_move *move, const struct spot *left,
                          const struct spot *right)
{
    return move->original->input_of[left->output] == move->original->input_of[right->output];
}

static bool is_call(const struct bat_instruction *instruction)
{
    return instruction->kind == BAT_INSTRUCTION_CALL ||
           instruction->kind == BAT_INSTRUCTION_INDIRECT_CALL;
}

static bool is_direct(const struct bat_instruction *instruction)
{
    return instruction->kind == BAT_INSTRUCTION_JUMP ||
           instruction->kind == BAT_INSTRUCTION_CONDITIONAL;
}

/* The entry of a call that ends where the spot is, or BAT_NONE. */
static uint32_t call_before(const struct input_move *move, const struct spot *spot)
{
    const struct bat_original *original = move->original;
    const struct bat_map *map = map_of(move);
    uint64_t offset = offset_in(move, spot);
    if (spot->table == BAT_NONE || offset == 0)
        return BAT_NONE;
    /* A call at a block's start has the block's entry, and none of its own. */
    uint32_t entry = bat_original_entry(map, spot->table, offset - 1);
    if (entry == BAT_NONE)
        return BAT_NONE;
    uint64_t call = original->outputs[spot->output].address + map->output_offsets[entry];
    struct bat_instruction instruction;
    bool ends_here = bat_original_decode(original->binary->elf, call, &instruction) &&
                     is_call(&instruction) && call + instruction.length == spot->address;
    return ends_here ? entry : BAT_NONE;
}

/*
 * True if a jump stands here that BOLT has put inside a block for branches that do not reach far
 * enough. *target is where it goes.
 */
static bool is_trampoline(const struct input_move *move, const struct spot *spot, uint64_t *target)
{
    struct bat_instruction instruction;
    if (spot->block == BAT_NONE || exact_branch(move, spot) != BAT_NONE ||
        map_of(move)->output_offsets[spot->block] == offset_in(move, spot) ||
        !bat_original_decode(move->original->binary->elf, spot->address, &instruction) ||
        instruction.kind != BAT_INSTRUCTION_JUMP)
        return false;
    *target = instruction.target;
    return true;
}

/* --- Branches --------------------------------------------------------------------------------- */

#define MOST_TRAMPOLINES 4u

/* What a branch of the output is in the input. */
struct branch {
    uint64_t source;               /* where it stands; what ran before ends here, unless joined */
    const struct input_path *path; /* of a direct branch in code with a table: its way; or NULL */
    bool goes_to_target;           /* a direct branch that is the same in the input: without path */
    struct spot target;            /* of a direct branch, behind jumps that BOLT has put between */
    uint64_t jump;                 /* the output's instruction that goes to the target */
};

/*
 * True if the input's instruction at source goes to target itself. A conditional tail call stands
 * for a branch to a jump, whose address BAT gives it: that is not it.
 */
static bool goes_to(const struct input_move *move, uint64_t source, uint8_t kind, uint64_t target)
{
    struct bat_instruction instruction;
    return bat_original_decode(move->original->elf, source, &instruction) &&
           instruction.kind == kind && instruction.target == target;
}

static enum bat_code resolve_path(struct input_move *move, const struct spot *spot,
                                  const struct bat_instruction *instruction, struct branch *branch)
{
    struct spot to;
    uint64_t target = instruction->target;
    if (spot->block == BAT_NONE || !find_spot(move, target, &to))
        return BAT_OK;
    for (uint32_t i = 0; i < MOST_TRAMPOLINES && is_trampoline(move, &to, &target); i++) {
        branch->jump = to.address;
        if (!find_spot(move, target, &to))
            return BAT_OK;
    }
    if (!same_function(move, spot, &to))
        enter_function(move, &to);
    uint32_t exact = exact_branch(move, spot);
    branch->target = to;
    branch->goes_to_target =
        exact != BAT_NONE && goes_to(move, branch->source, instruction->kind, to.input);
    if (branch->goes_to_target)
        return BAT_OK;
    const struct input_path *path;
    enum bat_code code =
        input_flow_path(&move->flow, hot_table(move, spot),
                        input_of_entry(move, spot->output, spot->block), to.input, &path);
    branch->path = code == BAT_OK && path->found ? path : NULL;
    return code;
}

static enum bat_code resolve_branch(struct input_move *move, const struct spot *spot,
                                    struct branch *branch)
{
    *branch = (struct branch){.source = spot->input, .jump = spot->address};
    if (spot->table == BAT_NONE)
        return BAT_OK;
    uint32_t exact = exact_branch(move, spot);
    if (exact != BAT_NONE)
        branch->source = input_of_entry(move, spot->output, exact);
    struct bat_instruction instruction;
    if (!bat_original_decode(move->original->binary->elf, spot->address, &instruction) ||
        !is_direct(&instruction))
        return BAT_OK;
    return resolve_path(move, spot, &instruction, branch);
}

static bool is_join(const struct branch *branch)
{
    return branch->path && branch->path->jump_count == 0;
}

static enum bat_code find_join(struct input_move *move, const struct spot *spot,
                               const struct branch *branch, uint32_t *join)
{
    return input_joins_find(&move->joins, spot->address, branch->target.input, branch->path->last,
                            join);
}

uint64_t input_move_source(const struct input_move *move, uint64_t address)
{
    struct spot spot;
    if (!find_spot(move, address, &spot))
        return BAT_ADDRESS_EXTERNAL;
    uint32_t exact = spot.table == BAT_NONE ? BAT_NONE : exact_branch(move, &spot);
    return exact == BAT_NONE ? spot.input : input_of_entry(move, spot.output, exact);
}

/* --- The beginning ---------------------------------------------------------------------------- */

/* End the run at `to` and begin the next one behind a jump of the input. */
static enum bat_code cut(struct input_move *move, struct input_piece *piece,
                         const struct input_jump *jump)
{
    struct input_piece ended = *piece;
    ended.to = jump->from;
    enum bat_code code = input_joins_add(&move->joins, &ended);
    piece->branch = jump->from;
    piece->from = jump->to;
    piece->mispredictions = 0;
    piece->start_join = BAT_NONE;
    return code;
}

/* Begin with a branch that the path's jumps stand for. */
static enum bat_code begin_with_path(struct input_move *move, const struct spot *source,
                                     const struct branch *branch, struct input_piece *piece)
{
    const struct input_path *path = branch->path;
    if (is_join(branch)) {
        piece->from = branch->target.input;
        return find_join(move, source, branch, &piece->start_join);
    }
    piece->branch = path->jumps[0].from;
    piece->from = path->jumps[0].to;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 1; i < path->jump_count && code == BAT_OK; i++)
        code = cut(move, piece, &path->jumps[i]);
    return code;
}

/*
 * A trace that begins where a call returns to: if that is a block's start in the output, it need
 * not be what follows the call in the input. Moves *spot into the call's block if it is a return.
 */
static enum bat_code find_call(struct input_move *move, struct spot *spot)
{
    uint32_t entry = call_before(move, spot);
    if (entry == BAT_NONE)
        return BAT_OK;
    uint64_t input = input_of_entry(move, spot->output, entry);
    struct bat_instruction instruction;
    if (!bat_original_decode(move->original->elf, input, &instruction) || !is_call(&instruction))
        return BAT_OK;
    uint32_t block = find_block(map_of(move), spot->table, offset_in(move, spot) - 1);
    uint64_t returned = input + instruction.length;
    const struct input_path *path = NULL;
    enum bat_code code = BAT_OK;
    if (block != BAT_NONE && block != spot->block && returned != spot->input)
        code = input_flow_path(&move->flow, hot_table(move, spot),
                               input_of_entry(move, spot->output, block), spot->input, &path);
    if (code != BAT_OK || (path && !path->found) || block == BAT_NONE)
        return code;
    spot->block = block;
    spot->input = returned;
    return BAT_OK;
}

static bool is_call_at(const struct input_move *move, const struct spot *spot)
{
    struct bat_instruction instruction;
    return bat_original_decode(move->original->binary->elf, spot->address, &instruction) &&
           is_call(&instruction);
}

/* True if a branch may be a return: it is one, or it is not known what it is. */
static bool may_return(const struct input_move *move, uint64_t branch)
{
    if (branch >= BAT_TRACE_EXTERNAL_RETURN || branch == BAT_ADDRESS_EXTERNAL)
        return branch == BAT_TRACE_EXTERNAL_RETURN || branch == BAT_ADDRESS_EXTERNAL;
    struct bat_instruction instruction;
    return !bat_original_decode(move->original->binary->elf, branch, &instruction) ||
           instruction.kind == BAT_INSTRUCTION_RETURN;
}

/* Fill branch and from of the first piece, and *from, where the walk begins. */
static enum bat_code begin(struct input_move *move, const struct input_piece *trace,
                           struct input_piece *piece, struct spot *from, bool *has_from)
{
    *piece = *trace;
    piece->from = BAT_ADDRESS_EXTERNAL;
    enum bat_code code = BAT_OK;
    *has_from = find_spot(move, trace->from, from);
    struct spot source;
    bool is_constant = trace->branch >= BAT_TRACE_EXTERNAL_RETURN;
    bool has_source = !is_constant && find_spot(move, trace->branch, &source);
    if (*has_from && may_return(move, trace->branch))
        code = find_call(move, from);
    if (*has_from && trace->branch != BAT_TRACE_FALLTHROUGH_ONLY &&
        !(has_source && same_function(move, &source, from) && !is_call_at(move, &source)))
        enter_function(move, from);
    if (*has_from)
        piece->from = from->input;
    if (code != BAT_OK || is_constant)
        return code;
    if (!has_source) {
        piece->branch = BAT_ADDRESS_EXTERNAL;
        return BAT_OK;
    }
    struct branch branch;
    code = resolve_branch(move, &source, &branch);
    if (code != BAT_OK)
        return code;
    piece->branch = branch.source;
    if (*has_from && branch.path && branch.target.input == from->input)
        return begin_with_path(move, &source, &branch, piece);
    return BAT_OK;
}

/* --- On through the blocks ----------------------------------------------------------------------
 */

/* A step from one block of the output to the one that follows. */
static enum bat_code step(struct input_move *move, const struct spot *from, uint32_t block,
                          uint32_t next, struct input_piece *piece)
{
    uint64_t start = input_of_entry(move, from->output, block);
    uint64_t goal = input_of_entry(move, from->output, next);
    const struct input_path *path;
    enum bat_code code = input_flow_path(&move->flow, hot_table(move, from), start, goal, &path);
    if (code != BAT_OK)
        return code;
    /* A path is only good until the next one is asked for, which cutting does not. */
    for (uint32_t i = 0; i < path->jump_count && code == BAT_OK; i++)
        code = cut(move, piece, &path->jumps[i]);
    if (path->found || code != BAT_OK)
        return code;
    move->counters.unfollowed += piece->count;
    struct input_piece ended = *piece;
    ended.to = start < piece->from ? piece->from : start;
    code = input_joins_add(&move->joins, &ended);
    piece->branch = BAT_TRACE_FALLTHROUGH_ONLY;
    piece->from = goal;
    piece->mispredictions = 0;
    piece->start_join = BAT_NONE;
    return code;
}

/* Go through the blocks up to the one that holds `to`; those without code leave no trace. */
static enum bat_code walk(struct input_move *move, const struct spot *from, const struct spot *to,
                          struct input_piece *piece)
{
    const struct bat_map *map = map_of(move);
    uint32_t block = from->block;
    enum bat_code code = BAT_OK;
    for (uint32_t next = block + 1; next <= to->block && code == BAT_OK; next++) {
        if (is_branch_entry(map, next))
            continue;
        uint32_t end = next + 1;
        while (end <= to->block && is_branch_entry(map, end))
            end++;
        bool is_live = next == to->block || end > to->block ||
                       map->output_offsets[end] != map->output_offsets[next];
        if (!is_live)
            continue;
        code = step(move, from, block, next, piece);
        block = next;
    }
    return code;
}

/* --- The end ------------------------------------------------------------------------------------
 */

static enum bat_code end_piece(struct input_move *move, const struct spot *to,
                               struct input_piece *piece)
{
    struct branch branch;
    enum bat_code code = resolve_branch(move, to, &branch);
    if (code != BAT_OK)
        return code;
    piece->to = branch.source;
    if (is_join(&branch))
        code = find_join(move, to, &branch, &piece->end_join);
    else if (branch.path)
        piece->to = branch.path->jumps[0].from;
    return code == BAT_OK ? input_joins_add(&move->joins, piece) : code;
}

/* A run that is none: its ends are not in one function, or in the wrong order. */
static enum bat_code end_invalid(struct input_move *move, struct input_piece *piece)
{
    move->counters.unfollowed += piece->count;
    piece->to = BAT_TRACE_BRANCH_ONLY;
    return input_joins_add(&move->joins, piece);
}

/*
 * True for a trace that is nothing but a trampoline: what follows it tells of the branch that came
 * to it.
 */
static bool is_in_between(const struct input_move *move, const struct input_piece *trace)
{
    struct spot from;
    uint64_t ignored;
    if ((trace->to != trace->from && trace->to != BAT_TRACE_BRANCH_ONLY) ||
        may_return(move, trace->branch) || !find_spot(move, trace->from, &from) ||
        !is_trampoline(move, &from, &ignored))
        return false;
    /* Calls may return to such a jump, too: where the run is alone, it may be such a return's. */
    return trace->branch < BAT_TRACE_EXTERNAL_RETURN || call_before(move, &from) == BAT_NONE;
}

/* A trace whose beginning is known: on to its end. */
static enum bat_code go_on(struct input_move *move, uint64_t end, const struct spot *from,
                           struct input_piece *piece)
{
    struct spot to;
    if (!find_spot(move, end, &to) || to.output != from->output || to.address < from->address)
        return end_invalid(move, piece);
    if (from->table == BAT_NONE) {
        piece->to = to.input;
        return input_joins_add(&move->joins, piece);
    }
    if (from->block == BAT_NONE || to.block == BAT_NONE)
        return end_invalid(move, piece);
    enum bat_code code = walk(move, from, &to, piece);
    return code == BAT_OK ? end_piece(move, &to, piece) : code;
}

static struct input_start start_of(const struct spot *from, const struct input_piece *piece)
{
    return (struct input_start){.branch = piece->branch,
                                .from = piece->from,
                                .block = from->block,
                                .start_join = piece->start_join,
                                .count = piece->count};
}

/* A branch alone: what it says of the runs that come as records of their own. */
static enum bat_code end_alone(struct input_move *move, const struct input_piece *trace,
                               const struct spot *from, bool has_from, struct input_piece *piece)
{
    struct spot plain;
    piece->to = BAT_TRACE_BRANCH_ONLY;
    if (has_from && find_spot(move, trace->from, &plain) &&
        (piece->from != plain.input || piece->start_join != BAT_NONE)) {
        struct input_start start = start_of(from, piece);
        start.branch = BAT_TRACE_FALLTHROUGH_ONLY;
        enum bat_code code = input_starts_add(&move->starts, trace->from, &start);
        if (code != BAT_OK)
            return code;
    }
    return input_joins_add(&move->joins, piece);
}

/* From the first piece to the end of the trace. */
static enum bat_code finish(struct input_move *move, const struct input_piece *trace,
                            const struct spot *from, bool has_from, struct input_piece *piece)
{
    if (trace->to == BAT_ADDRESS_EXTERNAL) {
        piece->to = trace->to;
        return input_joins_add(&move->joins, piece);
    }
    if (trace->to == BAT_TRACE_BRANCH_ONLY || !has_from)
        return end_alone(move, trace, from, has_from, piece);
    return go_on(move, trace->to, from, piece);
}

/* The part of a trace that begins at another start than the trace alone would. */
static enum bat_code move_part(struct input_move *move, const struct input_piece *trace,
                               const struct input_start *start)
{
    struct spot from;
    if (start->from == BAT_ADDRESS_EXTERNAL || !find_spot(move, trace->from, &from))
        return BAT_OK;
    struct input_piece part = *trace;
    part.branch = start->branch;
    part.from = start->from;
    part.count = start->count;
    part.mispredictions = 0;
    part.start_join = start->start_join;
    from.block = start->block;
    return finish(move, trace, &from, true, &part);
}

/* Move those parts of a trace for which other records tell where they begin; *rest is the rest. */
static enum bat_code move_parts(struct input_move *move, const struct input_piece *trace,
                                struct input_piece *rest)
{
    bool has_branch = trace->branch != BAT_TRACE_FALLTHROUGH_ONLY;
    struct input_starts *starts = has_branch ? &move->detours : &move->starts;
    uint64_t key = has_branch ? trace->branch : trace->from;
    struct input_start start;
    enum bat_code code = BAT_OK;
    *rest = *trace;
    while (code == BAT_OK && rest->count != 0 &&
           input_starts_take(starts, key, rest->count, &start)) {
        rest->count -= start.count;
        code = move_part(move, trace, &start);
    }
    if (rest->mispredictions > rest->count)
        rest->mispredictions = rest->count;
    return code;
}

enum bat_code input_note_detour(struct input_move *move, const struct input_piece *trace)
{
    struct spot source;
    struct branch branch;
    if (trace->branch >= BAT_TRACE_EXTERNAL_RETURN || !is_in_between(move, trace) ||
        !find_spot(move, trace->branch, &source))
        return BAT_OK;
    enum bat_code code = resolve_branch(move, &source, &branch);
    if (code != BAT_OK || (!branch.path && !branch.goes_to_target))
        return code;
    struct input_piece piece = *trace;
    piece.branch = branch.source;
    piece.from = branch.target.input;
    if (branch.path)
        code = begin_with_path(move, &source, &branch, &piece);
    const struct input_start start = start_of(&branch.target, &piece);
    if (code == BAT_OK)
        code = input_starts_add(&move->detours, branch.jump, &start);
    const struct input_start none = {.block = BAT_NONE, .count = trace->count};
    if (code == BAT_OK && trace->to == BAT_TRACE_BRANCH_ONLY)
        code = input_starts_add(&move->starts, trace->from, &none);
    return code;
}

enum bat_code input_move_trace(struct input_move *move, const struct input_piece *trace)
{
    struct input_piece rest;
    struct input_piece piece;
    struct spot from;
    bool has_from;
    if (is_in_between(move, trace)) {
        move->counters.moved += trace->count;
        return BAT_OK;
    }
    enum bat_code code = move_parts(move, trace, &rest);
    move->counters.moved += trace->count - rest.count;
    if (code != BAT_OK || rest.count == 0)
        return code;
    code = begin(move, &rest, &piece, &from, &has_from);
    if (code != BAT_OK)
        return code;
    bool has_branch =
        piece.branch != BAT_ADDRESS_EXTERNAL && piece.branch < BAT_TRACE_EXTERNAL_RETURN;
    if (!has_from && !has_branch) {
        move->counters.external += rest.count;
        return BAT_OK;
    }
    move->counters.moved += rest.count;
    if (trace->branch >= BAT_TRACE_EXTERNAL_RETURN && trace->branch != BAT_TRACE_FALLTHROUGH_ONLY) {
        struct input_start start = start_of(&from, &piece);
        start.branch = BAT_TRACE_FALLTHROUGH_ONLY;
        input_starts_remove(&move->starts, trace->from, &start);
    }
    return finish(move, &rest, &from, has_from, &piece);
}
