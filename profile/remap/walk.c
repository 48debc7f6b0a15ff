/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Walks through the input's code to the next deciding instruction (walk.h). */
#include "walk.h"

#define MOST_STEPS 65536u /* instructions between two branches of the output */

static bool add_jump(struct input_walk *walk, struct input_state to)
{
    const struct input_jump jump = {walk->state.at, to.at};
    if (!input_draft_append(&walk->function->flow->paths, &walk->path, jump))
        walk->code = BAT_ERR_MEMORY;
    walk->state = to;
    return walk->code == BAT_OK;
}

/* Pass a call that leaves the binary and comes back: BOLT has replaced it by other code. */
static bool pass_outside(struct input_walk *walk, uint64_t leaves, uint64_t next)
{
    struct input_state plt = {walk->instruction.target, walk->state.frame};
    if (!add_jump(walk, plt))
        return false;
    walk->state.at = leaves;
    return add_jump(walk, (struct input_state){BAT_ADDRESS_EXTERNAL, walk->state.frame}) &&
           add_jump(walk, (struct input_state){next, walk->state.frame});
}

/*
 * At a call of the input: true if it is the output's instruction, or if the walk cannot go on.
 * Otherwise BOLT has inlined or replaced it: go through the called function, or past the call. An
 * indirect call of the output may be the input's call of a PLT entry, which BOLT makes indirect.
 */
static bool stops_at_call(struct input_walk *walk)
{
    const struct input_node *node = walk->node;
    struct input_flow *flow = walk->function->flow;
    uint64_t next = walk->state.at + walk->instruction.length;
    bool has_code = input_flow_has_code(flow, walk->instruction.target);
    if (walk->is_probe ||
        (node->kind == BAT_INSTRUCTION_INDIRECT_CALL && !has_code &&
         input_flow_may_replace(flow, node->address, walk->instruction.target)) ||
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

/* At a jump of the input: one to another function is a tail call, which BOLT may have inlined. */
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
    } else {
        frame = input_flow_frame_behind(flow, frame, walk->state.at, target,
                                        walk->function->input_start, walk->function->input_end);
    }
    return walk->code != BAT_OK || frame == BAT_NONE ||
           !add_jump(walk, (struct input_state){target, frame});
}

/* Pass one instruction of the input; true if it is the deciding one. */
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

/* Pass straight code, up to a block where the walk may end. False if it has no known end. */
static bool pass_straight_code(struct input_walk *walk)
{
    const struct input_followed *function = walk->function;
    uint64_t start = walk->state.at;
    uint64_t limit = walk->is_lazy && walk->state.frame == INPUT_ROOT_FRAME
                         ? input_flow_next_block(function->flow, function->hot, start + 1)
                         : UINT64_MAX;
    if (limit - start <= INPUT_RUN_PAYS)
        return true;
    struct input_run run;
    bool has_end = input_flow_run(function->flow, start, limit, &run);
    if (has_end && run.end <= limit)
        walk->state.at = run.end;
    return has_end || limit != UINT64_MAX;
}

static bool ends_at_block(const struct input_walk *walk)
{
    return walk->is_lazy && walk->state.frame == INPUT_ROOT_FRAME &&
           input_flow_is_block(walk->function->flow, walk->function->hot, walk->state.at);
}

/* Where a walk was, to find out that it goes round in a circle. */
struct walk_mark {
    struct input_state state;
    uint32_t steps;
};

/* True if a walk is again at the mark; the mark moves on now and then. */
static bool is_circle(const struct input_walk *walk, uint32_t steps, struct walk_mark *mark)
{
    if (input_is_same_state(walk->state, mark->state))
        return true;
    if (steps / 2 > mark->steps)
        *mark = (struct walk_mark){walk->state, steps};
    return false;
}

void input_walk_on(struct input_walk *walk)
{
    struct input_flow *flow = walk->function->flow;
    const uint32_t most = input_flow_most_steps(flow, MOST_STEPS);
    struct walk_mark mark = {.steps = INPUT_SHORT_WALK};
    uint32_t steps = 0;
    bool is_new = true; /* behind a jump or call, or at the beginning */
    for (; steps < most; steps++) {
        walk->path.found = steps != 0 && ends_at_block(walk);
        uint64_t before = walk->state.at;
        if (walk->path.found ||
            (is_new && (is_circle(walk, steps, &mark) || !pass_straight_code(walk))))
            break;
        is_new = false;
        if (walk->state.at != before)
            continue;
        if (!input_flow_decode(flow, walk->state.at, &walk->instruction))
            break;
        is_new = input_kind_changes_flow(walk->instruction.kind);
        if (stops(walk)) {
            walk->path.found = walk->code == BAT_OK;
            break;
        }
    }
    input_flow_spend(flow, steps, most);
}
