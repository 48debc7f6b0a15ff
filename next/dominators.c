/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* "A Fast Algorithm for Finding Dominators in a Flowgraph" (Lengauer, Tarjan), the simple one. */
#include "dominators.h"

#include <stdlib.h>

#include "spec/array.h"

/*
 * A graph, or one turned around, with a root before the entry or the ends. The nodes that are
 * reached from it have numbers in preorder, from 1; the root is 0. All but number is by these.
 */
struct view {
    const struct next_graph *graph;
    bool is_post;
    uint32_t count;   /* the last number */
    uint32_t *number; /* of each node; 0: not reached */
    uint32_t *node;
    uint32_t *parent;   /* in the tree of the walk */
    uint32_t *semi;     /* the semidominator */
    uint32_t *label;    /* the one with the least semidominator on the way to the ancestor */
    uint32_t *ancestor; /* BAT_NONE: not yet linked */
    uint32_t *first;    /* of those with this semidominator; BAT_NONE */
    uint32_t *next;     /* the next one of these */
    uint32_t *dominator;
    uint32_t *stack;
};

static uint32_t degree(const struct view *view, uint32_t node, bool is_out)
{
    const struct next_graph *graph = view->graph;
    bool by_out = is_out != view->is_post;
    return by_out ? graph->out[node + 1] - graph->out[node]
                  : graph->into[node + 1] - graph->into[node];
}

static uint32_t neighbour(const struct view *view, uint32_t node, uint32_t i, bool is_out)
{
    const struct next_graph *graph = view->graph;
    if (is_out != view->is_post)
        return graph->links[graph->out[node] + i].to;
    return graph->links[graph->by_target[graph->into[node] + i]].from;
}

/* True for a node that the root is before: the entry, or an end. */
static bool is_at_root(const struct view *view, uint32_t node)
{
    return view->is_post ? degree(view, node, false) == 0 : node == view->graph->entry;
}

static void add_number(struct view *view, uint32_t node, uint32_t parent)
{
    const uint32_t number = ++view->count;
    view->number[node] = number;
    view->node[number] = node;
    view->parent[number] = parent;
}

/* Preorder from a node behind the root; label is where each node's links are looked at next. */
static void walk(struct view *view, uint32_t start)
{
    uint32_t depth = 0;
    if (view->number[start])
        return;
    add_number(view, start, 0);
    view->stack[depth++] = view->count;
    while (depth > 0) {
        const uint32_t number = view->stack[depth - 1];
        const uint32_t node = view->node[number];
        if (view->label[number] == degree(view, node, true)) {
            depth--;
            continue;
        }
        const uint32_t to = neighbour(view, node, view->label[number]++, true);
        if (view->number[to] == 0) {
            add_number(view, to, number);
            view->stack[depth++] = view->count;
        }
    }
}

/* The one with the least semidominator on the way up from a number to what is not yet linked. */
static uint32_t evaluate(struct view *view, uint32_t number)
{
    uint32_t *ancestor = view->ancestor;
    uint32_t *label = view->label;
    uint32_t depth = 0;
    if (ancestor[number] == BAT_NONE)
        return number;
    for (uint32_t at = number; ancestor[ancestor[at]] != BAT_NONE; at = ancestor[at])
        view->stack[depth++] = at;
    while (depth > 0) {
        const uint32_t at = view->stack[--depth];
        const uint32_t above = ancestor[at];
        if (view->semi[label[above]] < view->semi[label[at]])
            label[at] = label[above];
        ancestor[at] = ancestor[above];
    }
    return label[number];
}

static void find_semidominator(struct view *view, uint32_t number)
{
    const uint32_t node = view->node[number];
    uint32_t semi = is_at_root(view, node) ? 0 : number;
    for (uint32_t i = 0; i < degree(view, node, false) && semi > 0; i++) {
        const uint32_t from = view->number[neighbour(view, node, i, false)];
        const uint32_t other = from == 0 ? semi : view->semi[evaluate(view, from)];
        semi = other < semi ? other : semi;
    }
    view->semi[number] = semi;
    view->next[number] = view->first[semi];
    view->first[semi] = number;
}

static void find(struct view *view)
{
    for (uint32_t i = 0; i <= view->count; i++) {
        view->semi[i] = view->label[i] = i;
        view->ancestor[i] = view->first[i] = BAT_NONE;
    }
    for (uint32_t number = view->count; number > 0; number--) {
        const uint32_t parent = view->parent[number];
        find_semidominator(view, number);
        view->ancestor[number] = parent;
        for (uint32_t at = view->first[parent]; at != BAT_NONE; at = view->next[at]) {
            const uint32_t least = evaluate(view, at);
            view->dominator[at] = view->semi[least] < view->semi[at] ? least : parent;
        }
        view->first[parent] = BAT_NONE;
    }
    for (uint32_t number = 1; number <= view->count; number++)
        if (view->dominator[number] != view->semi[number])
            view->dominator[number] = view->dominator[view->dominator[number]];
}

uint32_t *next_dominators(const struct next_graph *graph, bool is_post)
{
    const size_t count = (size_t)graph->node_count + 1;
    uint32_t *found = malloc(count * sizeof(*found));
    uint32_t *all = calloc(10 * count, sizeof(*all));
    if (!found || !all) {
        BAT_FREE_ALL(found, all);
        return NULL;
    }
    struct view view = {.graph = graph,
                        .is_post = is_post,
                        .number = all,
                        .node = all + count,
                        .parent = all + 2 * count,
                        .semi = all + 3 * count,
                        .label = all + 4 * count,
                        .ancestor = all + 5 * count,
                        .first = all + 6 * count,
                        .next = all + 7 * count,
                        .dominator = all + 8 * count,
                        .stack = all + 9 * count};
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (is_at_root(&view, i))
            walk(&view, i);
    find(&view);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const uint32_t dominator = view.dominator[view.number[i]];
        found[i] = view.number[i] == 0 || dominator == 0 ? BAT_NONE : view.node[dominator];
    }
    free(all);
    return found;
}
