/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How deep in loops the nodes of a graph are. Internal to next/. */
#ifndef BAT_NEXT_LOOPS_H
#define BAT_NEXT_LOOPS_H

#include "unit_graph.h"

/* What is deeper counts as this deep. */
#define LOOPS_DEPTH_MAX 6u

/*
 * For each node the number of loops around it, at most LOOPS_DEPTH_MAX. A loop is a strongly
 * connected set of nodes; without the links that lead back to where it is entered it falls apart,
 * and what is left connected is the loops in it. It may have several entries: jumps by tables at
 * the end of each case are one loop, like a single jump by a table. A loop that was measured and
 * never went round is none: where a compiler has taken the first round out of it, that is what ran.
 * The caller frees it. NULL without memory. Linear in the graph.
 */
uint8_t *next_loop_depths(const struct next_graph *graph);

#endif
