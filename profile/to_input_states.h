/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What an execution of the input has come to when one of the output comes to a place. The note
 * tells that of the input's blocks, branches and calls; what stands between them (code that BOLT
 * has inlined or copied, tests of promoted calls, jumps of the new layout) follows from where it is
 * come from. Internal to to_input*.c.
 */
#ifndef BAT_PROFILE_TO_INPUT_STATES_H
#define BAT_PROFILE_TO_INPUT_STATES_H

#include "to_input_followed.h"

/*
 * Fill the states of all nodes, as far as they are known, and what input_match() fills. Fails with
 * BAT_ERR_MEMORY.
 */
enum bat_code input_states_find(const struct input_followed *function);

#endif
