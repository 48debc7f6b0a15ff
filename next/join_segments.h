/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Makes the nodes of a graph. Internal to next/. */
#pragma once

#include "unit_graph.h"

/*
 * Make nodes of a graph's segments, which are put in their order. Its links, contexts and entry,
 * until then between segments, are between nodes; links in nodes are gone. Fails with
 * BAT_ERR_MEMORY. Linear in its size.
 */
enum bat_code next_join_segments(const struct next_program *program, struct next_graph *graph,
                                 struct bat_error *error);
