/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Look-up and cache of the nodes of output functions (follow.h). */
#include "follow.h"

#include <stdlib.h>

#include "states.h"
#include "ways.h"

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
        input_nodes_free(&follow->functions[i]);
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
