/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Makes counts of a control-flow graph consistent: what enters a node leaves it. Each count has a
 * wanted value and a price for each unit by which it differs; the sum of the prices is least.
 * Counts are whole numbers. Internal to the library.
 *
 * It is a minimum-cost flow: the counts begin as wanted, and what is too much at one node goes to
 * where too little is along the cheapest ways (successive shortest paths with potentials).
 *
 * Shares ("of what reaches this node, 90% goes that way") are no prices of a flow. They become
 * wanted values, first from an estimate of the nodes' counts, then from the counts that were found,
 * in FLOW_ROUNDS rounds, or FLOW_ROUNDS_BRIEF.
 */
#pragma once

#include "bat.h"

#define FLOW_ROUNDS 4u
#define FLOW_ROUNDS_BRIEF 2u

/* A price that is paid only if there is no other way: a bound. */
#define FLOW_BOUND (UINT32_C(1) << 20)

/* The largest wanted value; larger ones count as this one. */
#define FLOW_MOST (UINT64_C(1) << 52)

/* A count that is looked for. Unknown is {0, 0, a small price}. */
struct flow_wish {
    uint64_t wanted;
    uint32_t less; /* price of each unit below wanted, at most FLOW_BOUND */
    uint32_t more; /* of each unit above it */
};

struct flow_node {
    struct flow_wish count; /* of what passes through the node */
    struct flow_wish entry; /* of what begins here */
    struct flow_wish exit;  /* of what ends here */
};

#define FLOW_WHOLE 65536u /* a share of 1 */

struct flow_edge {
    uint32_t from;
    uint32_t to;
    struct flow_wish count;
    uint32_t share;       /* of from's count, in parts of FLOW_WHOLE, if share_price is not 0: */
    uint32_t share_price; /* then this price replaces those of count, and share makes wanted */
};

struct flow_graph {
    const struct flow_node *nodes;
    const struct flow_edge *edges; /* may be parallel, and lead from a node to itself */
    uint32_t node_count;
    uint32_t edge_count;
    uint32_t entry; /* the node from which the estimate begins */
    bool is_brief;  /* fewer rounds */
};

/* The counts of a graph; arrays of the caller's. */
struct flow_counts {
    uint64_t *nodes;
    uint64_t *edges;
    uint64_t *entries; /* of each node */
    bool was_limited;  /* the work reached its limit: consistent, but not the cheapest */
};

/*
 * Find the counts. Time is limited to a constant for each node and edge: what is left unbalanced
 * then goes along a tree from the entry, or to the nearest exit. Fails with BAT_ERR_MEMORY.
 */
enum bat_code flow_solve(const struct flow_graph *graph, struct flow_counts *counts,
                         struct bat_error *error);

/*
 * Make counts the mean of both. Consistent counts stay so: halves are rounded up or down as that
 * needs. Linear. Fails with BAT_ERR_MEMORY.
 */
enum bat_code flow_mean(const struct flow_graph *graph, struct flow_counts *counts,
                        const struct flow_counts *other, struct bat_error *error);
