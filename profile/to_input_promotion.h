/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Indirect calls that BOLT has promoted to direct ones. Internal to to_input*.c. */
#ifndef BAT_PROFILE_TO_INPUT_PROMOTION_H
#define BAT_PROFILE_TO_INPUT_PROMOTION_H

#include "to_input_walk.h"

/*
 * A branch that compares what an indirect call of the input would call: where it is equal, the
 * output has a call of that function or, inlined, its code.
 */
enum bat_code input_promotion_follow(const struct input_followed *function, struct input_node *node,
                                     const struct input_walk *walk);

#endif
