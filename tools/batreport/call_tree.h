/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A tree of calls that grows stack by stack, and then becomes the page's nodes. */
#ifndef BAT_TOOLS_BATREPORT_CALL_TREE_H
#define BAT_TOOLS_BATREPORT_CALL_TREE_H

#include "report.h"
#include "support/counts.h"

/* A frame below its callers' frames. */
struct call_node {
    uint32_t parent; /* a lower number */
    uint32_t name;
    uint32_t depth; /* of the root, which is no frame, 0 */
    uint64_t count; /* of the stacks that end here */
};

struct call_tree {
    struct call_node *nodes; /* the first is the root */
    uint32_t count;
    size_t capacity;
    uint32_t depth_max;
    struct bat_counts children; /* a node and a name: the child's number */
};

/* False without memory. The caller calls call_tree_free() in any case. */
bool call_tree_begin(struct call_tree *tree);
void call_tree_free(struct call_tree *tree);

/* The root's number. */
#define CALL_TREE_ROOT 0u

/* The child of a node with that name, a number of report->stack_names; BAT_NONE without memory. */
uint32_t call_tree_child(struct call_tree *tree, uint32_t node, uint32_t name);

/*
 * Fill report->nodes: in preorder, those with the same callers by name, each with the counts of all
 * stacks through it. False without memory. n log n in the nodes.
 */
bool call_tree_list(const struct call_tree *tree, struct report *report);

#endif
