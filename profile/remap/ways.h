/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finds the input's paths between the nodes of an output function. Internal to profile/remap/. */
#pragma once

#include "followed_function.h"

/*
 * Fill all paths of a node: to its instruction, and from there to the next node and to the branch
 * target. input_states_find() must have run. Fails with BAT_ERR_MEMORY.
 */
enum bat_code input_ways_find(const struct input_followed *function, struct input_node *node);
