/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Search trees by the ranges' starts, balanced by random ranks; each node knows how far its reach.
 */
#include "ranges.h"

#include <stdlib.h>

#include "hash_seed.h"
#include "spec/array.h"

struct bat_range_node {
    uint64_t low;
    uint64_t high;
    uint64_t reach; /* the highest `high` of the node and those below it */
    uint64_t rank;  /* not less than those of the nodes below */
    uint32_t item;
    uint32_t left;
    uint32_t right;
};

void bat_ranges_free(struct bat_ranges *ranges)
{
    free(ranges->nodes);
    *ranges = (struct bat_ranges){.nodes = NULL};
}

static bool is_before(const struct bat_range_node *left, const struct bat_range_node *right)
{
    if (left->low != right->low)
        return left->low < right->low;
    return left->high != right->high ? left->high < right->high : left->item < right->item;
}

/* Set the node's reach from those below it. Returns it. */
static uint32_t settle(struct bat_range_node *nodes, uint32_t at)
{
    struct bat_range_node *node = &nodes[at];
    node->reach = node->high;
    if (node->left && nodes[node->left].reach > node->reach)
        node->reach = nodes[node->left].reach;
    if (node->right && nodes[node->right].reach > node->reach)
        node->reach = nodes[node->right].reach;
    return at;
}

/* Divide a tree into the nodes before this one and the others. */
static void split(struct bat_range_node *nodes, uint32_t root, const struct bat_range_node *by,
                  uint32_t *before, uint32_t *others)
{
    if (root == 0) {
        *before = *others = 0;
    } else if (is_before(&nodes[root], by)) {
        split(nodes, nodes[root].right, by, &nodes[root].right, others);
        *before = settle(nodes, root);
    } else {
        split(nodes, nodes[root].left, by, before, &nodes[root].left);
        *others = settle(nodes, root);
    }
}

/* Join two trees, of which all nodes of the left one come first. Returns the root. */
static uint32_t join(struct bat_range_node *nodes, uint32_t left, uint32_t right)
{
    if (left == 0 || right == 0)
        return left ? left : right;
    if (nodes[left].rank > nodes[right].rank) {
        nodes[left].right = join(nodes, nodes[left].right, right);
        return settle(nodes, left);
    }
    nodes[right].left = join(nodes, left, nodes[right].left);
    return settle(nodes, right);
}

/* A node that is in no tree, or 0 if there is no memory. */
static uint32_t new_node(struct bat_ranges *ranges)
{
    uint32_t node = ranges->free;
    if (node != 0) {
        ranges->free = ranges->nodes[node].left;
        return node;
    }
    if (!BAT_GROW(ranges->nodes, ranges->count + 1, ranges->capacity))
        return 0;
    ranges->seed = ranges->seed ? ranges->seed : bat_hash_seed() | 1;
    return ++ranges->count;
}

enum bat_code bat_ranges_add(struct bat_ranges *ranges, uint32_t *set, uint64_t low, uint64_t high,
                             uint32_t item)
{
    uint32_t node = new_node(ranges);
    if (node == 0)
        return BAT_ERR_MEMORY;
    struct bat_range_node *nodes = ranges->nodes;
    uint64_t rank = (ranges->seed + node) * 0x9e3779b97f4a7c15u;
    rank = (rank ^ rank >> 29) * ranges->seed;
    nodes[node] = (struct bat_range_node){
        .low = low, .high = high, .reach = high, .rank = rank ^ rank >> 32, .item = item};
    uint32_t *at = set;
    while (*at != 0 && nodes[*at].rank >= nodes[node].rank) {
        if (high > nodes[*at].reach)
            nodes[*at].reach = high;
        at = is_before(&nodes[*at], &nodes[node]) ? &nodes[*at].right : &nodes[*at].left;
    }
    split(nodes, *at, &nodes[node], &nodes[node].left, &nodes[node].right);
    *at = settle(nodes, node);
    return BAT_OK;
}

/* Returns the root of the tree without the node that is equal to this one. */
static uint32_t without(struct bat_ranges *ranges, uint32_t root,
                        const struct bat_range_node *removed)
{
    if (root == 0)
        return 0;
    struct bat_range_node *node = &ranges->nodes[root];
    if (is_before(node, removed))
        node->right = without(ranges, node->right, removed);
    else if (is_before(removed, node))
        node->left = without(ranges, node->left, removed);
    else {
        uint32_t joined = join(ranges->nodes, node->left, node->right);
        node->left = ranges->free;
        ranges->free = root;
        return joined;
    }
    return settle(ranges->nodes, root);
}

void bat_ranges_remove(struct bat_ranges *ranges, uint32_t *set, uint64_t low, uint64_t high,
                       uint32_t item)
{
    const struct bat_range_node removed = {.low = low, .high = high, .item = item};
    *set = without(ranges, *set, &removed);
}

size_t bat_ranges_find(const struct bat_ranges *ranges, uint32_t set, uint64_t low, uint64_t high,
                       uint32_t *items, size_t max)
{
    const struct bat_range_node *node = set ? &ranges->nodes[set] : NULL;
    if (!node || node->reach <= low)
        return 0;
    size_t found = bat_ranges_find(ranges, node->left, low, high, items, max);
    if (node->low >= high)
        return found;
    if (node->high > low && found++ < max)
        items[found - 1] = node->item;
    size_t left = found < max ? max - found : 0;
    return found +
           bat_ranges_find(ranges, node->right, low, high, left ? items + found : items, left);
}
