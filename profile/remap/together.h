/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Goes through code of the output and of the input together. Internal to profile/remap/. */
#pragma once

#include "followed_function.h"

/* True if an input address is in the same function as another. */
bool input_shares_function(const struct input_followed *function, uint64_t left, uint64_t right);

/*
 * Pass an instruction that the output has no trace of: a no-operation, or a return or jump of
 * inlined code. The jump is added to path, unless that is NULL. False for other instructions.
 */
#define INPUT_MOST_SILENT 16u /* of these in a row */
bool input_pass_silent(const struct input_followed *function, struct input_state *state,
                       struct input_path_draft *path);

/*
 * Pass what the output has no trace of, so that all ways to a node agree on its state: a loop goes
 * back to the instruction behind no-operations, and inlined code has jumps and several returns. The
 * jumps are added to path, unless that is NULL.
 */
void input_skip_silent(const struct input_followed *function, struct input_state *state,
                       struct input_path_draft *path);

/*
 * Go with the input through the plain code from a node to the next one: *state, where the input is
 * at the node, is at the next node then. The jumps are added to path, unless that is NULL. False if
 * the code differs, where BOLT has changed it.
 */
bool input_step_together(const struct input_followed *function, const struct input_node *node,
                         struct input_state *state, struct input_path_draft *path);

/*
 * True if the code of a node begins as the input's code at an address does. *is_plain is true if
 * that is by an instruction which tells more than its kind.
 */
bool input_begins_alike(const struct input_followed *function, const struct input_node *node,
                        uint64_t input, bool *is_plain);
