/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Likeness that floods through the graphs: two blocks are the more alike, the more alike their
 * predecessors, successors and dominators are. Jump tables are aligned entry by entry, and blocks
 * between sure pairs are in the same order. Internal to next/.
 */
#pragma once

#include "likeness.h"
#include "loops.h"

/* Two graphs with what flooding needs of them. */
struct flooding_side {
    struct next_program *program;
    const struct next_graph *graph;
    uint32_t *dominators; /* see dominators.h */
    uint32_t *post_dominators;
    struct next_loops loops;
    uint32_t *before; /* node i's predecessors are before[into[i] .. into[i + 1]) of the graph */
    /* Of each node's conditional branch, with FLOODING_TESTS; 0 if it has none at its end. */
    uint32_t *conditions;
};

/* Free it also after a failure. */
enum bat_code flooding_open(struct next_program *program, const struct next_graph *graph,
                            struct flooding_side *side, struct bat_error *error);
void flooding_free(struct flooding_side *side);

/* Fill likeness->value. Linear in the pairs, and in the links around them. */
enum bat_code flooding_run(const struct flooding_side *old_side,
                           const struct flooding_side *new_side, bool is_brief,
                           struct likeness *likeness, struct bat_error *error);

/* Raise likeness->base of pairs that aligned jump tables lead to; with_regions: also of what these
 * dominate. */
enum bat_code flooding_align_tables(const struct flooding_side *old_side,
                                    const struct flooding_side *new_side, struct likeness *likeness,
                                    bool with_regions, struct bat_error *error);

/* What a condition tests, if that is known: bits that conditions.h does not use. */
#define FLOODING_TESTS_VALUES (1u << 28)
#define FLOODING_TESTS_CONSTANT (1u << 29)
/* ... by a condition that is an equality: to be equal to 1 is not to be equal to 0. */
#define FLOODING_TESTS_ZERO (1u << 26)
#define FLOODING_TESTS_NUMBER (1u << 27)
#define FLOODING_TESTS                                                                             \
    (FLOODING_TESTS_VALUES | FLOODING_TESTS_CONSTANT | FLOODING_TESTS_ZERO | FLOODING_TESTS_NUMBER)

/* How the conditional branches at the ends of two nodes test: the same, the opposite, or other. */
enum flooding_condition { CONDITION_OTHER, CONDITION_SAME, CONDITION_INVERSE };

/*
 * The same for two other conditions that test the same kind of thing. Compilers exchange two values
 * (a < b, b > a), and choose between constants (a < 5, a <= 4).
 */
enum flooding_condition flooding_compare_orders(uint32_t a, uint32_t b);

static inline enum flooding_condition flooding_compare(uint32_t a, uint32_t b)
{
    if (a == 0 || b == 0)
        return CONDITION_OTHER;
    const uint32_t numbers = FLOODING_TESTS_ZERO | FLOODING_TESTS_NUMBER;
    if (((a ^ b) & numbers) == numbers)
        return CONDITION_OTHER;
    uint32_t difference = (a ^ b) & ~FLOODING_TESTS;
    return difference == 0                                     ? CONDITION_SAME
           : difference == 1                                   ? CONDITION_INVERSE
           : (a ^ b) & FLOODING_TESTS || !(a & FLOODING_TESTS) ? CONDITION_OTHER
                                                               : flooding_compare_orders(a, b);
}
