/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Walks through the input's code to the instruction that an instruction of the output is. Internal
 * to profile/remap/.
 */
#pragma once

#include "followed_function.h"

/* A walk to the next instruction of the input that decides where execution goes. */
struct input_walk {
    const struct input_followed *function;
    const struct input_node *node; /* the output's instruction that it is compared with */
    struct input_state state;
    struct bat_instruction instruction; /* at state, when path.found */
    struct input_path_draft path;
    bool is_probe; /* node is not known: every call decides */
    bool is_lazy;  /* the start of a block that the note lists ends the walk, too */
    enum bat_code code;
};

static inline void input_walk_begin(struct input_walk *walk, const struct input_followed *function,
                                    const struct input_node *node, struct input_state state)
{
    *walk = (struct input_walk){.function = function, .node = node, .state = state};
}

/*
 * Walk to the deciding instruction; path.found is true if there is one (path.last is not filled).
 * The caller begins it and may set is_probe and is_lazy. Sets code
 * to BAT_OK or BAT_ERR_MEMORY.
 */
void input_walk_on(struct input_walk *walk);
