/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How often the old branches that test a value went which way. Internal to next/. */
#pragma once

#include "flooding.h"

/* Of all branches that test a value under a condition. */
struct next_outcome {
    uint32_t tested;
    uint32_t condition;
    uint32_t old_count; /* branches */
    uint32_t new_count; /* ... of the new program, in the first outcome of a value */
    double taken;
    double on;
};

struct next_outcomes {
    struct next_outcome *all; /* ascending by tested and condition */
    size_t count;
};

/* Free it also after a failure. n log n. Fails with BAT_ERR_MEMORY. */
enum bat_code next_outcomes_open(const struct flooding_side *old_side,
                                 const struct flooding_side *new_side,
                                 struct next_outcomes *outcomes, struct bat_error *error);
void next_outcomes_free(struct next_outcomes *outcomes);

/*
 * The shares of the two ways from a node of the new program, in the order of its links, by all old
 * branches that test its value under its condition or the opposite one. False if there are none.
 * *is_only: it is the one that tests its value, and there is one old branch that ran and does.
 * Logarithmic.
 */
bool next_outcomes_shares(const struct next_outcomes *outcomes,
                          const struct flooding_side *new_side, uint32_t node, float shares[2],
                          bool *is_only);
