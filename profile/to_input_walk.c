/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "to_input_walk.h"

#define MOST_STEPS 4096u /* instructions between two branches of the output */

static bool add_jump(struct input_walk *walk, struct input_state to)
{
    if (walk->path.jump_count == INPUT_PATH_JUMPS)
        return false;
    walk->path.jumps[walk->path.jump_count++] = (struct input_jump){walk->state.at, to.at};
    walk->state = to;
    return true;
}

/* A call that leaves the binary and comes back: BOLT has replaced it by code of its own. */
static bool pass_outside(struct input_walk *walk, uint64_t leaves, uint64_t next)
{
    struct input_state plt = {walk->instruction.target, walk->state.frame};
    if (walk->path.jump_count + 3 > INPUT_PATH_JUMPS || !add_jump(walk, plt))
        return false;
    walk->state.at = leaves;
    add_jump(walk, (struct input_state){BAT_ADDRESS_EXTERNAL, walk->state.frame});
    return add_jump(walk, (struct input_state){next, walk->state.frame});
}

/*
 * At a call of the input: true if it is what the output's instruction is, or nothing is known. An
 * indirect call may be that of a PLT entry; that of any other function comes after that is entered.
 */
static bool stops_at_call(struct input_walk *walk)
{
    const struct input_node *node = walk->node;
    struct input_flow *flow = walk->function->flow;
    uint64_t next = walk->state.at + walk->instruction.length;
    bool has_code = input_flow_has_code(flow, walk->instruction.target);
    if (walk->is_probe || (node->kind == BAT_INSTRUCTION_INDIRECT_CALL && !has_code) ||
        (node->kind == BAT_INSTRUCTION_CALL &&
         input_flow_calls_same(flow, node->target, walk->instruction.target)))
        return true;
    uint32_t frame = BAT_NONE;
    if (has_code)
        walk->code = input_flow_enter(flow, walk->state.frame, next, &frame);
    if (walk->code != BAT_OK)
        return true;
    uint64_t leaves;
    if (input_flow_is_outside(flow, walk->instruction.target, &leaves))
        return !pass_outside(walk, leaves, next);
    if (frame == BAT_NONE) {
        walk->state.at = next;
        return false;
    }
    return !add_jump(walk, (struct input_state){walk->instruction.target, frame});
}

static bool stops_at_return(struct input_walk *walk)
{
    const struct input_frame *frame = &walk->function->flow->frames[walk->state.frame];
    return frame->returns_to == 0 ||
           !add_jump(walk, (struct input_state){frame->returns_to, frame->caller});
}

/* A jump to another function is a tail call, which BOLT may have inlined. */
static bool stops_at_jump(struct input_walk *walk)
{
    uint64_t target = walk->instruction.target;
    uint32_t frame = walk->state.frame;
    struct input_flow *flow = walk->function->flow;
    if (!walk->is_probe &&
        (walk->node->kind == BAT_INSTRUCTION_JUMP || walk->node->kind == BAT_INSTRUCTION_CALL) &&
        input_flow_calls_same(walk->function->flow, walk->node->target, target))
        return true;
    if (frame == INPUT_ROOT_FRAME && !input_is_inside(walk->function, target)) {
        if (walk->is_probe || !input_flow_has_code(flow, target))
            return true;
        walk->code = input_flow_enter(flow, frame, 0, &frame);
    }
    return walk->code != BAT_OK || frame == BAT_NONE ||
           !add_jump(walk, (struct input_state){target, frame});
}

/* One instruction of the input; true if it decides. */
static bool stops(struct input_walk *walk)
{
    switch (walk->instruction.kind) {
    case BAT_INSTRUCTION_OTHER:
    case BAT_INSTRUCTION_NOP:
        walk->state.at += walk->instruction.length;
        return false;
    case BAT_INSTRUCTION_JUMP:
        return stops_at_jump(walk);
    case BAT_INSTRUCTION_CALL:
        return stops_at_call(walk);
    case BAT_INSTRUCTION_RETURN:
        return stops_at_return(walk);
    default:
        return true;
    }
}

void input_walk_on(struct input_walk *walk)
{
    for (uint32_t i = 0; i < MOST_STEPS; i++) {
        if (i != 0 && walk->is_lazy && walk->state.frame == INPUT_ROOT_FRAME &&
            input_flow_is_block(walk->function->flow, walk->function->hot, walk->state.at)) {
            walk->path.found = true;
            return;
        }
        if (!input_flow_decode(walk->function->flow, walk->state.at, &walk->instruction))
            return;
        uint32_t jumps = walk->path.jump_count;
        uint64_t at = walk->state.at;
        if (stops(walk)) {
            walk->path.found = walk->code == BAT_OK;
            return;
        }
        if (walk->path.jump_count == jumps)
            walk->path.last = at;
    }
}
