/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Makes the graph of a unit. Internal to next/. */
#pragma once

#include "unit_graph.h"

/* Which units stand in place of their calls: a byte for each unit of the program. */
struct next_inlining {
    const uint8_t *units;  /* NULL: none */
    uint32_t segments_max; /* in place of calls; half of it below callees, a quarter below theirs */
};

/*
 * Make the graph of a unit. measured may be NULL: all counts are 0. The caller frees *graph with
 * next_graph_free(), also after a failure. Linear in its size.
 */
enum bat_code next_graph_make(struct next_program *program, const struct next_measured *measured,
                              uint32_t unit, struct next_inlining inlining,
                              struct next_graph *graph, struct bat_error *error);
void next_graph_free(struct next_graph *graph);
