/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The loops of a graph. Internal to next/. */
#pragma once

#include "likeness.h"
#include "unit_graph.h"

/* What is deeper counts as this deep. */
#define LOOPS_DEPTH_MAX 6u

struct next_loops {
    uint8_t *depths;  /* of each node: the number of loops around it, at most LOOPS_DEPTH_MAX */
    uint32_t *inner;  /* ... and the innermost one of them, or BAT_NONE */
    uint32_t *around; /* for each loop: the one around it, or BAT_NONE */
    uint8_t *is_back; /* for each link: 1 if it leads back to an entry of a loop */
    uint32_t count;
};

/*
 * Find the loops of a graph. A loop is a strongly connected set of nodes; without the links that
 * lead back to where it is entered it falls apart, and what is left connected is the loops in it.
 * It may have several entries: jumps by tables at the end of each case are one loop, like a single
 * jump by a table. A loop that was measured and never went round is none: where a compiler has
 * taken the first round out of it, that is what ran. Free it also after false: no memory. Linear in
 * the graph.
 */
bool next_loops_find(const struct next_graph *graph, struct next_loops *loops);
void next_loops_free(struct next_loops *loops);

/*
 * How alike the loops of two graphs are by all that is in them: for each old one, and then for what
 * is in no loop (all of the graph), a row of the new ones. 1 for two that nothing else is more
 * like; NULL if there are too many. The caller frees it. False without memory.
 */
bool next_compare_loops(const struct next_loops *olds, const struct next_loops *news,
                        const struct likeness *likeness, float **alike);

/* Where the innermost loops around two nodes are in that. */
static inline size_t next_loop_pair(const struct next_loops *olds, uint32_t old_node,
                                    const struct next_loops *news, uint32_t new_node)
{
    uint32_t row = olds->inner[old_node] == BAT_NONE ? olds->count : olds->inner[old_node];
    uint32_t column = news->inner[new_node] == BAT_NONE ? news->count : news->inner[new_node];
    return (size_t)row * (news->count + 1) + column;
}
