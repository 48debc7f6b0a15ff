/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The search for a way from one place of the input to another. Internal to to_input*.c. */
#ifndef BAT_PROFILE_TO_INPUT_SEARCH_H
#define BAT_PROFILE_TO_INPUT_SEARCH_H

#include "to_input_path.h"

/*
 * The way from one state to another in the function of a hot table, over as few blocks as possible.
 * It goes through code that can have no trace in the output: calls that are inlined, blocks that
 * have no code. must_move: it is not empty, even if both states are the same. A way that is not
 * found is none; fails with BAT_ERR_MEMORY.
 */
enum bat_code input_search(struct input_flow *flow, uint32_t hot, struct input_state from,
                           struct input_state to, bool must_move, struct input_path_draft *path);

#endif
