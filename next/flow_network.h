/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The network of a flow graph (flow_solver.h): each node is two vertices with an arc between them
 * for its count; one more vertex is outside, where entries begin and exits end. An arc's price
 * depends on its flow: it has a corner where the flow is as wanted. Internal to next/.
 */
#pragma once

#include "flow_solver.h"

struct flow_arc {
    int64_t flow;
    uint32_t out; /* its ends, where it begins and where it leads */
    uint32_t in;
};

#define FLOW_FIXED INT32_MAX /* the price of what cannot be changed */

/* An arc, seen from one of its vertices. */
struct flow_end {
    int32_t price;  /* of a unit of more flow out of the vertex, or less into it */
    uint32_t other; /* vertex */
    uint32_t arc;
};

struct flow_vertex {
    int64_t distance;
    int64_t potential;
    int64_t excess; /* what flows in, less what flows out */
    uint32_t path;  /* the arc by which it is reached */
    uint32_t first; /* its arcs' ends are ends[first .. that of the next vertex) */
};

struct flow_heap_entry {
    int64_t distance;
    uint32_t vertex;
};

struct flow_network {
    const struct flow_graph *graph;
    struct flow_arc *arcs; /* of nodes, edges, entries, exits */
    uint32_t arc_count;
    uint32_t vertex_count;
    const uint64_t *wanted;       /* of edges with a share, in this round */
    struct flow_vertex *vertices; /* and one behind them */
    struct flow_end *ends;
    uint32_t *reached; /* vertices with a distance */
    uint32_t reached_count;
    uint32_t *entries; /* arcs of entries that are no bounds */
    uint32_t entry_count;
    uint32_t *exits; /* arcs of exits with a flow */
    uint32_t exit_count;
    uint32_t *exit_place; /* for each node: its exit's place there, or BAT_NONE */
    uint8_t *state;       /* for the leftovers */
    struct flow_heap_entry *heap;
    size_t heap_count;
    size_t heap_capacity;
    bool is_large;
    bool is_solved; /* flow and potentials are those of the cheapest flow of the round before */
    uint32_t found; /* the nearest vertex with too little, as far as is known, */
    int64_t bound;  /* nothing that is so far is looked at */
    uint64_t work;  /* arcs that were looked at */
    uint64_t work_limit;
};

/* Make the network; *network is all zero before. False without memory; free it in any case. */
bool flow_network_begin(struct flow_network *network, const struct flow_graph *graph);
void flow_network_free(struct flow_network *network);

/* Find the cheapest counts where edges with a share want these counts. False without memory. */
bool flow_network_solve(struct flow_network *network, const uint64_t *wanted,
                        struct flow_counts *counts);
