/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* "A Simple, Fast Dominance Algorithm" (Cooper, Harvey, Kennedy). */
#include "dominators.h"

#include <stdlib.h>

#include "spec/array.h"

/* A graph, or one turned around; its root may be a node more, behind all others. */
struct view {
    const struct next_graph *graph;
    bool is_post;
    uint32_t root;
    uint32_t *number; /* in postorder, from 1; 0: not reached */
    uint32_t *order;
    uint32_t count;
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

/* Postorder from a node. */
static void walk(struct view *view, uint32_t start, uint32_t *stack, uint32_t *at)
{
    uint32_t depth = 0;
    if (view->number[start] || at[start])
        return;
    stack[depth++] = start;
    at[start] = 1;
    while (depth > 0) {
        uint32_t node = stack[depth - 1];
        if (at[node] > degree(view, node, true)) {
            view->order[view->count++] = node;
            view->number[node] = view->count;
            depth--;
            continue;
        }
        uint32_t to = neighbour(view, node, at[node]++ - 1, true);
        if (!at[to]) {
            at[to] = 1;
            stack[depth++] = to;
        }
    }
}

static uint32_t meet(const struct view *view, const uint32_t *found, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (view->number[a] < view->number[b])
            a = found[a];
        while (view->number[b] < view->number[a])
            b = found[b];
    }
    return a;
}

/* True for a node that the root is before: the entry, or an end. */
static bool is_at_root(const struct view *view, uint32_t node)
{
    return view->is_post ? degree(view, node, false) == 0 : node == view->graph->entry;
}

static void find(struct view *view, uint32_t *found)
{
    bool has_changed = true;
    /* Irreducible graphs may need many passes; what is not exact then is only evidence less. */
    for (unsigned pass = 0; pass < 32 && has_changed; pass++) {
        has_changed = false;
        for (uint32_t i = view->count; i-- > 0;) {
            uint32_t node = view->order[i];
            uint32_t best = is_at_root(view, node) ? view->root : BAT_NONE;
            for (uint32_t k = 0; k < degree(view, node, false); k++) {
                uint32_t from = neighbour(view, node, k, false);
                if (view->number[from] == 0 || found[from] == BAT_NONE)
                    continue;
                best = best == BAT_NONE ? from : meet(view, found, best, from);
            }
            if (best != found[node]) {
                found[node] = best;
                has_changed = true;
            }
        }
    }
}

uint32_t *next_dominators(const struct next_graph *graph, bool is_post)
{
    size_t count = (size_t)graph->node_count + 2;
    uint32_t *found = malloc(count * sizeof(*found));
    uint32_t *stack = malloc(count * sizeof(*stack));
    uint32_t *at = calloc(count, sizeof(*at));
    struct view view = {.graph = graph,
                        .is_post = is_post,
                        .root = graph->node_count,
                        .number = calloc(count, sizeof(*view.number)),
                        .order = malloc(count * sizeof(*view.order))};
    bool is_fine = found && stack && at && view.number && view.order;
    for (uint32_t i = 0; is_fine && i < graph->node_count; i++)
        if (is_at_root(&view, i))
            walk(&view, i, stack, at);
    if (is_fine) {
        for (uint32_t i = 0; i <= graph->node_count; i++)
            found[i] = BAT_NONE;
        found[view.root] = view.root;
        view.number[view.root] = view.count + 1;
        find(&view, found);
        for (uint32_t i = 0; i < graph->node_count; i++)
            if (found[i] == view.root)
                found[i] = BAT_NONE;
    }
    BAT_FREE_ALL(stack, at, view.number, view.order);
    if (is_fine)
        return found;
    free(found);
    return NULL;
}
