/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The counts of a new unit, from those of the old one and the matching of their blocks: sure
 * matches keep their counts, branches their shares, and the rest follows from the flow.
 * Internal to next/.
 */
#pragma once

#include "flow_solver.h"
#include "match_blocks.h"
#include "unit_graph.h"

/* Two graphs whose blocks are matched. */
struct next_inference {
    const struct flooding_side *old_side;
    const struct flooding_side *new_side;
    const struct next_match *match; /* NULL: nothing is known but the entries */
    const uint64_t *most_calls;     /* of the new program's functions; or NULL */
    const float *shares;            /* of the new graph's links: see next_static_shares() */
    double scale;                   /* of the old counts */
    double entries;                 /* of the new unit */
    const double *entered; /* for each old node: entries from elsewhere, such as exceptions */
    bool is_brief;         /* one flow in place of two */
};

/* The caller frees *inferred with next_inferred_free(), also after a failure. */
enum bat_code next_infer(const struct next_inference *inference, struct flow_counts *inferred,
                         struct bat_error *error);
void next_inferred_free(struct flow_counts *inferred);

/*
 * Old code that never ran, and whose match runs by the counts that were inferred, as the new
 * program has no longer the branch that went past it: clear is_reached of it and of all that it
 * dominates and that never ran, too. Their zeros tell nothing then. Linear.
 */
enum bat_code next_wake(struct next_graph *old_graph, const uint32_t *dominators,
                        const struct next_match *match, const uint64_t *counts,
                        struct bat_error *error);

/*
 * Fill shares, for each link its share of what its node leads to; those of one node add up to 1.
 * most_calls, for each function of the program or NULL: where it is 0, calls never ran.
 * Linear. Fails with BAT_ERR_MEMORY.
 */
enum bat_code next_static_shares(const struct flooding_side *side, const uint64_t *most_calls,
                                 float *shares, struct bat_error *error);

/* True for the name of a function that does not return. */
bool next_never_returns(const struct next_program *program, uint32_t function);
