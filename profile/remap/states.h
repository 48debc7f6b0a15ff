/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Finds the state of the input at each node of the output: where an execution of the input is when
 * the output arrives at the node. The note gives the state at the input's blocks, branches and
 * calls. The states between them (in code that BOLT inlined or copied, in comparisons of promoted
 * calls, at jumps of the new layout) follow from the nodes that lead there. Internal to
 * the library.
 */
#pragma once

#include "followed_function.h"

/*
 * Fill the state of each node, as far as it can be known, and what input_match() fills. Fails with
 * BAT_ERR_MEMORY.
 */
enum bat_code input_states_find(const struct input_followed *function);
