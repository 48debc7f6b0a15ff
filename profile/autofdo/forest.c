/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "forest.h"

#include <stdlib.h>

struct forest forest_new(void)
{
    return (struct forest){.children = bat_counts_new(3), .targets = bat_counts_new(3)};
}

void forest_free(struct forest *forest)
{
    bat_strings_free(&forest->names);
    bat_counts_free(&forest->children);
    bat_counts_free(&forest->targets);
    free(forest->nodes);
    free(forest->bodies);
}

static enum bat_code add_node(struct forest *forest, uint32_t name, uint32_t parent, uint32_t *node)
{
    if (forest->node_count == forest->node_capacity) {
        size_t larger = forest->node_capacity ? 2 * forest->node_capacity : 256;
        struct forest_node *grown =
            larger < BAT_NONE ? realloc(forest->nodes, larger * sizeof(*grown)) : NULL;
        if (!grown)
            return BAT_ERR_MEMORY;
        forest->nodes = grown;
        forest->node_capacity = larger;
    }
    forest->nodes[forest->node_count] = (struct forest_node){.name = name, .parent = parent};
    *node = forest->node_count++;
    return BAT_OK;
}

static enum bat_code find_node(struct forest *forest, uint64_t parent, uint64_t place,
                               uint32_t name, uint32_t *node)
{
    uint64_t key[3] = {parent, place, name};
    const uint64_t *found = bat_counts_find(&forest->children, key);
    if (found) {
        *node = (uint32_t)found[3];
        return BAT_OK;
    }
    enum bat_code code = add_node(forest, name, parent ? (uint32_t)parent - 1 : BAT_NONE, node);
    return code == BAT_OK ? bat_counts_add(&forest->children, key, *node, 0) : code;
}

enum bat_code forest_root(struct forest *forest, uint32_t name, uint32_t *node)
{
    return find_node(forest, 0, 0, name, node);
}

enum bat_code forest_child(struct forest *forest, uint32_t parent, uint64_t place, uint32_t name,
                           uint32_t *node)
{
    return find_node(forest, (uint64_t)parent + 1, place, name, node);
}

void forest_add_up(struct forest *forest)
{
    for (uint32_t i = forest->node_count; i-- > 0;) {
        const struct forest_node *node = &forest->nodes[i];
        if (node->parent == BAT_NONE)
            continue;
        struct forest_node *outer = &forest->nodes[node->parent];
        outer->total = forest_add(outer->total, node->total);
    }
}

enum bat_code forest_raise(struct forest *forest, uint32_t node, uint64_t place, uint64_t count)
{
    if (forest->body_count == forest->body_capacity) {
        size_t larger = forest->body_capacity ? 2 * forest->body_capacity : 256;
        struct forest_body *grown =
            larger < BAT_NONE ? realloc(forest->bodies, larger * sizeof(*grown)) : NULL;
        if (!grown)
            return BAT_ERR_MEMORY;
        forest->bodies = grown;
        forest->body_capacity = larger;
    }
    forest->bodies[forest->body_count++] = (struct forest_body){place, count, node};
    return BAT_OK;
}

enum bat_code forest_call(struct forest *forest, uint32_t node, uint64_t place, uint32_t name,
                          uint64_t count)
{
    uint64_t key[3] = {node, place, name};
    const uint64_t *found = bat_counts_find(&forest->targets, key);
    if (found && found[3] > UINT64_MAX - count)
        count = UINT64_MAX - found[3];
    enum bat_code code = forest_raise(forest, node, place, 0);
    return code == BAT_OK ? bat_counts_add(&forest->targets, key, count, 0) : code;
}
