/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "forest.h"

#include <stdlib.h>

#include "spec/array.h"
#include "spec/large_memory.h"

struct forest forest_new(void)
{
    return (struct forest){.by_place = bat_counts_new(3), .targets = bat_counts_new(3)};
}

void forest_free(struct forest *forest)
{
    bat_strings_free(&forest->names);
    bat_counts_free(&forest->by_place);
    bat_counts_free(&forest->targets);
    while (forest->body_arrays != 0)
        free(forest->bodies[--forest->body_arrays]);
    BAT_FREE_ALL(forest->nodes, forest->checksums, forest->contexts);
}

enum bat_code forest_reserve(struct forest *forest, size_t nodes)
{
    if (nodes <= forest->node_capacity)
        return BAT_OK;
    struct forest_node *grown =
        nodes < BAT_NONE ? bat_large_grow(forest->nodes, forest->node_count * sizeof(*grown),
                                          nodes * sizeof(*grown))
                         : NULL;
    if (!grown)
        return BAT_ERR_MEMORY;
    forest->nodes = grown;
    forest->node_capacity = nodes;
    return BAT_OK;
}

static enum bat_code reserve_node(struct forest *forest)
{
    if (forest->node_count < forest->node_capacity)
        return BAT_OK;
    return forest_reserve(forest, forest->node_capacity ? 2 * forest->node_capacity : 256);
}

/* Find or add a root or a child. */
static enum bat_code find_or_add(struct forest *forest, uint32_t name, uint32_t parent,
                                 uint64_t place, uint32_t *node)
{
    const uint64_t key[3] = {parent == BAT_NONE ? 0 : (uint64_t)parent + 1, place, name};
    const uint64_t *found;
    bool is_new;
    BAT_TRY(reserve_node(forest));
    BAT_TRY(bat_counts_find_or_add(&forest->by_place, key, forest->node_count, 0, &found, &is_new));
    *node = (uint32_t)found[0];
    if (is_new)
        forest->nodes[forest->node_count++] =
            (struct forest_node){.name = name, .parent = parent, .place = place};
    return BAT_OK;
}

enum bat_code forest_root(struct forest *forest, uint32_t name, uint32_t *node)
{
    return find_or_add(forest, name, BAT_NONE, 0, node);
}

enum bat_code forest_child(struct forest *forest, uint32_t parent, uint64_t place, uint32_t name,
                           uint32_t *node)
{
    return find_or_add(forest, name, parent, place, node);
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

/* Begin another array of counts. */
static enum bat_code add_bodies(struct forest *forest)
{
    const unsigned array = forest->body_arrays;
    struct forest_body *added =
        array < FOREST_BODIES ? bat_large_array(forest_bodies_in(array), sizeof(*added)) : NULL;
    if (!added)
        return BAT_ERR_MEMORY;
    forest->bodies[forest->body_arrays++] = added;
    forest->body_room = forest_bodies_in(array);
    return BAT_OK;
}

enum bat_code forest_raise(struct forest *forest, uint32_t node, uint64_t place, uint64_t count)
{
    if (forest->body_room == 0)
        BAT_TRY(add_bodies(forest));
    const unsigned array = forest->body_arrays - 1;
    forest->bodies[array][forest_bodies_in(array) - forest->body_room--] =
        (struct forest_body){place, count, node};
    forest->body_count++;
    return BAT_OK;
}

enum bat_code forest_begin(struct forest *forest, uint32_t node, const uint64_t *places,
                           size_t count, size_t *first)
{
    *first = forest->body_count;
    for (size_t i = 0; i < count; i++)
        BAT_TRY(forest_raise(forest, node, places[i], 0));
    return BAT_OK;
}

void forest_add_to(struct forest *forest, uint32_t node, size_t number, uint64_t count)
{
    struct forest_node *counted = &forest->nodes[node];
    unsigned array = 0;
    for (; number >= forest_bodies_in(array); array++)
        number -= forest_bodies_in(array);
    uint64_t *found = &forest->bodies[array][number].count;
    *found = forest_add(*found, count);
    counted->total = forest_add(counted->total, count);
}

enum bat_code forest_call(struct forest *forest, uint32_t node, uint64_t place, uint32_t name,
                          uint64_t count)
{
    uint64_t key[3] = {node, place, name};
    const uint64_t *found = bat_counts_find(&forest->targets, key);
    if (found && found[3] > UINT64_MAX - count)
        count = UINT64_MAX - found[3];
    BAT_TRY(forest_raise(forest, node, place, 0));
    return bat_counts_add(&forest->targets, key, count, 0);
}
