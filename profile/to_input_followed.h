/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What all parts of the following of a function work on. Internal to to_input*.c. */
#ifndef BAT_PROFILE_TO_INPUT_FOLLOWED_H
#define BAT_PROFILE_TO_INPUT_FOLLOWED_H

#include "to_input_nodes.h"
#include "to_input_path.h"

/* A function of the output whose code is followed, beside its input. */
struct input_followed {
    struct input_flow *flow;
    struct input_paths *paths;
    struct input_nodes *nodes;
    uint32_t hot;         /* its hot table */
    uint64_t input_start; /* of its input's code */
    uint64_t input_end;
};

/* True if an input address is in the function's own code. */
static inline bool input_is_inside(const struct input_followed *function, uint64_t address)
{
    return address >= function->input_start && address < function->input_end;
}

#endif
