/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Which way a block mostly leads, told by the code alone: loops go on, what only fails is cold.
 * Internal to next/.
 */
#pragma once

#include "unit_graph.h"

/*
 * Fill shares, for each link its share of what its node leads to; those of one node add up to 1.
 * cold_functions, a byte for each function of the program or NULL: calls of these never ran.
 * Linear. Fails with BAT_ERR_MEMORY.
 */
enum bat_code next_static_shares(const struct next_program *program, const struct next_graph *graph,
                                 const uint8_t *cold_functions, float *shares,
                                 struct bat_error *error);
