/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Remaps one trace of the BOLTed binary: finds the input's runs and branches along it, node by
 * node, and hands them on as pieces.
 */
#include "bat_decoder.h"
#include "to_input.h"

/* --- Places in the output --------------------------------------------------------------------- */

/* An address in an output function whose input function is known. */
struct spot {
    uint64_t address;              /* in the output */
    uint64_t input;                /* in the input */
    uint32_t output;               /* the output function */
    uint32_t table;                /* its table, or BAT_NONE */
    const struct input_node *node; /* the last one at or below address; NULL without a table */
};

static const struct bat_map *map_of(const struct input_move *move)
{
    return move->original->binary->map;
}

/* Fill spot->input by the note alone. */
static bool find_input(const struct input_move *move, struct spot *spot)
{
    struct bat_original_place place;
    if (!bat_original_input_of_again(move->original, move->walks, spot->address, false, &place))
        return false;
    spot->input = place.address;
    return true;
}

/* Fill the spot of an output address; *found is false if its input address is not known. */
static enum bat_code find_spot(struct input_move *move, uint64_t address, struct spot *spot,
                               bool *found)
{
    const struct bat_original *original = move->original;
    uint32_t output = bat_functions_find(original->output_functions, address);
    *found = output != BAT_NONE && original->input_of[output] != BAT_NONE;
    if (!*found)
        return BAT_OK;
    *spot =
        (struct spot){.address = address, .output = output, .table = original->table_of[output]};
    if (spot->table != BAT_NONE && input_is_by_note(move, spot->table))
        spot->table = BAT_NONE;
    if (spot->table == BAT_NONE) {
        *found = find_input(move, spot);
        return BAT_OK;
    }
    enum bat_code code = input_follow_node(&move->follow, spot->table, address, &spot->node);
    *found = code == BAT_OK && spot->node && spot->node->state.at != 0;
    if (!*found) {
        move->sights.lost_in = map_of(move)->tables[spot->table].parent;
        return code;
    }
    if (spot->node->address != address) {
        *found = find_input(move, spot);
        return BAT_OK;
    }
    spot->input = spot->node->state.at;
    return input_follow_ways(&move->follow, spot->table, spot->node);
}

static bool same_function(const struct input_move *move, const struct spot *left,
                          const struct spot *right)
{
    return move->original->input_of[left->output] == move->original->input_of[right->output];
}

/* True if a branch may be a return: it is one, or its kind is not known. */
static bool may_return(const struct input_move *move, uint64_t branch)
{
    if (branch >= BAT_TRACE_EXTERNAL_RETURN || branch == BAT_ADDRESS_EXTERNAL)
        return branch == BAT_TRACE_EXTERNAL_RETURN || branch == BAT_ADDRESS_EXTERNAL;
    struct bat_instruction instruction;
    return !bat_original_decode(move->original->binary->elf, branch, &instruction) ||
           instruction.kind == BAT_INSTRUCTION_RETURN;
}

/* The node of the call that returns to a spot, or NULL. */
static const struct input_node *call_before(const struct spot *spot)
{
    const struct input_node *node = spot->node;
    if (!node || node->address != spot->address)
        return NULL;
    const struct input_node *call = node - 1;
    bool is_first = spot->address == 0 || node->is_first;
    return !is_first && bat_kind_is_call(call->kind) &&
                   call->address + call->length == spot->address
               ? call
               : NULL;
}

/* --- Sights ----------------------------------------------------------------------------------- */

/* Count what a trace, or a part of it, ran through; then start anew. */
static void count_sights(struct input_move *move, uint64_t count)
{
    const struct input_sights *sights = &move->sights;
    struct bat_to_input_counters *counters = &move->counters;
    counters->promoted += sights->is_promoted ? count : 0;
    counters->inlined += sights->is_inlined ? count : 0;
    counters->unfollowed += sights->is_cut ? count : 0;
    counters->left_out += sights->is_unsourced ? count : 0;
    counters->misfits += sights->is_cut || sights->is_unsourced ? count : 0;
    input_explain(move, count);
    move->sights = input_no_sights();
}

/* A jump of the input from or to another function, along one trace, is of inlined code. */
static void look_at_jump(struct input_move *move, const struct input_jump *jump)
{
    const struct bat_function_symbol *function = move->function;
    if (jump->from - function->address >= bat_function_extent(function) ||
        jump->to - function->address >= bat_function_extent(function))
        move->sights.is_inlined = true;
}

static void look_at_node(struct input_move *move, const struct input_node *node)
{
    move->sights.is_promoted |= node->is_promotion;
    move->sights.is_inlined |= node->state.frame != INPUT_ROOT_FRAME;
    move->sights.is_unlisted |= node->is_unlisted;
}

/* --- Runs ------------------------------------------------------------------------------------- */

/* Count a piece that the trace has besides its last one, and the branch that follows it. */
static void count_made(struct input_move *move, const struct input_piece *piece, uint64_t branch)
{
    struct bat_balances *balances = &move->counters.balances;
    balances->runs.made += piece->to == BAT_TRACE_BRANCH_ONLY ? 0 : piece->count;
    balances->branches.made += branch < BAT_TRACE_EXTERNAL_RETURN ? piece->count : 0;
}

/* End the run at a jump of the input and start the next one behind it. */
static enum bat_code cut(struct input_move *move, struct input_piece *piece,
                         const struct input_jump *jump)
{
    struct input_piece ended = *piece;
    ended.to = piece->from == BAT_ADDRESS_EXTERNAL ? BAT_TRACE_BRANCH_ONLY : jump->from;
    count_made(move, &ended, jump->from);
    enum bat_code code = input_joins_add(&move->joins, &ended);
    piece->branch = jump->from;
    piece->from = jump->to;
    piece->mispredictions = 0;
    piece->start_join = BAT_NONE;
    return code;
}

/* End the run at `last` and start another at goal: the input's code has no path between them. */
static enum bat_code lose_way(struct input_move *move, struct input_piece *piece, uint64_t last,
                              uint64_t goal)
{
    struct input_piece ended = *piece;
    ended.to = last < piece->from ? piece->from : last;
    move->sights.is_cut = true;
    count_made(move, &ended, BAT_TRACE_FALLTHROUGH_ONLY);
    enum bat_code code = input_joins_add(&move->joins, &ended);
    piece->branch = BAT_TRACE_FALLTHROUGH_ONLY;
    piece->from = goal;
    piece->mispredictions = 0;
    piece->start_join = BAT_NONE;
    return code;
}

/* Follow a path of the input from `last` to goal. */
static enum bat_code go(struct input_move *move, struct input_piece *piece,
                        const struct input_path *path, uint64_t last, uint64_t goal)
{
    enum bat_code code = BAT_OK;
    if (!path->found)
        return lose_way(move, piece, last, goal);
    for (uint32_t i = 0; i < path->jump_count && code == BAT_OK; i++) {
        look_at_jump(move, &path->jumps[i]);
        code = cut(move, piece, &path->jumps[i]);
    }
    return code;
}

/* --- Branches --------------------------------------------------------------------------------- */

/* The input's path of a branch inside the function; NULL for other instructions. */
static const struct input_path *way_of(const struct spot *spot)
{
    const struct input_node *node = spot->node;
    bool is_branch = node && node->address == spot->address && node->target_node != BAT_NONE;
    return is_branch ? node->taken_path : NULL;
}

static bool is_join(const struct input_path *path)
{
    return path && path->found && path->jump_count == 0;
}

static enum bat_code find_join(struct input_move *move, const struct spot *spot, uint32_t *join)
{
    const struct input_node *node = spot->node;
    const struct input_node *target = input_follow_target(&move->follow, spot->table, node);
    return input_joins_find(&move->joins, spot->address, target->state.at, node->taken_path->last,
                            join);
}

/*
 * Find the join of a jump of BOLT's to the code of another function (f.cold), where the input is
 * already; BAT_NONE for other instructions.
 */
static enum bat_code find_bridge(struct input_move *move, const struct spot *spot, uint32_t *join)
{
    const struct input_node *node = spot->node;
    struct spot to;
    bool found;
    *join = BAT_NONE;
    if (!node || node->address != spot->address || node->kind != BAT_INSTRUCTION_JUMP ||
        node->target_node != BAT_NONE || node->source != 0 || node->tail_call != 0)
        return BAT_OK;
    enum bat_code code = find_spot(move, node->target, &to, &found);
    return code == BAT_OK && found && to.input == node->state.at
               ? input_joins_find(&move->joins, spot->address, to.input, 0, join)
               : code;
}

/* The input's instruction for a branch of the output; where BOLT made it, where the input is. */
static uint64_t source_of(const struct spot *spot)
{
    const struct input_node *node = spot->node;
    if (!node || node->address != spot->address)
        return spot->input;
    if (node->tail_call)
        return node->tail_call;
    return node->source ? node->source : node->taken.at;
}

/* The path to the jump that a conditional tail call stands for; NULL for other instructions. */
static const struct input_path *way_to_tail_call(const struct spot *spot)
{
    const struct input_node *node = spot->node;
    return node && node->address == spot->address && node->tail_call ? node->taken_path : NULL;
}

enum bat_code input_move_source(struct input_move *move, uint64_t address, uint64_t *source)
{
    struct spot spot;
    bool found;
    enum bat_code code = find_spot(move, address, &spot, &found);
    *source = found ? source_of(&spot) : BAT_ADDRESS_EXTERNAL;
    return code;
}

enum bat_code input_move_call(struct input_move *move, uint64_t address, uint64_t *call,
                              uint32_t *frame)
{
    struct spot spot;
    bool found;
    struct bat_instruction instruction;
    *call = BAT_ADDRESS_EXTERNAL;
    *frame = INPUT_ROOT_FRAME;
    enum bat_code code = find_spot(move, address, &spot, &found);
    if (code != BAT_OK || !found)
        return code;
    const struct input_node *node = spot.node;
    *call = spot.input;
    if (!node || !bat_kind_is_call(node->kind) || address - node->address >= node->length)
        return BAT_OK;
    *frame = node->taken.frame;
    *call = BAT_TRACE_FALLTHROUGH_ONLY;
    if (node->source != 0 && bat_original_decode(move->original->elf, node->source, &instruction) &&
        bat_kind_is_call(instruction.kind))
        *call = node->source + instruction.length - 1;
    return BAT_OK;
}

/* --- The start of a trace --------------------------------------------------------------------- */

/* Forget a piece's branch: only its run is in the input. *branches and *mispredictions count it. */
static void drop_branch(struct input_piece *piece, uint64_t *branches, uint64_t *mispredictions)
{
    *branches += input_has_branch(piece) ? piece->count : 0;
    *mispredictions += piece->mispredictions;
    piece->branch = BAT_TRACE_FALLTHROUGH_ONLY;
    piece->mispredictions = 0;
}

/* The branch before the run is not known: the code could not be followed. */
static void lose_branch(struct input_move *move, struct input_piece *piece)
{
    struct bat_balances *balances = &move->counters.balances;
    move->sights.is_unsourced = true;
    drop_branch(piece, &balances->branches.left_out, &balances->mispredictions.left_out);
}

/*
 * Start a piece with a branch that is a fall-through in the input. If it is the input's conditional
 * branch, swapped, its mispredictions are those of the way where the input does not branch.
 */
static enum bat_code begin_joined(struct input_move *move, const struct spot *source,
                                  struct input_piece *piece)
{
    const struct input_node *node = source->node;
    struct bat_balances *balances = &move->counters.balances;
    struct input_piece falls = {.branch = node->source,
                                .from = node->taken.at,
                                .to = BAT_TRACE_BRANCH_ONLY,
                                .mispredictions = piece->mispredictions,
                                .start_join = BAT_NONE,
                                .end_join = BAT_NONE};
    enum bat_code code = find_join(move, source, &piece->start_join);
    if (node->kind == BAT_INSTRUCTION_CONDITIONAL && node->source != 0) {
        piece->mispredictions = 0;
        code = code == BAT_OK ? input_joins_add(&move->joins, &falls) : code;
    }
    drop_branch(piece, &balances->branches.joined, &balances->mispredictions.left_out);
    return code;
}

/* Start a piece with a branch inside the function. */
static enum bat_code begin_inside(struct input_move *move, const struct spot *source,
                                  const struct input_path *path, struct input_piece *piece)
{
    if (!path->found) {
        lose_branch(move, piece);
        return BAT_OK;
    }
    if (path->jump_count == 0)
        return begin_joined(move, source, piece);
    piece->branch = path->jumps[0].from;
    piece->from = path->jumps[0].to;
    for (uint32_t i = 1; i < path->jump_count; i++)
        BAT_TRY(cut(move, piece, &path->jumps[i]));
    return BAT_OK;
}

/* Add the runs of the input between a conditional branch and the tail call that it leads to. */
static enum bat_code begin_with_tail_call(struct input_move *move, const struct spot *source,
                                          struct input_piece *piece)
{
    const struct input_path *path = way_to_tail_call(source);
    if (!path || !path->found || path->jump_count == 0)
        return BAT_OK;
    struct input_piece before = *piece;
    before.branch = path->jumps[0].from;
    before.from = path->jumps[0].to;
    piece->mispredictions = 0;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 1; i < path->jump_count && code == BAT_OK; i++)
        code = cut(move, &before, &path->jumps[i]);
    before.to = source->node->tail_call;
    count_made(move, &before, piece->branch);
    return code ? code : input_joins_add(&move->joins, &before);
}

/*
 * True if the input's instruction for a branch of the output can go to the input address `to`: a
 * direct branch only to its target, or out of its function (to one that BOLT may have folded).
 */
static bool can_go(const struct input_move *move, const struct spot *spot, uint64_t to)
{
    struct bat_instruction instruction;
    if (spot->table == BAT_NONE)
        return true;
    if (!bat_original_decode(move->original->elf, source_of(spot), &instruction))
        return false;
    uint32_t here = bat_functions_find(move->original->input_functions, source_of(spot));
    if (bat_kind_is_branch(instruction.kind) && instruction.target != to)
        return bat_functions_find(move->original->input_functions, instruction.target) != here;
    return instruction.kind != BAT_INSTRUCTION_OTHER && instruction.kind != BAT_INSTRUCTION_NOP;
}

/* Fill piece->from: where the input is when the run starts. */
static void find_start(const struct input_move *move, const struct spot *from, enum input_way way,
                       struct input_piece *piece)
{
    const struct input_node *call = way == INPUT_WAY_RETURNS ? call_before(from) : NULL;
    piece->from = from->input;
    if (call && call->fall.at != 0)
        piece->from = call->fall.at;
    else if (way == INPUT_WAY_ENTERS)
        piece->from = move->original->inputs[move->original->input_of[from->output]].address;
}

/*
 * True if the input's direct branch names the very place where the output arrives: at an output
 * function's start that is not the input function's, because BOLT has removed what is before it.
 */
static bool names_place(const struct input_move *move, const struct spot *source,
                        const struct spot *from)
{
    struct bat_instruction instruction;
    return bat_original_decode(move->original->elf, source_of(source), &instruction) &&
           bat_kind_has_target(instruction.kind) && instruction.target == from->input;
}

/*
 * True if a trace returns to the call before its run. What comes from outside to a block that the
 * call's own code does not lead to is an exception, as behind a call that never returns.
 */
static bool returns(struct input_move *move, const struct input_piece *trace,
                    const struct spot *from)
{
    const struct input_node *call = call_before(from);
    const bool is_exception =
        call && trace->branch == BAT_ADDRESS_EXTERNAL && call[1].is_fixed &&
        (!call->fall_path->found || input_flow_never_returns(&move->follow.flow, call->source));
    return call && !is_exception && may_return(move, trace->branch);
}

/* How a trace arrives at the start of its run. The ways of a call before it are known. */
static enum input_way way_to(struct input_move *move, const struct input_piece *trace,
                             const struct spot *source, bool has_source, const struct spot *from)
{
    bool is_start = from->table < map_of(move)->hot_count && from->node &&
                    from->address == move->original->outputs[from->output].address;
    bool is_inner = has_source && same_function(move, source, from) && source->node &&
                    !bat_kind_is_call(source->node->kind);
    if (returns(move, trace, from))
        return INPUT_WAY_RETURNS;
    if (is_start && !is_inner && trace->branch != BAT_TRACE_FALLTHROUGH_ONLY &&
        !(has_source && names_place(move, source, from)))
        return INPUT_WAY_ENTERS;
    return INPUT_WAY_PLAIN;
}

/* Start a piece behind a bridge; *is_bridged is false for other branches. */
static enum bat_code begin_bridged(struct input_move *move, const struct spot *source,
                                   const struct spot *from, struct input_piece *piece,
                                   bool *is_bridged)
{
    uint32_t join = BAT_NONE;
    enum bat_code code = BAT_OK;
    if (source->node && source->node->target == from->address)
        code = find_bridge(move, source, &join);
    *is_bridged = join != BAT_NONE;
    if (!*is_bridged || code != BAT_OK)
        return code;
    piece->from = from->input;
    piece->start_join = join;
    drop_branch(piece, &move->counters.balances.branches.joined,
                &move->counters.balances.mispredictions.left_out);
    return BAT_OK;
}

/* True if an indirect jump leads to a block that BOLT made on its way: the input is still at it. */
static bool is_silent(const struct spot *source, const struct spot *from)
{
    return source->node && source->node->address == source->address &&
           source->node->kind == BAT_INSTRUCTION_INDIRECT_JUMP && from->node &&
           from->node->address == from->address && from->node->is_late &&
           from->node->state.at == source->node->source;
}

/* Fill branch and from of the first piece, and *from, the spot where the walk starts. */
static enum bat_code begin(struct input_move *move, const struct input_piece *trace,
                           struct input_piece *piece, struct spot *from, bool *has_from,
                           enum input_way *way)
{
    *piece = *trace;
    piece->from = BAT_ADDRESS_EXTERNAL;
    *way = INPUT_WAY_PLAIN;
    struct spot source = {.node = NULL};
    bool is_constant = trace->branch >= BAT_TRACE_EXTERNAL_RETURN;
    bool has_source = false;
    enum bat_code code = find_spot(move, trace->from, from, has_from);
    if (code == BAT_OK && !is_constant)
        code = find_spot(move, trace->branch, &source, &has_source);
    const struct input_node *call = code == BAT_OK && *has_from ? call_before(from) : NULL;
    if (call)
        code = input_follow_ways(&move->follow, from->table, call);
    if (code != BAT_OK)
        return code;
    if (*has_from) {
        *way = way_to(move, trace, &source, has_source, from);
        find_start(move, from, *way, piece);
    }
    if (is_constant)
        return BAT_OK;
    piece->branch = has_source ? source_of(&source) : BAT_ADDRESS_EXTERNAL;
    if (has_source && source.table != BAT_NONE)
        move->sights.branch_in = map_of(move)->tables[source.table].parent;
    const struct input_path *path = has_source ? way_of(&source) : NULL;
    if (*has_from && path && source.node->target == trace->from)
        return begin_inside(move, &source, path, piece);
    bool is_bridged = false;
    if (*has_from && has_source)
        code = begin_bridged(move, &source, from, piece, &is_bridged);
    if (code != BAT_OK || is_bridged)
        return code;
    if (*has_from && is_silent(&source, from)) {
        drop_branch(piece, &move->counters.balances.branches.joined,
                    &move->counters.balances.mispredictions.left_out);
        piece->from = BAT_ADDRESS_EXTERNAL; /* The run before it has the jump already. */
        return BAT_OK;
    }
    if (has_source && !can_go(move, &source, piece->from)) {
        lose_branch(move, piece);
        return BAT_OK;
    }
    return has_source ? begin_with_tail_call(move, &source, piece) : BAT_OK;
}

/* --- Through the nodes ------------------------------------------------------------------------ */

/* Follow the input to the first node. */
static enum bat_code go_to_first(struct input_move *move, const struct spot *from,
                                 enum input_way way, struct input_piece *piece)
{
    const struct input_node *call = way == INPUT_WAY_RETURNS ? call_before(from) : NULL;
    BAT_TRY(call ? input_follow_ways(&move->follow, from->table, call) : BAT_OK);
    if (call && call->fall.at != 0)
        return go(move, piece, call->fall_path, call->fall.at, from->node->state.at);
    if (way == INPUT_WAY_ENTERS && from->node->address == from->address)
        return go(move, piece, from->node->enter_path, piece->from, from->node->state.at);
    return BAT_OK;
}

/* Runs through more nodes are long. */
#define SHORT_RUN 16u

/*
 * Follow the nodes up to a spot. *is_over is set if the run has to end before, because long runs
 * have gone through too many nodes.
 */
static enum bat_code walk(struct input_move *move, const struct spot *from, const struct spot *spot,
                          struct input_piece *piece, bool *is_over)
{
    const struct input_node *node = from->node;
    const uint64_t to = spot->address;
    enum bat_code code = BAT_OK;
    *is_over = false;
    for (uint32_t passed = 0; code == BAT_OK; passed++) {
        if (passed >= SHORT_RUN)
            code = input_follow_plain(&move->follow, from->table, &node, spot->node);
        *is_over = passed >= SHORT_RUN && move->nodes_left == 0;
        move->counters.limited += *is_over;
        if (*is_over)
            break;
        move->nodes_left -= passed >= SHORT_RUN;
        look_at_node(move, node);
        code = code ? code : input_follow_ways(&move->follow, from->table, node);
        if (code == BAT_OK && node->kind != BAT_INSTRUCTION_OTHER)
            code = go(move, piece, node->before, node->state.at,
                      node->source ? node->source : node->taken.at);
        if (code != BAT_OK || node->address == to || !node->falls || node[1].address > to)
            break;
        code = go(move, piece, node->fall_path, node->source ? node->source : node->state.at,
                  node[1].state.at);
        node++;
    }
    return code;
}

/* --- The end of a trace ----------------------------------------------------------------------- */

static enum bat_code end_piece(struct input_move *move, const struct spot *to,
                               struct input_piece *piece)
{
    enum bat_code code = BAT_OK;
    const struct input_path *path = way_of(to);
    const struct input_path *tail = way_to_tail_call(to);
    piece->to = source_of(to);
    if (tail && tail->found && tail->jump_count != 0)
        piece->to = tail->jumps[0].from;
    if (is_join(path))
        code = find_join(move, to, &piece->end_join);
    else if (path && path->found)
        piece->to = path->jumps[0].from;
    else if (!path)
        code = find_bridge(move, to, &piece->end_join);
    return code ? code : input_joins_add(&move->joins, piece);
}

/* An invalid run: its ends are in different functions or in the wrong order. Its branch counts. */
static enum bat_code end_invalid(struct input_move *move, struct input_piece *piece)
{
    move->sights.is_cut = true;
    move->counters.balances.runs.invalid += piece->count;
    piece->to = BAT_TRACE_BRANCH_ONLY;
    return input_joins_add(&move->joins, piece);
}

/* Follow a trace from its start to its end. */
static enum bat_code go_on(struct input_move *move, uint64_t end, const struct spot *from,
                           enum input_way way, struct input_piece *piece)
{
    struct spot to;
    bool found;
    bool is_over = false;
    BAT_TRY(find_spot(move, end, &to, &found));
    if (!found || to.output != from->output || to.address < from->address)
        return end_invalid(move, piece);
    if (from->table == BAT_NONE) {
        piece->to = to.input;
        return input_joins_add(&move->joins, piece);
    }
    if (!from->node)
        return end_invalid(move, piece);
    move->sights.run_in = map_of(move)->tables[from->table].parent;
    move->function = &move->original->inputs[move->original->input_of[from->output]];
    BAT_TRY(go_to_first(move, from, way, piece));
    BAT_TRY(walk(move, from, &to, piece, &is_over));
    if (!is_over)
        return end_piece(move, &to, piece);
    move->sights.run_in = BAT_NONE; /* It was not looked at. */
    return end_invalid(move, piece);
}

static struct input_start start_of(const struct input_piece *piece, enum input_way way)
{
    return (struct input_start){.branch = piece->branch,
                                .from = piece->from,
                                .way = (uint8_t)way,
                                .start_join = piece->start_join,
                                .count = piece->count};
}

/* A branch without a run. Runs from the same address in other records may start where it leads. */
static enum bat_code end_alone(struct input_move *move, const struct input_piece *trace,
                               const struct spot *from, bool has_from, enum input_way way,
                               struct input_piece *piece)
{
    piece->to = BAT_TRACE_BRANCH_ONLY;
    if (has_from &&
        (piece->from != from->input || way != INPUT_WAY_PLAIN || piece->start_join != BAT_NONE)) {
        struct input_start start = start_of(piece, way);
        start.branch = BAT_TRACE_FALLTHROUGH_ONLY;
        BAT_TRY(input_starts_add(&move->starts, trace->from, &start));
    }
    return input_joins_add(&move->joins, piece);
}

/* Add the pieces of a trace from the first one on. */
static enum bat_code finish(struct input_move *move, const struct input_piece *trace,
                            const struct spot *from, bool has_from, enum input_way way,
                            struct input_piece *piece)
{
    if (trace->to == BAT_ADDRESS_EXTERNAL) {
        piece->to = trace->to;
        return input_joins_add(&move->joins, piece);
    }
    if (trace->to != BAT_TRACE_BRANCH_ONLY && !has_from)
        move->counters.balances.runs.outside += piece->count;
    if (trace->to == BAT_TRACE_BRANCH_ONLY || !has_from)
        return end_alone(move, trace, from, has_from, way, piece);
    return go_on(move, trace->to, from, way, piece);
}

/* Remap the part of a trace that has its start from another record. */
static enum bat_code move_part(struct input_move *move, const struct input_piece *trace,
                               const struct input_start *start)
{
    struct spot from;
    bool found = false;
    enum bat_code code = find_spot(move, trace->from, &from, &found);
    if (!found || code != BAT_OK)
        return code;
    struct input_piece part = *trace;
    part.branch = start->branch;
    part.from = start->from;
    part.count = start->count;
    part.mispredictions = 0;
    part.start_join = start->start_join;
    code = finish(move, trace, &from, true, start->way, &part);
    count_sights(move, part.count);
    return code;
}

/* Remap the parts of a trace whose starts other records tell; *rest is what is left. */
static enum bat_code move_parts(struct input_move *move, const struct input_piece *trace,
                                struct input_piece *rest)
{
    struct input_start start;
    enum bat_code code = BAT_OK;
    *rest = *trace;
    while (code == BAT_OK && trace->branch == BAT_TRACE_FALLTHROUGH_ONLY && rest->count != 0 &&
           input_starts_take(&move->starts, trace->from, rest->count, &start)) {
        rest->count -= start.count;
        code = move_part(move, trace, &start);
    }
    return code;
}

/* The frame where a run starts. */
static uint32_t frame_of(const struct spot *from, enum input_way way)
{
    const struct input_node *call = way == INPUT_WAY_RETURNS ? call_before(from) : NULL;
    if (call && call->fall.at != 0)
        return call->fall.frame;
    const bool is_at_node = from->node && from->node->address == from->address;
    return is_at_node && way != INPUT_WAY_ENTERS ? from->node->state.frame : INPUT_ROOT_FRAME;
}

/* Remap a trace. has_own_branch is false if its branch is moved by itself (by_note.c). */
static enum bat_code move_whole(struct input_move *move, const struct input_piece *trace,
                                bool has_own_branch)
{
    struct input_piece rest;
    struct input_piece piece;
    struct spot from;
    bool has_from;
    enum input_way way;
    enum bat_code code = move_parts(move, trace, &rest);
    move->counters.moved += trace->count - rest.count;
    if (code != BAT_OK || (rest.count == 0 && rest.mispredictions == 0))
        return code;
    BAT_TRY(begin(move, &rest, &piece, &from, &has_from, &way));
    if (!has_own_branch && input_has_branch(&piece))
        piece.branch = BAT_TRACE_FALLTHROUGH_ONLY;
    if (move->joins.trail)
        move->joins.trail->frame = has_from ? frame_of(&from, way) : INPUT_ROOT_FRAME;
    bool has_branch = piece.branch != BAT_ADDRESS_EXTERNAL && input_has_branch(&piece);
    if (!has_from && !has_branch) {
        move->counters.external += rest.count;
        input_count_outside(&move->counters.balances, &piece);
        count_sights(move, rest.count);
        piece.to = trace->to == BAT_TRACE_BRANCH_ONLY ? trace->to : BAT_ADDRESS_EXTERNAL;
        return move->joins.trail ? input_joins_add(&move->joins, &piece) : BAT_OK;
    }
    move->counters.moved += rest.count;
    if (trace->branch >= BAT_TRACE_EXTERNAL_RETURN && trace->branch != BAT_TRACE_FALLTHROUGH_ONLY) {
        struct input_start start = start_of(&piece, way);
        start.branch = BAT_TRACE_FALLTHROUGH_ONLY;
        input_starts_remove(&move->starts, trace->from, &start);
    }
    code = finish(move, &rest, &from, has_from, way, &piece);
    count_sights(move, rest.count);
    return code;
}

enum bat_code input_move_trace(struct input_move *move, const struct input_piece *trace)
{
    struct input_piece rest = *trace;
    enum input_rest kind = INPUT_REST_ALL;
    enum bat_code code = move->by_note ? input_by_note_keep(move, trace, &rest, &kind) : BAT_OK;
    if (code != BAT_OK || kind == INPUT_REST_NOTHING)
        return code;
    return move_whole(move, &rest, kind != INPUT_REST_RUN);
}
