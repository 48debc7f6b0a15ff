/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The ways of the input between the nodes of an output function. Internal to to_input*.c. */
#ifndef BAT_PROFILE_TO_INPUT_WAYS_H
#define BAT_PROFILE_TO_INPUT_WAYS_H

#include "to_input_followed.h"

/*
 * Find the ways to a node's instruction and from there to the next node and to its target, when all
 * states are known: fills all paths. Fails with BAT_ERR_MEMORY.
 */
enum bat_code input_ways_find(const struct input_followed *function, struct input_node *node);

#endif
