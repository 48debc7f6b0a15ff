/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The mean of two flows. Odd sums are rounded along trails. Each node is two vertices, where
 * control enters and where it leaves, with an arc between them; edges are arcs from one node to
 * another. At a vertex of which the arcs with an odd sum are odd in number, what begins or ends
 * there has an odd sum, too: a trail starts or stops there. The others are closed. Along a trail,
 * arcs that are walked forwards are rounded up, and backwards down: each vertex that it passes then
 * has as much more or less on one side as on the other.
 */
#include <stdlib.h>
#include <string.h>

#include "flow_solver.h"
#include "spec/array.h"

struct trails {
    const struct flow_graph *graph;
    struct flow_counts *counts;
    uint32_t *ends;  /* of arc i: 2 * i, where it begins, and 2 * i + 1; the next end there */
    uint32_t *first; /* for each vertex: an end of an arc with an odd sum, or BAT_NONE */
    uint8_t *is_odd; /* for each vertex */
};

static uint32_t arc_count(const struct flow_graph *graph)
{
    return graph->node_count + graph->edge_count;
}

static uint64_t *count_of(const struct trails *trails, uint32_t arc)
{
    uint32_t nodes = trails->graph->node_count;
    return arc < nodes ? &trails->counts->nodes[arc] : &trails->counts->edges[arc - nodes];
}

static uint32_t vertex_of(const struct flow_graph *graph, uint32_t end)
{
    uint32_t arc = end / 2;
    if (arc < graph->node_count)
        return end;
    const struct flow_edge *edge = &graph->edges[arc - graph->node_count];
    return end % 2 == 0 ? 2 * edge->from + 1 : 2 * edge->to;
}

static void add_arcs(struct trails *trails)
{
    for (uint32_t end = 0; end < 2 * arc_count(trails->graph); end++) {
        if (*count_of(trails, end / 2) % 2 == 0)
            continue;
        uint32_t vertex = vertex_of(trails->graph, end);
        trails->ends[end] = trails->first[vertex];
        trails->first[vertex] = end;
        trails->is_odd[vertex] ^= 1;
    }
}

/* Walk from a vertex as far as arcs lead that were not walked. Their sums become even. */
static uint32_t walk(struct trails *trails, uint32_t vertex)
{
    while (trails->first[vertex] != BAT_NONE) {
        uint32_t end = trails->first[vertex];
        uint64_t *sum = count_of(trails, end / 2);
        trails->first[vertex] = trails->ends[end];
        if (*sum % 2 == 0)
            continue;
        *sum = end % 2 == 0 ? *sum + 1 : *sum - 1;
        vertex = vertex_of(trails->graph, end ^ 1);
    }
    return vertex;
}

static void round_sums(struct trails *trails)
{
    uint32_t vertices = 2 * trails->graph->node_count;
    for (uint32_t i = 0; i < vertices; i++)
        if (trails->is_odd[i])
            trails->is_odd[walk(trails, i)] = 0;
    for (uint32_t i = 0; i < vertices; i++)
        walk(trails, i);
}

static void halve(const struct flow_graph *graph, struct flow_counts *counts)
{
    for (uint32_t i = 0; i < graph->node_count; i++)
        counts->entries[i] = counts->nodes[i] /= 2;
    for (uint32_t i = 0; i < graph->edge_count; i++)
        counts->entries[graph->edges[i].to] -= counts->edges[i] /= 2;
}

enum bat_code flow_mean(const struct flow_graph *graph, struct flow_counts *counts,
                        const struct flow_counts *other, struct bat_error *error)
{
    size_t vertices = 2 * (size_t)graph->node_count;
    struct trails trails = {.graph = graph, .counts = counts};
    trails.ends = malloc((2 * (size_t)arc_count(graph) + 1) * sizeof(*trails.ends));
    trails.first = malloc((vertices + 1) * sizeof(*trails.first));
    trails.is_odd = calloc(vertices + 1, 1);
    bool has_memory = trails.ends && trails.first && trails.is_odd;
    if (has_memory) {
        memset(trails.first, 0xff, vertices * sizeof(*trails.first)); /* BAT_NONE */
        for (uint32_t i = 0; i < graph->node_count; i++)
            counts->nodes[i] += other->nodes[i];
        for (uint32_t i = 0; i < graph->edge_count; i++)
            counts->edges[i] += other->edges[i];
        add_arcs(&trails);
        round_sums(&trails);
        halve(graph, counts);
        counts->was_limited |= other->was_limited;
    }
    BAT_FREE_ALL(trails.ends, trails.first, trails.is_odd);
    return has_memory ? BAT_OK : bat_fail_memory(error, "for counts of blocks");
}
