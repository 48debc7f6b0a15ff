/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finds the instruction of the input that a node of the output is. Internal to profile/remap/. */
#pragma once

#include "followed_function.h"

/*
 * Follow the input from a node's state to the node's instruction and past it. Fills source, taken,
 * fall, tail_call, jump, jumps_if_taken, jumps_if_not, is_promotion and is_entry, and `before`
 * unless is_entry is set. Fails with BAT_ERR_MEMORY.
 */
enum bat_code input_match(const struct input_followed *function, struct input_node *node);

/* Fill `before` of a node with is_entry. Fails with BAT_ERR_MEMORY. */
enum bat_code input_match_before(const struct input_followed *function, struct input_node *node);
