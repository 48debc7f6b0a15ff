/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Searches a path from one state of the input to another. Internal to profile/remap/. */
#pragma once

#include "input_flow.h"

/*
 * The path from one state to another in the function of a hot table, over as few blocks as
 * possible. It may only pass through code that the output can run without a trace of it: inlined
 * calls, and blocks without code in the output; with passes_branches also blocks that begin with a
 * conditional branch, whose tests another branch of the output makes. With must_move the path is
 * not empty even if both states are equal. path->found is false if there is none. Fails with
 * BAT_ERR_MEMORY.
 */
enum bat_code input_search(struct input_flow *flow, uint32_t hot, struct input_state from,
                           struct input_state to, bool must_move, bool passes_branches,
                           struct input_path_draft *path);
