/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Rounds of estimating what shares mean, and of finding the cheapest flow (flow_network.h). */
#include "flow_solver.h"

#include <stdlib.h>
#include <string.h>

#include "flow_network.h"
#include "spec/array.h"

/* Sweeps of the estimate: a loop that goes on with 15 of 16 gets two thirds of its count. */
#define ESTIMATE_SWEEPS 16u

/* --- The estimate --------------------------------------------------------------------------- */

struct estimate {
    const struct flow_graph *graph;
    uint32_t *order;  /* nodes, each after most of those that lead to it */
    uint32_t *first;  /* node i's edges in are into[first[i] .. first[i + 1]) */
    uint32_t *into;   /* indices of edges */
    double *counts;   /* of nodes */
    uint64_t *wanted; /* of edges, for a round */
};

static bool is_known(const struct flow_wish *wish)
{
    return wish->less > 1;
}

/* Count of edge in the estimate. */
static double edge_estimate(const struct estimate *estimate, uint32_t edge)
{
    const struct flow_edge *all = &estimate->graph->edges[edge];
    if (all->share_price == 0)
        return (double)all->count.wanted;
    return estimate->counts[all->from] * all->share / FLOW_WHOLE;
}

static void sweep(struct estimate *estimate)
{
    const struct flow_graph *graph = estimate->graph;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        uint32_t node = estimate->order[i];
        if (is_known(&graph->nodes[node].count)) {
            estimate->counts[node] = (double)graph->nodes[node].count.wanted;
            continue;
        }
        double sum = (double)graph->nodes[node].entry.wanted;
        for (uint32_t at = estimate->first[node]; at < estimate->first[node + 1]; at++)
            sum += edge_estimate(estimate, estimate->into[at]);
        estimate->counts[node] = sum < (double)FLOW_MOST ? sum : (double)FLOW_MOST;
    }
}

/* Edges by the node that they start from, or lead to. */
static void sort_edges(const struct flow_graph *graph, bool by_target, uint32_t *first,
                       uint32_t *sorted)
{
    memset(first, 0, ((size_t)graph->node_count + 1) * sizeof(*first));
    for (uint32_t i = 0; i < graph->edge_count; i++)
        first[(by_target ? graph->edges[i].to : graph->edges[i].from) + 1]++;
    for (uint32_t i = 0; i < graph->node_count; i++)
        first[i + 1] += first[i];
    for (uint32_t i = 0; i < graph->edge_count; i++)
        sorted[first[by_target ? graph->edges[i].to : graph->edges[i].from]++] = i;
    for (uint32_t i = graph->node_count; i > 0; i--)
        first[i] = first[i - 1];
    first[0] = 0;
}

/* Reverse postorder from the entry; nodes that it does not reach come last. */
static bool find_order(struct estimate *estimate)
{
    const struct flow_graph *graph = estimate->graph;
    uint32_t count = graph->node_count;
    uint32_t *first = malloc(((size_t)count + 1) * sizeof(*first));
    uint32_t *out = malloc(((size_t)graph->edge_count + 1) * sizeof(*out));
    uint32_t *stack = malloc(((size_t)count + 1) * sizeof(*stack));
    uint32_t *next = malloc(((size_t)count + 1) * sizeof(*next));
    bool is_fine = first && out && stack && next;
    if (is_fine) {
        sort_edges(graph, false, first, out);
        for (uint32_t i = 0; i < count; i++)
            next[i] = BAT_NONE;
        uint32_t place = count;
        for (uint32_t root = 0; root <= count; root++) {
            uint32_t start = root == 0 ? graph->entry : root - 1;
            if (next[start] != BAT_NONE)
                continue;
            uint32_t depth = 0;
            stack[depth++] = start;
            next[start] = first[start];
            while (depth > 0) {
                uint32_t node = stack[depth - 1];
                if (next[node] == first[node + 1]) {
                    estimate->order[--place] = node;
                    depth--;
                    continue;
                }
                uint32_t to = graph->edges[out[next[node]++]].to;
                if (next[to] == BAT_NONE) {
                    next[to] = first[to];
                    stack[depth++] = to;
                }
            }
        }
    }
    BAT_FREE_ALL(first, out, stack, next);
    return is_fine;
}

/* True if edges want other counts than before. */
static bool set_wanted(struct estimate *estimate)
{
    const struct flow_graph *graph = estimate->graph;
    bool has_changed = false;
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        uint64_t wanted = (uint64_t)(edge_estimate(estimate, i) + 0.5);
        has_changed |= wanted != estimate->wanted[i];
        estimate->wanted[i] = wanted;
    }
    return has_changed;
}

static void estimate_free(struct estimate *estimate)
{
    BAT_FREE_ALL(estimate->order, estimate->first, estimate->into, estimate->counts,
                 estimate->wanted);
}

static bool estimate_begin(struct estimate *estimate, const struct flow_graph *graph)
{
    size_t nodes = (size_t)graph->node_count + 1;
    size_t edges = (size_t)graph->edge_count + 1;
    *estimate = (struct estimate){.graph = graph,
                                  .order = malloc(nodes * sizeof(uint32_t)),
                                  .first = malloc(nodes * sizeof(uint32_t)),
                                  .into = malloc(edges * sizeof(uint32_t)),
                                  .counts = calloc(nodes, sizeof(double)),
                                  .wanted = calloc(edges, sizeof(uint64_t))};
    if (!estimate->order || !estimate->first || !estimate->into || !estimate->counts ||
        !estimate->wanted || !find_order(estimate))
        return false;
    sort_edges(graph, true, estimate->first, estimate->into);
    for (uint32_t i = 0; i < ESTIMATE_SWEEPS; i++)
        sweep(estimate);
    return true;
}

/* --- Rounds --------------------------------------------------------------------------------- */

/* True if the counts changed what shares mean. */
static bool take_counts(struct estimate *estimate, const uint64_t *nodes)
{
    bool has_changed = false;
    for (uint32_t i = 0; i < estimate->graph->node_count; i++) {
        double count = (double)nodes[i];
        has_changed |= count != estimate->counts[i];
        estimate->counts[i] = count;
    }
    return has_changed;
}

static bool has_shares(const struct flow_graph *graph)
{
    for (uint32_t i = 0; i < graph->edge_count; i++)
        if (graph->edges[i].share_price != 0)
            return true;
    return false;
}

enum bat_code flow_solve(const struct flow_graph *graph, struct flow_counts *counts,
                         struct bat_error *error)
{
    counts->was_limited = false;
    if (graph->node_count == 0)
        return BAT_OK;
    struct estimate estimate;
    struct flow_network network = {0};
    bool is_fine = estimate_begin(&estimate, graph) && flow_network_begin(&network, graph);
    uint32_t rounds = graph->is_brief ? FLOW_ROUNDS_BRIEF : FLOW_ROUNDS;
    rounds = has_shares(graph) ? rounds : 1;
    for (uint32_t i = 0; i < rounds && is_fine; i++) {
        if (!set_wanted(&estimate) && i > 0)
            break;
        is_fine = flow_network_solve(&network, estimate.wanted, counts);
        if (is_fine && !take_counts(&estimate, counts->nodes))
            break;
    }
    flow_network_free(&network);
    estimate_free(&estimate);
    return is_fine ? BAT_OK
                   : bat_fail_memory(error, "for the flow of %u blocks", graph->node_count);
}
