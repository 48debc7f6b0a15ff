/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The input binary's flow of control: its instructions, the basic blocks that the note lists, and a
 * frame for each call that BOLT has inlined. Internal to profile/remap/.
 */
#pragma once

#include "binary/code/same_code.h"
#include "binary/original/original.h"
#include "path.h"
#include "support/counts.h"

/* The frame of the function's own code, which BOLT has not inlined. */
#define INPUT_ROOT_FRAME 0u

/* A call that BOLT has inlined: the callee's code returns to the caller's frame. */
struct input_frame {
    uint32_t caller;     /* frame */
    uint32_t depth;      /* number of callers; 0 for the root frame */
    uint64_t returns_to; /* 0 in the root frame and in tail calls, which the output returns from */
};

/* Where an execution of the input is: about to run the instruction at `at`. */
struct input_state {
    uint64_t at; /* input address; 0 if not known */
    uint32_t frame;
};

static inline bool input_is_same_state(struct input_state left, struct input_state right)
{
    return left.at == right.at && left.frame == right.frame;
}

/* A basic block of an input function that the note lists. */
struct input_block {
    uint64_t address;
    bool is_live; /* the output has some of its code */
};

/* Straight code: from start to the first instruction that changes the flow of control. */
struct input_run {
    uint64_t start;
    uint64_t end;  /* that instruction; start if the code is empty */
    uint64_t last; /* the instruction before end */
};

/* The blocks of an input function. */
struct input_function {
    struct input_block *blocks; /* ascending */
    uint32_t count;
    bool is_read;
};

struct input_flow {
    const struct bat_original *original;
    struct input_function *functions; /* one for each hot table */
    struct input_frame *frames;
    uint32_t frame_count;
    size_t frame_capacity;
    struct bat_counts frames_by_call; /* caller, returns_to: index in frames */
    struct bat_code_at *decoded;      /* cache of instructions, by address */
    struct input_run *runs;           /* cache of straight code, by start */
    struct input_paths paths;
    struct input_place *places; /* of a search (search.c) */
    size_t place_capacity;
    struct bat_plt_entry *plt; /* the input's entries, ascending; NULL until they are needed */
    size_t plt_count;
    uint64_t steps_left; /* of long walks: see input_flow_most_steps() */
    uint64_t limited;    /* walks that ended because there were none left */
};

enum bat_code input_flow_open(struct input_flow *flow, const struct bat_original *original);
void input_flow_close(struct input_flow *flow);

/* Read the blocks that the note lists for a hot table's function, once. */
enum bat_code input_flow_read(struct input_flow *flow, uint32_t hot);

/*
 * The straight code that starts at an input address; run->end is at or behind limit if the code
 * reaches limit. False if it is too long or cannot be decoded. Results are cached, which pays for
 * code of more than INPUT_RUN_PAYS bytes.
 */
#define INPUT_RUN_PAYS 256u
bool input_flow_run(struct input_flow *flow, uint64_t start, uint64_t limit, struct input_run *run);

/*
 * The steps that a walk through the input may take, at most `most`. Code where all walks are long
 * must not cost their product: together, long walks have steps_left, to which each function that is
 * read adds.
 */
#define INPUT_SHORT_WALK 64u
static inline uint32_t input_flow_most_steps(const struct input_flow *flow, uint32_t most)
{
    return flow->steps_left != 0 ? most : INPUT_SHORT_WALK;
}

/* Take the steps of a walk off the sum, if it was long. It could take most of them. */
static inline void input_flow_spend(struct input_flow *flow, uint32_t steps, uint32_t most)
{
    flow->limited += most == INPUT_SHORT_WALK && steps == most;
    if (steps > INPUT_SHORT_WALK)
        flow->steps_left -= steps < flow->steps_left ? steps : flow->steps_left;
}

/* The start of the first block at or above an address, or UINT64_MAX. After input_flow_read(). */
uint64_t input_flow_next_block(const struct input_flow *flow, uint32_t hot, uint64_t address);

/* The block of a function that starts at an input address, or NULL. */
const struct input_block *input_block_at(const struct input_function *function, uint64_t address);

/* True if a block that the note lists starts at an input address. After input_flow_read(). */
bool input_flow_is_block(const struct input_flow *flow, uint32_t hot, uint64_t address);

/* The instruction at an input address, until the next one is asked for; NULL if there is none. */
const struct bat_code_at *input_flow_code(struct input_flow *flow, uint64_t address);

/* The same; false if there is none. */
static inline bool input_flow_decode(struct input_flow *flow, uint64_t address,
                                     struct bat_instruction *instruction)
{
    const struct bat_code_at *code = input_flow_code(flow, address);
    if (code)
        *instruction = code->instruction;
    return code != NULL;
}

/* The frame of a call from code in frame caller; BAT_NONE if calls are nested too deep. */
enum bat_code input_flow_enter(struct input_flow *flow, uint32_t caller, uint64_t returns_to,
                               uint32_t *frame);

/*
 * The frame in which a jump of frame `frame` goes on that leads from another function into the
 * function itself (start to end): in the root frame, if only tail calls have led out of it.
 */
static inline uint32_t input_flow_frame_behind(const struct input_flow *flow, uint32_t frame,
                                               uint64_t from, uint64_t to, uint64_t start,
                                               uint64_t end)
{
    if (to < start || to >= end || (from >= start && from < end))
        return frame;
    for (uint32_t i = frame; i != INPUT_ROOT_FRAME; i = flow->frames[i].caller)
        if (flow->frames[i].returns_to != 0)
            return frame;
    return INPUT_ROOT_FRAME;
}

/* True if address is in a PLT entry, whose indirect jump, at *leaves, leaves the binary. */
bool input_flow_is_outside(const struct input_flow *flow, uint64_t address, uint64_t *leaves);

/*
 * True if the input's instruction at an address calls a function of another file that never
 * returns: one that throws or ends the program. The PLT is read once; without memory for it,
 * nothing is such a call.
 */
bool input_flow_never_returns(struct input_flow *flow, uint64_t call);

/*
 * True if the output's indirect call may be the input's call of a PLT entry (-plt): on x86-64 it
 * reads the same slot.
 */
bool input_flow_may_replace(const struct input_flow *flow, uint64_t output_call,
                            uint64_t input_target);

/* True if a function's own code starts at an input address; false for PLT entries. */
bool input_flow_has_code(const struct input_flow *flow, uint64_t address);

/* True if a call of the output and a call of the input, with these targets, call the same. */
bool input_flow_calls_same(const struct input_flow *flow, uint64_t output_target,
                           uint64_t input_target);

/* --- Kinds of instructions -------------------------------------------------------------------- */

/* True if the next instruction to run may be another than the one behind it. */
static inline bool input_kind_changes_flow(uint8_t kind)
{
    return kind != BAT_INSTRUCTION_OTHER && kind != BAT_INSTRUCTION_NOP;
}

/* True if the instruction behind it may run next. */
static inline bool input_kind_goes_on(uint8_t kind)
{
    return kind != BAT_INSTRUCTION_JUMP && kind != BAT_INSTRUCTION_INDIRECT_JUMP &&
           kind != BAT_INSTRUCTION_RETURN && kind != BAT_INSTRUCTION_TRAP;
}
