/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Finds the instruction of the input that a node of the output is, and where the input goes on from
 * there (followed_function.h): by the note's entry for it, or by a walk through the input's code.
 */
#include "followed_function.h"

#include "binary/code/conditions.h"
#include "promotion.h"
#include "search.h"
#include "walk.h"

/* --- Branches and calls ----------------------------------------------------------------------- */

/*
 * The input's conditional branch leaves its function: a tail call. If the output goes on with its
 * inlined code from the node `next`, set *state to the called function, otherwise to the branch.
 */
static enum bat_code match_leaving(const struct input_followed *function,
                                   const struct input_walk *walk, const struct input_node *next,
                                   struct input_state *state, bool *jumps)
{
    uint64_t target = walk->instruction.target;
    uint32_t frame = walk->state.frame;
    uint64_t ignored;
    const bool is_own = frame == INPUT_ROOT_FRAME && input_is_inside(function, target);
    /* Inlined code's branch to a PLT entry has become a call. */
    const bool is_called =
        input_flow_has_code(function->flow, target) ||
        (frame != INPUT_ROOT_FRAME && input_flow_is_outside(function->flow, target, &ignored));
    if (is_own || !next || !is_called || input_shares_function(function, walk->state.at, target))
        return BAT_OK;
    *jumps = !input_calls_next(function, next, target);
    if (!*jumps)
        *state = walk->state;
    if (!*jumps || frame != INPUT_ROOT_FRAME)
        return BAT_OK;
    *state = walk->state;
    enum bat_code code = input_flow_enter(function->flow, frame, 0, &frame);
    if (frame != BAT_NONE)
        *state = (struct input_state){target, frame};
    return code;
}

static bool is_test(const struct input_followed *function, uint64_t address)
{
    struct bat_instruction test;
    return input_flow_decode(function->flow, address, &test) &&
           test.kind == BAT_INSTRUCTION_CONDITIONAL;
}

/* True if a conditional branch of the input is right before one, or where that leads. */
static bool is_beside_test(const struct input_followed *function, const struct input_walk *walk)
{
    const uint64_t address = walk->state.at;
    /* Conditional branches with 8 and with 32 bits of distance, and those of AArch64. */
    static const uint8_t lengths[] = {2, 6, 4};
    struct bat_instruction test;
    for (size_t i = 0; i < sizeof(lengths); i++)
        if (input_flow_decode(function->flow, address - lengths[i], &test) &&
            test.kind == BAT_INSTRUCTION_CONDITIONAL && test.length == lengths[i])
            return true;
    return is_test(function, address + walk->instruction.length) ||
           is_test(function, walk->instruction.target);
}

/*
 * True if a known pass may have made the output's instruction although the input has another one
 * here: one test of several on one comparison (-three-way-branch), a jump by a register (-plt, far
 * targets, or the reverse: retpolines), the jump that a conditional branch out of the function goes
 * by, the return behind what was a tail call (-inline-memcpy).
 */
static bool is_listed(const struct input_followed *function, const struct input_node *node,
                      const struct input_walk *walk)
{
    const uint8_t kind = walk->instruction.kind;
    uint64_t ignored;
    switch (node->kind) {
    case BAT_INSTRUCTION_CONDITIONAL:
        return kind == BAT_INSTRUCTION_CONDITIONAL && is_beside_test(function, walk);
    case BAT_INSTRUCTION_INDIRECT_JUMP:
        return kind == BAT_INSTRUCTION_JUMP;
    case BAT_INSTRUCTION_JUMP:
        return kind == BAT_INSTRUCTION_INDIRECT_JUMP ||
               (kind == BAT_INSTRUCTION_CONDITIONAL &&
                input_flow_calls_same(function->flow, node->target, walk->instruction.target));
    case BAT_INSTRUCTION_RETURN:
        return kind == BAT_INSTRUCTION_JUMP &&
               input_flow_is_outside(function->flow, walk->instruction.target, &ignored);
    default:
        return false;
    }
}

/*
 * A conditional branch of both binaries: the output's has the input's condition, the opposite one
 * (BOLT has swapped the successors), or another.
 */
static enum bat_code match_condition(const struct input_followed *function, struct input_node *node,
                                     const struct input_walk *walk)
{
    const struct bat_original *original = function->flow->original;
    struct input_state here = walk->state;
    const uint64_t target = walk->instruction.target;
    struct input_state goes = {target,
                               input_flow_frame_behind(function->flow, here.frame, here.at, target,
                                                       function->input_start, function->input_end)};
    struct input_state falls = {here.at + walk->instruction.length, here.frame};
    uint32_t output = condition_at(original->binary->elf, node->address);
    const struct bat_code_at *code = input_flow_code(function->flow, here.at);
    uint32_t input =
        code ? condition_in(bat_elf_machine(original->elf), code->bytes, code->instruction.length)
             : CONDITION_UNKNOWN;
    node->source = here.at;
    node->jump = here.at;
    if (output == input) {
        node->taken = goes;
        node->fall = falls;
        node->jumps_if_taken = true;
        return match_leaving(function, walk, input_nodes_target(function->nodes, node),
                             &node->taken, &node->jumps_if_taken);
    }
    if (output == CONDITION_OPPOSITE(input)) {
        node->taken = falls;
        node->fall = goes;
        node->jumps_if_not = true;
        return match_leaving(function, walk, node->falls ? node + 1 : NULL, &node->fall,
                             &node->jumps_if_not);
    }
    node->taken = here;
    node->fall = here;
    node->source = 0;
    node->is_unlisted = !is_listed(function, node, walk);
    return BAT_OK;
}

/* Where a call returns to; nowhere (0) if its function ends with it: other code follows. */
static struct input_state behind_call(const struct input_followed *function,
                                      const struct input_walk *walk)
{
    const struct bat_original *original = function->flow->original;
    const uint64_t next = walk->state.at + walk->instruction.length;
    const uint32_t input = bat_functions_find(original->input_functions, walk->state.at);
    const struct bat_function_symbol *symbol = input != BAT_NONE ? &original->inputs[input] : NULL;
    const bool is_last = symbol && next - symbol->address >= symbol->size;
    return (struct input_state){is_last ? 0 : next, walk->state.frame};
}

/* Fill the node once the deciding instruction of the input is known. */
static enum bat_code match(const struct input_followed *function, struct input_node *node,
                           const struct input_walk *walk)
{
    uint8_t kind = walk->instruction.kind;
    struct input_state here = walk->state;
    /* By default the instruction is BOLT's own: the input does nothing here. */
    node->taken = here;
    node->fall = here;
    node->is_promotion =
        node->kind == BAT_INSTRUCTION_CONDITIONAL &&
        (kind == BAT_INSTRUCTION_INDIRECT_CALL || kind == BAT_INSTRUCTION_INDIRECT_JUMP);
    if (bat_kind_is_call(node->kind) && bat_kind_is_call(kind)) {
        node->source = here.at;
        node->fall = behind_call(function, walk);
    } else if ((node->kind == BAT_INSTRUCTION_CALL && kind == BAT_INSTRUCTION_JUMP) ||
               (node->kind == BAT_INSTRUCTION_CALL && kind == BAT_INSTRUCTION_CONDITIONAL &&
                here.frame != INPUT_ROOT_FRAME &&
                input_flow_calls_same(function->flow, node->target, walk->instruction.target)) ||
               (bat_kind_is_call(node->kind) && kind == BAT_INSTRUCTION_INDIRECT_JUMP &&
                here.frame != INPUT_ROOT_FRAME)) {
        /* A tail call in inlined code: its callee returns to where the inlined code would. */
        const struct input_frame *frame = &function->flow->frames[here.frame];
        node->source = here.at;
        node->fall = (struct input_state){frame->returns_to, frame->caller};
    } else if (node->kind == BAT_INSTRUCTION_CONDITIONAL && kind == BAT_INSTRUCTION_CONDITIONAL) {
        return match_condition(function, node, walk);
    } else if (node->kind == kind) {
        node->source = here.at;
    } else {
        node->is_unlisted = !node->is_promotion && !is_listed(function, node, walk);
    }
    return BAT_OK;
}

/* --- Tail calls ------------------------------------------------------------------------------- */

/*
 * True for a conditional branch to another function whose entry in the note is a jump of the input:
 * the input branches to that jump (BOLT has simplified a conditional tail call).
 */
static bool is_conditional_tail_call(const struct input_followed *function,
                                     const struct input_node *node, uint64_t entry)
{
    struct bat_instruction instruction;
    return node->kind == BAT_INSTRUCTION_CONDITIONAL && entry != 0 &&
           node->target_node == BAT_NONE &&
           input_flow_decode(function->flow, entry, &instruction) &&
           instruction.kind == BAT_INSTRUCTION_JUMP;
}

/* True if the function's own code goes on in another function. */
static bool leaves_function(const struct input_followed *function, struct input_state state)
{
    return state.frame == INPUT_ROOT_FRAME && !input_is_inside(function, state.at);
}

/* True if the input's jump that a walk has found leaves its function, or goes to a start. */
static bool is_leaving(const struct input_followed *function, const struct input_walk *walk)
{
    const uint64_t target = walk->instruction.target;
    return !input_shares_function(function, walk->state.at, target) ||
           input_flow_has_code(function->flow, target);
}

/*
 * Where the input goes on if a conditional branch is taken: *state, in a frame of its own if that
 * is another function's code, which BOLT inlined (-inline-all). at is 0 if the output goes there,
 * too.
 */
static enum bat_code begin_tail_call(const struct input_followed *function,
                                     const struct input_node *node, struct input_state *state)
{
    *state = node->taken;
    if (!leaves_function(function, *state))
        return BAT_OK;
    uint32_t frame = BAT_NONE;
    enum bat_code code = BAT_OK;
    if (input_flow_has_code(function->flow, state->at) &&
        !input_flow_calls_same(function->flow, node->target, state->at))
        code = input_flow_enter(function->flow, state->frame, 0, &frame);
    *state = frame == BAT_NONE ? (struct input_state){0} : (struct input_state){state->at, frame};
    return code;
}

/* Find that jump where the note's entry is the conditional branch itself. */
static enum bat_code find_tail_call(const struct input_followed *function, struct input_node *node)
{
    const struct input_node jump = {.kind = BAT_INSTRUCTION_JUMP, .target = node->target};
    if (node->kind != BAT_INSTRUCTION_CONDITIONAL || node->source == 0 || node->tail_call != 0 ||
        node->target_node != BAT_NONE)
        return BAT_OK;
    struct input_state state;
    enum bat_code code = begin_tail_call(function, node, &state);
    if (code != BAT_OK || state.at == 0)
        return code;
    struct input_walk walk;
    input_walk_begin(&walk, function, &jump, state);
    input_walk_on(&walk);
    if (walk.path.found && walk.instruction.kind == BAT_INSTRUCTION_JUMP &&
        is_leaving(function, &walk) &&
        input_flow_calls_same(function->flow, node->target, walk.instruction.target)) {
        node->tail_call = walk.state.at;
        node->taken = state;
    }
    return walk.code;
}

/* --- Any node --------------------------------------------------------------------------------- */

/* A node that is the input's branch or call at its entry, as the note says. */
static enum bat_code match_entry(const struct input_followed *function, struct input_node *node)
{
    struct input_walk walk;
    input_walk_begin(&walk, function, node, node->state);
    node->is_entry = input_flow_decode(function->flow, node->entry, &walk.instruction);
    if (node->is_entry)
        walk.state = (struct input_state){node->entry, INPUT_ROOT_FRAME};
    else
        node->before = &input_path_unknown;
    return match(function, node, &walk);
}

/* A node whose instruction was searched by a walk. */
static enum bat_code match_walk(const struct input_followed *function, struct input_node *node,
                                struct input_walk *walk, bool is_known)
{
    if (walk->path.found || is_known)
        walk->code = match(function, node, walk);
    if (walk->code == BAT_OK && walk->path.found && node->is_promotion)
        walk->code = input_promotion_follow(function, node, walk);
    walk->path.last = 0;
    return walk->code == BAT_OK
               ? input_paths_keep(&function->flow->paths, &walk->path, &node->before)
               : walk->code;
}

static enum bat_code match_by_walk(const struct input_followed *function, struct input_node *node,
                                   bool is_known)
{
    struct input_walk walk;
    input_walk_begin(&walk, function, node, node->state);
    input_walk_on(&walk);
    return walk.code == BAT_OK ? match_walk(function, node, &walk, is_known) : walk.code;
}

/*
 * True for a jump that BOLT made to another function's code, where the input's branch before it has
 * led already: BOLT has turned that branch round. If the note has an entry, it is that branch.
 */
static bool is_made_jump(const struct input_followed *function, const struct input_node *node)
{
    struct bat_instruction entry;
    const bool is_jump = input_flow_decode(function->flow, node->entry, &entry) &&
                         entry.kind == BAT_INSTRUCTION_JUMP;
    return node->kind == BAT_INSTRUCTION_JUMP && node->target_node == BAT_NONE && !is_jump &&
           leaves_function(function, node->state) &&
           input_flow_calls_same(function->flow, node->target, node->state.at);
}

enum bat_code input_match(const struct input_followed *function, struct input_node *node)
{
    node->taken = node->state;
    node->fall = node->state;
    node->before = &input_path_empty;
    input_paths_drop_drafts(&function->flow->paths);
    bool is_inner_jump = node->kind == BAT_INSTRUCTION_JUMP && node->target_node != BAT_NONE;
    if (!input_kind_changes_flow(node->kind) || is_inner_jump || is_made_jump(function, node))
        return BAT_OK;
    uint64_t entry = node->entry;
    if (is_conditional_tail_call(function, node, entry)) {
        node->tail_call = entry;
        entry = 0;
    }
    enum bat_code code = entry != 0 && input_is_inside(function, entry)
                             ? match_entry(function, node)
                             : match_by_walk(function, node, entry != 0);
    return code ? code : find_tail_call(function, node);
}

/*
 * The search stops at blocks that the output has elsewhere. Where the input's code leads to the
 * entry without any decision, the output has a copy of them here (-tail-duplication).
 */
static enum bat_code walk_to_entry(const struct input_followed *function,
                                   const struct input_node *node, struct input_state entry,
                                   struct input_path_draft *path)
{
    struct input_walk walk;
    input_walk_begin(&walk, function, node, node->state);
    input_walk_on(&walk);
    if (walk.path.found && input_is_same_state(walk.state, entry))
        *path = walk.path;
    return walk.code;
}

/*
 * The node's state is at a test that another branch of the output has made (-three-way-branch), and
 * BOLT has changed the code behind it: find the one of its two ways that leads to the entry.
 */
static enum bat_code search_behind_test(const struct input_followed *function,
                                        const struct input_node *node, struct input_state entry,
                                        struct input_path_draft *path)
{
    struct input_flow *flow = function->flow;
    struct bat_instruction test;
    if (!input_flow_decode(flow, node->state.at, &test) || test.kind != BAT_INSTRUCTION_CONDITIONAL)
        return BAT_OK;
    const struct input_state goes = {test.target, node->state.frame};
    const struct input_state falls = {node->state.at + test.length, node->state.frame};
    struct input_path_draft taken;
    struct input_path_draft fallen;
    enum bat_code code = input_search(flow, function->hot, goes, entry, false, false, &taken);
    code = code ? code : input_search(flow, function->hot, falls, entry, false, false, &fallen);
    if (code != BAT_OK || taken.found == fallen.found)
        return code;
    if (taken.found)
        input_draft_prepend(&flow->paths, &taken, (struct input_jump){node->state.at, test.target});
    *path = taken.found ? taken : fallen;
    return BAT_OK;
}

/*
 * True if the input's code goes straight on from a node's state to its entry, without a block of
 * the note between: the most common way.
 */
static bool goes_straight(const struct input_followed *function, const struct input_node *node)
{
    const struct bat_elf *elf = function->flow->original->elf;
    const uint64_t start = node->state.at;
    uint64_t size;
    if (node->state.frame != INPUT_ROOT_FRAME || start > node->entry ||
        !input_is_inside(function, start))
        return false;
    if (start == node->entry)
        return true;
    if (input_flow_next_block(function->flow, function->hot, start + 1) < node->entry)
        return false;
    const uint8_t *bytes = bat_elf_at_address(elf, start, &size);
    return bytes && bat_instructions_skip_plain(bat_elf_machine(elf), bytes, (size_t)size) ==
                        node->entry - start;
}

enum bat_code input_match_before(const struct input_followed *function, struct input_node *node)
{
    if (!node->is_entry)
        return BAT_OK;
    node->before = &input_path_empty;
    if (goes_straight(function, node))
        return BAT_OK;
    struct input_state entry = {node->entry, INPUT_ROOT_FRAME};
    struct input_path_draft path;
    enum bat_code code =
        input_search(function->flow, function->hot, node->state, entry, false, false, &path);
    if (code == BAT_OK && !path.found)
        code = walk_to_entry(function, node, entry, &path);
    if (code == BAT_OK && !path.found)
        code = search_behind_test(function, node, entry, &path);
    path.last = 0;
    return code ? code : input_paths_keep(&function->flow->paths, &path, &node->before);
}
