/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "to_input_ways.h"

#include "to_input_search.h"

/* Put a jump before a path. */
static void begin_with_jump(struct input_path *path, uint64_t from, uint64_t to)
{
    path->found = path->found && path->jump_count < INPUT_PATH_JUMPS;
    if (!path->found)
        return;
    for (uint32_t i = path->jump_count++; i > 0; i--)
        path->jumps[i] = path->jumps[i - 1];
    path->jumps[0] = (struct input_jump){from, to};
}

/* The way from behind a node's instruction to another node, with the jump of the input if it is
 * one. */
static enum bat_code find_way(const struct input_followed *function, const struct input_node *node,
                              struct input_state from, bool jumps, struct input_state to,
                              uint32_t *number)
{
    struct input_path path;
    struct input_flow *flow = function->flow;
    bool must_move =
        node->source == 0 && (node->kind == BAT_INSTRUCTION_JUMP
                                  ? node->is_early
                                  : !input_kind_changes_flow(node->kind) && !node->is_late);
    enum bat_code code = input_search(flow, function->hot, from, to, must_move, &path);
    if (code == BAT_OK && must_move && !path.found)
        code = input_search(flow, function->hot, from, to, false, &path);
    if (code == BAT_OK && jumps)
        begin_with_jump(&path, node->jump, from.at);
    else if (path.found && path.jump_count == 0 && from.at == to.at)
        path.last = node->source;
    return code == BAT_OK ? input_paths_keep(function->paths, &path, number) : code;
}

enum bat_code input_ways_find(const struct input_followed *function, struct input_node *node)
{
    enum bat_code code = BAT_OK;
    node->fall_path = INPUT_PATH_UNKNOWN;
    node->taken_path = INPUT_PATH_UNKNOWN;
    if (node->state.at == 0)
        return BAT_OK;
    bool is_same = !input_kind_changes_flow(node->kind) && node->falls && !node[1].is_leader &&
                   !node[1].is_fixed;
    if (is_same)
        node->fall_path = INPUT_PATH_EMPTY;
    else if (node->falls && input_kind_goes_on(node->kind))
        code = find_way(function, node, node->fall, node->jumps_if_not, node[1].state,
                        &node->fall_path);
    const struct input_node *target =
        input_kind_is_direct(node->kind) ? input_nodes_at(function->nodes, node->target) : NULL;
    if (target && code == BAT_OK) {
        node->is_inner = true;
        node->target_state = target->state;
        code = find_way(function, node, node->taken, node->jumps_if_taken, target->state,
                        &node->taken_path);
    }
    struct input_state tail_call = {node->tail_call, INPUT_ROOT_FRAME};
    if (node->tail_call && code == BAT_OK)
        code = find_way(function, node, node->taken, node->jumps_if_taken, tail_call,
                        &node->taken_path);
    struct input_state start = {function->input_start, INPUT_ROOT_FRAME};
    if (!node->is_first || code != BAT_OK)
        return code;
    struct input_path path;
    code = input_search(function->flow, function->hot, start, node->state, false, &path);
    return code == BAT_OK ? input_paths_keep(function->paths, &path, &node->enter_path) : code;
}
