/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Walks through the input's code beside an instruction of the output. Internal to to_input*.c.
 */
#ifndef BAT_PROFILE_TO_INPUT_WALK_H
#define BAT_PROFILE_TO_INPUT_WALK_H

#include "to_input_followed.h"

/* A walk through the input to the instruction that decides where to go next. */
struct input_walk {
    const struct input_followed *function;
    const struct input_node *node; /* of the output, which waits for it */
    struct input_state state;
    struct bat_instruction instruction; /* at state, once it is found */
    struct input_path_draft path;
    bool is_probe; /* all calls decide: what the output's instruction is, is not known */
    bool is_lazy;  /* blocks that the note knows end it, too */
    enum bat_code code;
};

/*
 * Walk to what decides; path.found if it is found (path.last is not filled). function, node, state,
 * is_probe and is_lazy are given, all else is zero. code is BAT_OK or BAT_ERR_MEMORY.
 */
void input_walk_on(struct input_walk *walk);

#endif
