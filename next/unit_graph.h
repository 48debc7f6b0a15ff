/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The graph that blocks are matched in: a unit's blocks, and in place of some calls the blocks of
 * what is called, because the other program's compiler has inlined it ("virtual inlining"). Blocks
 * that only follow each other are one node, as where the compiler has made one of them.
 * Internal to next/.
 */
#pragma once

#include "measured.h"

/* How deep calls are put in place of calls. */
#define NEXT_INLINE_DEPTH 3u

/* A block, or what is between calls in it that were replaced. */
struct next_segment {
    uint32_t unit;
    uint32_t block;
    uint32_t first; /* its instructions in the unit: [first, end) */
    uint32_t end;
    uint32_t context; /* of which call it stands in place: 0 for the unit itself */
    uint32_t edge;    /* to the next segment of its node; BAT_NONE: none, or no edge of the unit */
    bool begins;      /* the block's first segment */
    bool ends;        /* its last one */
};

/* Segments that follow each other on all ways. */
struct next_node {
    uint32_t first; /* its segments are segments[first .. end) of the graph */
    uint32_t end;
    uint32_t code_count;
    bool is_reached; /* false: in place of a call that never ran, or the new program has no longer
                        the branch past it; count, 0, tells nothing */
    const struct next_instruction *code; /* without jumps to the next segment, and returns to it */
    double count;                        /* measured, of the first segment */
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
    uint32_t caller; /* node that calls it */
    uint32_t entry;  /* node with its first segment */
    uint32_t place;  /* of the call in the source (source_lines.h); BAT_NONE: not known */
};

struct next_graph {
    struct next_node *nodes;
    struct next_segment *segments;
    struct next_link *links; /* by from */
    struct next_context *contexts;
    struct next_instruction *code; /* of nodes with more than one segment */
    uint32_t node_count;
    uint32_t segment_count;
    uint32_t link_count;
    uint32_t context_count;
    uint32_t entry; /* node */
    uint32_t *out;  /* node i's links are links[out[i] .. out[i + 1]) */
    uint32_t *into; /* ... and those to it links[by_target[into[i] .. into[i + 1])] */
    uint32_t *by_target;
    uint32_t *taken;  /* for each node: where its conditional branch leads; BAT_NONE */
    uint32_t *on;     /* ... and where it goes on */
    uint32_t *tested; /* ... and what value it tests (values.h); 0: not known. NULL: of none */

    size_t link_capacity;
    size_t context_capacity;
};

/* The first segment of a node, and the last one. */
static inline const struct next_segment *next_first_segment(const struct next_graph *graph,
                                                            uint32_t node)
{
    return &graph->segments[graph->nodes[node].first];
}

static inline const struct next_segment *next_last_segment(const struct next_graph *graph,
                                                           uint32_t node)
{
    return &graph->segments[graph->nodes[node].end - 1];
}

/* The block that a segment is of. */
static inline const struct next_block *next_segment_block(const struct next_program *program,
                                                          const struct next_segment *segment)
{
    return &program->units[segment->unit]->blocks[segment->block];
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
