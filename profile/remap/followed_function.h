/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * One function of the output that is followed beside its input function: the argument that states,
 * match, walk, ways and promotion share. Internal to profile/remap/.
 */
#pragma once

#include "nodes.h"

struct input_followed {
    struct input_flow *flow;
    struct input_nodes *nodes;
    uint32_t hot;         /* its hot table */
    uint64_t input_start; /* the input function's code */
    uint64_t input_end;
};

/* True if an input address is in the input function's own code, not in inlined code. */
static inline bool input_is_inside(const struct input_followed *function, uint64_t address)
{
    return address >= function->input_start && address < function->input_end;
}
