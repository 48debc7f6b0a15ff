/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The graph that blocks are matched in: a unit's blocks, and in place of some calls the blocks of
 * what is called, because the other program's compiler has inlined it ("virtual inlining").
 * Internal to next/.
 */
#pragma once

#include "measured.h"

/* How deep calls are put in place of calls. */
#define NEXT_INLINE_DEPTH 3u

/* A block, or a piece of one between calls that were replaced. */
struct next_node {
    uint32_t unit;
    uint32_t block;
    uint32_t first; /* its instructions in the unit: [first, end) */
    uint32_t end;
    uint32_t context; /* of which call it stands in place: 0 for the unit itself */
    bool begins;      /* the block's first piece */
    bool ends;        /* its last one */
    bool is_reached;  /* false: in place of a call that never ran, or the new program has no longer
                         the branch past it; count, 0, tells nothing */
    double count;     /* measured */
};

struct next_link {
    uint32_t from;
    uint32_t to;
    uint32_t
        edge;     /* of the unit's edges; BAT_NONE for one into, out of or across a replaced call */
    uint8_t kind; /* enum next_edge_kind */
    double count; /* measured */
    double whole; /* ... of the edge by all calls of its unit */
};

/* A replaced call. */
struct next_context {
    uint32_t unit;   /* that is called */
    uint32_t parent; /* context of the call */
    uint32_t entry;  /* node */
};

struct next_graph {
    struct next_node *nodes;
    struct next_link *links; /* by from */
    struct next_context *contexts;
    uint32_t node_count;
    uint32_t link_count;
    uint32_t context_count;
    uint32_t entry; /* node */
    uint32_t *out;  /* node i's links are links[out[i] .. out[i + 1]) */
    uint32_t *into; /* ... and those to it links[by_target[into[i] .. into[i + 1])] */
    uint32_t *by_target;
    uint32_t *taken;  /* for each node: where its conditional branch leads; BAT_NONE */
    uint32_t *on;     /* ... and where it goes on */
    uint32_t *tested; /* ... and what value it tests (values.h); 0: not known */

    size_t node_capacity;
    size_t link_capacity;
    size_t context_capacity;
};

/* Which units stand in place of their calls: a byte for each unit of the program. */
struct next_inlining {
    const uint8_t *units; /* NULL: none */
    uint32_t nodes_max;   /* in place of calls; half of it below callees, a quarter below theirs */
};

/*
 * Make the graph of a unit. measured may be NULL: all counts are 0. The caller frees *graph with
 * next_graph_free(), also after a failure. Linear in its size.
 */
enum bat_code next_graph_make(struct next_program *program, const struct next_measured *measured,
                              uint32_t unit, struct next_inlining inlining,
                              struct next_graph *graph, struct bat_error *error);
void next_graph_free(struct next_graph *graph);

/* The node's instructions. */
static inline const struct next_instruction *
next_node_code(const struct next_program *program, const struct next_node *node, uint32_t *count)
{
    *count = node->end - node->first;
    return program->units[node->unit]->instructions + node->first;
}

/* The block that a node is of. */
static inline const struct next_block *next_node_block(const struct next_program *program,
                                                       const struct next_node *node)
{
    return &program->units[node->unit]->blocks[node->block];
}

/* The number of links from a node, or to it. */
static inline uint32_t next_degree(const struct next_graph *graph, uint32_t node, bool is_out)
{
    const uint32_t *first = is_out ? graph->out : graph->into;
    return first[node + 1] - first[node];
}

/* Where the i-th of them leads, or comes from. */
static inline uint32_t next_neighbour(const struct next_graph *graph, uint32_t node, uint32_t i,
                                      bool is_out)
{
    return is_out ? graph->links[graph->out[node] + i].to
                  : graph->links[graph->by_target[graph->into[node] + i]].from;
}

#define NEXT_NEIGHBOURS_MAX 48u

/* How many of the links are compared with another node's: interpreters have blocks with hundreds.
 */
static inline uint32_t next_compared_degree(const struct next_graph *graph, uint32_t node,
                                            bool is_out)
{
    const uint32_t degree = next_degree(graph, node, is_out);
    return degree < NEXT_NEIGHBOURS_MAX ? degree : NEXT_NEIGHBOURS_MAX;
}
