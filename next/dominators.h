/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which node each way to a node leads through at last. Internal to next/. */
#pragma once

#include "unit_graph.h"

/*
 * The immediate dominator of each node; BAT_NONE for the entry and what it does not reach. With
 * is_post those of the graph with all links turned around, from all nodes without a link out. The
 * array has graph->node_count elements; the caller frees it. NULL without memory. n log n.
 */
uint32_t *next_dominators(const struct next_graph *graph, bool is_post);
