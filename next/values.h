/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Which value a conditional branch tests, as a hash that tells nothing of registers, addresses and
 * the order of the code: the second argument, what a field of it points to, what a call returned.
 * Branches of one function that test the same value mostly go the same way. Internal to next/.
 */
#pragma once

#include "unit_graph.h"

/*
 * Set graph->tested. Values are followed along a shortest way from the entry to each node, through
 * callees in place of their calls, too; what is written elsewhere meanwhile is not known: it is
 * evidence, no proof. Linear in the instructions. Fails with BAT_ERR_MEMORY.
 */
enum bat_code next_find_tested(const struct next_program *program, struct next_graph *graph,
                               struct bat_error *error);

/* Forget values that only one of two graphs tests: they tell nothing of the other. Fails with
 * BAT_ERR_MEMORY. */
enum bat_code next_keep_shared_tests(struct next_graph *one, struct next_graph *other,
                                     struct bat_error *error);
