/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Indirect calls that BOLT has promoted to direct ones. Internal to profile/remap/. */
#pragma once

#include "walk.h"

/*
 * Follow a branch of BOLT's that compares the pointer of an indirect call with a function. Where
 * they are equal, the output calls that function directly or has its code inlined: in the second
 * case fill taken (or fall), jump, jumps_if_taken and jumps_if_not of node. The same for a branch
 * that compares the index of a jump table of addresses: the table has the input's target. walk
 * stands at the indirect call or jump of the input. Fails with BAT_ERR_MEMORY.
 */
enum bat_code input_promotion_follow(const struct input_followed *function, struct input_node *node,
                                     const struct input_walk *walk);

/* True if the next branch or call of the output at or behind a node calls callee, an input address.
 */
bool input_calls_next(const struct input_followed *function, const struct input_node *node,
                      uint64_t callee);
