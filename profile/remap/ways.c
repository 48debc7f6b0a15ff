/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Fills the paths of a node (ways.h), by searches between known states. */
#include "ways.h"

#include "match.h"
#include "search.h"
#include "together.h"

/* The path from behind a node's instruction to another state, with the input's jump if jumps. */
static enum bat_code find_way(const struct input_followed *function, const struct input_node *node,
                              struct input_state from, bool jumps, struct input_state to,
                              const struct input_path **kept)
{
    struct input_path_draft path;
    struct input_flow *flow = function->flow;
    bool must_move =
        node->source == 0 && (node->kind == BAT_INSTRUCTION_JUMP
                                  ? node->is_early
                                  : !input_kind_changes_flow(node->kind) && !node->is_late);
    /* One test of a pair that BOLT has exchanged, or a jump behind it: the input may make both. */
    const bool is_made = node->source == 0 && !node->is_promotion;
    bool is_exchanged = is_made && node->kind == BAT_INSTRUCTION_CONDITIONAL;
    enum bat_code code =
        input_search(flow, function->hot, from, to, must_move, is_exchanged, &path);
    if (code == BAT_OK && must_move && !path.found)
        code = input_search(flow, function->hot, from, to, false, is_exchanged, &path);
    if (code == BAT_OK && is_made && node->kind == BAT_INSTRUCTION_JUMP && !path.found)
        code = input_search(flow, function->hot, from, to, false, true, &path);
    if (code == BAT_OK && jumps && path.found)
        input_draft_prepend(&flow->paths, &path, (struct input_jump){node->jump, from.at});
    else if (path.found && path.jump_count == 0 && from.at == to.at)
        path.last = node->source;
    return code ? code : input_paths_keep(&function->flow->paths, &path, kept);
}

/* True if the code of both binaries from a node on leads to the state of the next: fill the path.
 */
static bool goes_together(const struct input_followed *function, const struct input_node *node,
                          struct input_path_draft *path)
{
    struct input_state state = node->state;
    input_draft_begin(path);
    path->found = true;
    if (node->is_late || node->is_early || !input_step_together(function, node, &state, path))
        return false;
    if (!input_is_same_state(state, node[1].state))
        input_skip_silent(function, &state, path);
    return input_is_same_state(state, node[1].state);
}

/* Fill the path to the next node. */
static enum bat_code find_fall(const struct input_followed *function, struct input_node *node)
{
    node->fall_path = &input_path_unknown;
    if (!node->falls || !input_kind_goes_on(node->kind))
        return BAT_OK;
    struct input_path_draft path;
    const bool is_plain = !input_kind_changes_flow(node->kind);
    if (is_plain && !node[1].is_leader && !node[1].is_fixed &&
        input_is_same_state(node[1].state, node->state)) {
        node->fall_path = &input_path_empty;
        return BAT_OK;
    }
    if (is_plain && !node[1].is_fixed && goes_together(function, node, &path))
        return input_paths_keep(&function->flow->paths, &path, &node->fall_path);
    return find_way(function, node, node->fall, node->jumps_if_not, node[1].state,
                    &node->fall_path);
}

/* Fill the path to the branch target, or to the tail call that the branch stands for. */
static enum bat_code find_taken(const struct input_followed *function, struct input_node *node)
{
    const struct input_node *target = input_nodes_target(function->nodes, node);
    struct input_state goal = {node->tail_call, node->taken.frame};
    node->taken_path = &input_path_unknown;
    if (!node->tail_call && !target)
        return BAT_OK;
    if (!node->tail_call)
        goal = target->state;
    return find_way(function, node, node->taken, node->jumps_if_taken, goal, &node->taken_path);
}

/* Fill the path from the function's start. */
static enum bat_code find_enter(const struct input_followed *function, struct input_node *node)
{
    struct input_state start = {function->input_start, INPUT_ROOT_FRAME};
    struct input_path_draft path;
    node->enter_path = &input_path_empty;
    if (!node->is_first)
        return BAT_OK;
    enum bat_code code =
        input_search(function->flow, function->hot, start, node->state, false, false, &path);
    return code ? code : input_paths_keep(&function->flow->paths, &path, &node->enter_path);
}

enum bat_code input_ways_find(const struct input_followed *function, struct input_node *node)
{
    node->has_ways = true;
    input_paths_drop_drafts(&function->flow->paths);
    if (node->state.at == 0) {
        node->before = &input_path_empty;
        node->fall_path = &input_path_unknown;
        node->taken_path = &input_path_unknown;
        node->enter_path = &input_path_empty;
        return BAT_OK;
    }
    enum bat_code code = input_match_before(function, node);
    code = code ? code : find_fall(function, node);
    code = code ? code : find_taken(function, node);
    return code ? code : find_enter(function, node);
}
