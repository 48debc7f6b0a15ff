/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Following control through the code of a function with a table, step by step. Internal to
 * flow_*.c. */
#pragma once

#include "translation.h"

#define MOST_LEVELS 16u /* a function and the inlined calls nested in it */

/* Where control is in one function: the trace's, or one that is inlined there. */
struct position {
    const struct bat_output_flow *flow;
    const struct trace *trace;
    uint32_t parent;   /* the function */
    uint32_t call;     /* the inlined call, as index in the flow of the level before */
    uint32_t block;    /* output block */
    uint32_t owner;    /* input block; BAT_NONE if not known */
    bool begins_block; /* control is at the start of block, not inside of it */
    bool is_innermost; /* no call is inlined here */
};

/* Where control is: level 0 is the function that has the code, the others are inlined there. */
struct place_in_code {
    struct position levels[MOST_LEVELS];
    unsigned count;
};

/* The flow of a function with a table. Fails with BAT_ERR_MEMORY. */
enum bat_code flow_of(struct translation *translation, uint32_t function,
                      const struct bat_output_flow **flow);

/* Count what is no edge of the input, or not known as one. */
void flow_leave_out(struct translation *translation, uint64_t count);

/*
 * Fill the place of control at the start of a block, or inside of it, that was not followed there.
 */
void flow_begin_at(struct translation *translation, uint32_t function,
                   const struct bat_output_flow *flow, uint32_t block, const struct trace *trace,
                   struct place_in_code *place);

/* True if control is where flow_begin_at() has it, whatever it came from. */
bool flow_is_as_begun(const struct place_in_code *place);

/* Add the records of control falling through from a place to the next block, `to`. */
enum bat_code flow_fall_through(struct translation *translation, struct place_in_code *place,
                                uint32_t to);
