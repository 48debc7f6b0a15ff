/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Likeness that floods through the graphs: two blocks are the more alike, the more alike their
 * predecessors, successors and dominators are. Jump tables are aligned entry by entry, and blocks
 * between sure pairs are in the same order. Internal to next/.
 */
#ifndef BAT_NEXT_FLOODING_H
#define BAT_NEXT_FLOODING_H

#include "likeness.h"

/* Two graphs with what flooding needs of them. */
struct flooding_side {
    struct next_program *program;
    const struct next_graph *graph;
    uint32_t *dominators; /* see dominators.h */
    uint32_t *post_dominators;
    uint32_t *before; /* node i's predecessors are before[into[i] .. into[i + 1]) of the graph */
    uint32_t *conditions; /* of each node's conditional branch; 0 if it has none at its end */
};

/* Free it also after a failure. */
enum bat_code flooding_open(struct next_program *program, const struct next_graph *graph,
                            struct flooding_side *side, struct bat_error *error);
void flooding_free(struct flooding_side *side);

/* Fill likeness->value. Linear in the pairs, and in the links around them. */
enum bat_code flooding_run(const struct flooding_side *old_side,
                           const struct flooding_side *new_side, struct likeness *likeness,
                           struct bat_error *error);

/* Raise likeness->base of pairs that aligned jump tables lead to; with_regions: also of what these
 * dominate. */
enum bat_code flooding_align_tables(const struct flooding_side *old_side,
                                    const struct flooding_side *new_side, struct likeness *likeness,
                                    bool with_regions, struct bat_error *error);

/* How the conditional branches at the ends of two nodes test: the same, the opposite, or other. */
enum flooding_condition { CONDITION_OTHER, CONDITION_SAME, CONDITION_INVERSE };
static inline enum flooding_condition flooding_compare(uint32_t a, uint32_t b)
{
    if (a == 0 || b == 0)
        return CONDITION_OTHER;
    return a == b ? CONDITION_SAME : a == (b ^ 1u) ? CONDITION_INVERSE : CONDITION_OTHER;
}

#endif
