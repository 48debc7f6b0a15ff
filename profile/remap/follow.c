/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Look-up and cache of the nodes of output functions (follow.h). */
#include "follow.h"
#include "spec/array.h"

#include <stdlib.h>

#include "followed_function.h"
#include "search.h"

/* --- The paths of a node ---------------------------------------------------------------------- */

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
    if (is_plain && input_is_same_state(node[1].state, node->state) &&
        ((!node[1].is_leader && !node[1].is_fixed) || input_is_idle(function, node))) {
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

/*
 * Fill all paths of a node: to its instruction, and from there to the next node and to the branch
 * target. input_states_find() must have run. Fails with BAT_ERR_MEMORY.
 */
static enum bat_code input_ways_find(const struct input_followed *function, struct input_node *node)
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

enum bat_code input_follow_open(struct input_follow *follow, const struct bat_original *original)
{
    *follow = (struct input_follow){0};
    size_t count = original->binary->map->hot_count;
    enum bat_code code = input_flow_open(&follow->flow, original);
    follow->functions = calloc(count + 1, sizeof(*follow->functions));
    return follow->functions ? code : BAT_ERR_MEMORY;
}

void input_follow_close(struct input_follow *follow)
{
    for (uint32_t i = 0; follow->functions && i < follow->flow.original->binary->map->hot_count;
         i++)
        BAT_FREE_ALL(follow->functions[i].all, follow->functions[i].fragments);
    free(follow->functions);
    if (follow->flow.original)
        input_flow_close(&follow->flow);
}

/* The function of a table; for a fragment's table, that of its hot code. */
static struct input_followed function_of(struct input_follow *follow, uint32_t table)
{
    const struct bat_original *original = follow->flow.original;
    uint32_t hot = original->binary->map->tables[table].parent;
    const struct bat_function_symbol *input =
        &original->inputs[bat_original_input_of_table(original, hot)];
    return (struct input_followed){
        .flow = &follow->flow,
        .nodes = &follow->functions[hot],
        .hot = hot,
        .input_start = input->address,
        .input_end = input->address + bat_function_extent(input),
    };
}

static enum bat_code read_function(const struct input_followed *function)
{
    enum bat_code code = input_nodes_read(function->nodes, function->flow->original, function->hot);
    function->flow->steps_left +=
        UINT64_C(256) * function->nodes->count + (function->input_end - function->input_start) / 4;
    return code ? code : input_states_find(function);
}

enum bat_code input_follow_node(struct input_follow *follow, uint32_t table, uint64_t address,
                                const struct input_node **node)
{
    const struct bat_original *original = follow->flow.original;
    const struct input_followed function = function_of(follow, table);
    BAT_TRY(function.nodes->is_read ? BAT_OK : read_function(&function));
    uint32_t output = original->output_of[table];
    struct input_node *found = input_nodes_find(function.nodes, address);
    *node = found && output != BAT_NONE && found->address >= original->outputs[output].address
                ? found
                : NULL;
    return BAT_OK;
}

const struct input_node *input_follow_target(const struct input_follow *follow, uint32_t table,
                                             const struct input_node *node)
{
    uint32_t hot = follow->flow.original->binary->map->tables[table].parent;
    return input_nodes_target(&follow->functions[hot], node);
}

enum bat_code input_follow_ways(struct input_follow *follow, uint32_t table,
                                const struct input_node *node)
{
    if (node->has_ways)
        return BAT_OK;
    const struct input_followed function = function_of(follow, table);
    return input_ways_find(&function, &function.nodes->all[node - function.nodes->all]);
}

static bool is_empty(const struct input_path *path)
{
    return path->found && path->jump_count == 0;
}

static bool is_plain(const struct input_node *node)
{
    return node->falls && !node->is_promotion && !node->is_unlisted &&
           node->state.frame == INPUT_ROOT_FRAME &&
           (node->kind == BAT_INSTRUCTION_OTHER || is_empty(node->before)) &&
           is_empty(node->fall_path);
}

enum bat_code input_follow_plain(struct input_follow *follow, uint32_t table,
                                 const struct input_node **node, const struct input_node *last)
{
    struct input_node *all = function_of(follow, table).nodes->all;
    struct input_node *first = &all[*node - all];
    struct input_node *end = first;
    enum bat_code code = BAT_OK;
    while (end < last && code == BAT_OK) {
        code = end->plain_count != 0 ? BAT_OK : input_follow_ways(follow, table, end);
        if (code == BAT_OK && end->plain_count == 0 && !is_plain(end))
            break;
        end += end->plain_count != 0 ? end->plain_count : 1;
    }
    for (struct input_node *passed = first; passed < end && code == BAT_OK;) {
        uint32_t known = passed->plain_count;
        passed->plain_count = (uint32_t)(end - passed);
        passed += known != 0 ? known : 1;
    }
    *node = end < last ? end : last;
    return code;
}
