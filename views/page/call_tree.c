/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "report.h"
#include "spec/array.h"

#include <stdlib.h>
#include <string.h>

static bool add_node(struct call_tree *tree, const struct call_node *node)
{
    return BAT_APPEND(tree->nodes, tree->count, tree->capacity, *node);
}

bool call_tree_begin(struct call_tree *tree)
{
    *tree = (struct call_tree){.children = bat_counts_new(1)};
    return add_node(tree, &(struct call_node){0});
}

void call_tree_free(struct call_tree *tree)
{
    bat_counts_free(&tree->children);
    free(tree->nodes);
}

uint32_t call_tree_child(struct call_tree *tree, uint32_t node, uint32_t name)
{
    const uint64_t key = (uint64_t)node << 32 | name;
    const uint64_t *found;
    bool is_new;
    if (bat_counts_find_or_add(&tree->children, &key, tree->count, 0, &found, &is_new) != BAT_OK)
        return BAT_NONE;
    if (!is_new)
        return (uint32_t)found[0];
    uint32_t depth = tree->nodes[node].depth + 1;
    if (!add_node(tree, &(struct call_node){.parent = node, .name = name, .depth = depth}))
        return BAT_NONE;
    tree->depth_max = depth > tree->depth_max ? depth : tree->depth_max;
    return tree->count - 1;
}

/* --- The list -------------------------------------------------------------------------------- */

/* What nodes are sorted by. */
struct sorting {
    const struct call_node *nodes;
    const struct bat_strings *names;
};

static int by_parent_and_name(const void *left_pointer, const void *right_pointer, void *context)
{
    const struct sorting *sorting = context;
    const struct call_node *left = &sorting->nodes[*(const uint32_t *)left_pointer];
    const struct call_node *right = &sorting->nodes[*(const uint32_t *)right_pointer];
    if (left->parent != right->parent)
        return left->parent < right->parent ? -1 : 1;
    return strcmp(bat_strings_get(sorting->names, left->name),
                  bat_strings_get(sorting->names, right->name));
}

/* What the list is made with, one item for each node. */
struct listing {
    uint32_t *order; /* all but the root, by parent, then by name */
    uint32_t *first; /* each node's first child in order; and an item more */
    uint64_t *sums;  /* of each node and all below it */
    uint32_t *next;  /* for each depth, the node in order that comes next */
};

static void fill(const struct call_tree *tree, const struct bat_strings *names,
                 struct listing *listing)
{
    uint32_t count = tree->count;
    for (uint32_t i = 1; i < count; i++)
        listing->order[i - 1] = i;
    struct sorting sorting = {tree->nodes, names};
    qsort_r(listing->order, count - 1, sizeof(*listing->order), by_parent_and_name, &sorting);
    uint32_t child = 0;
    for (uint32_t i = 0; i <= count; i++) {
        while (child < count - 1 && tree->nodes[listing->order[child]].parent < i)
            child++;
        listing->first[i] = child;
    }
    for (uint32_t i = 0; i < count; i++)
        listing->sums[i] = tree->nodes[i].count;
    for (uint32_t i = count; i-- > 1;)
        listing->sums[tree->nodes[i].parent] += listing->sums[i];
}

/* Walk the tree from the root. */
static void walk(const struct call_tree *tree, const struct listing *listing, struct report *report)
{
    uint32_t node = CALL_TREE_ROOT;
    listing->next[0] = listing->first[node];
    for (;;) {
        const uint32_t depth = tree->nodes[node].depth;
        const uint32_t child = listing->next[depth];
        if (child == listing->first[node + 1]) {
            if (node == CALL_TREE_ROOT)
                return;
            node = tree->nodes[node].parent;
            continue;
        }
        listing->next[depth]++;
        node = listing->order[child];
        listing->next[depth + 1] = listing->first[node];
        report->nodes[report->node_count++] =
            (struct report_node){tree->nodes[node].name, depth, listing->sums[node]};
    }
}

bool call_tree_list(const struct call_tree *tree, struct report *report)
{
    const size_t count = tree->count;
    struct listing listing = {.order = malloc(count * sizeof(*listing.order)),
                              .first = malloc((count + 1) * sizeof(*listing.first)),
                              .sums = malloc(count * sizeof(*listing.sums)),
                              .next =
                                  malloc(((size_t)tree->depth_max + 1) * sizeof(*listing.next))};
    report->nodes = malloc(count * sizeof(*report->nodes));
    bool has_memory =
        listing.order && listing.first && listing.sums && listing.next && report->nodes;
    if (has_memory) {
        fill(tree, &report->stack_names, &listing);
        walk(tree, &listing, report);
    }
    BAT_FREE_ALL(listing.order, listing.first, listing.sums, listing.next);
    return has_memory;
}
