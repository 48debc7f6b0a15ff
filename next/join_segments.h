/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Makes the nodes of a graph. Internal to next/. */
#pragma once

#include "unit_graph.h"

/* A segment while its graph is made. */
struct next_made_segment {
    struct next_segment segment;
    bool is_reached; /* see next_node */
    double count;    /* measured */
};

/*
 * Make the nodes of a graph, and its segments in their order. Its links, contexts and entry,
 * until then between made segments, are between nodes; links in nodes are gone. Fails with
 * BAT_ERR_MEMORY. Linear in its size.
 */
enum bat_code next_join_segments(const struct next_program *program,
                                 const struct next_made_segment *made, uint32_t count,
                                 struct next_graph *graph, struct bat_error *error);
