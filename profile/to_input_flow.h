/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The input's flow of control: its instructions, the blocks that the note knows, and the frames of
 * calls that BOLT has inlined. Internal to to_input*.c.
 */
#ifndef BAT_PROFILE_TO_INPUT_FLOW_H
#define BAT_PROFILE_TO_INPUT_FLOW_H

#include "counts.h"
#include "original.h"

/* The frame of code that BOLT has not inlined: the function's own. */
#define INPUT_ROOT_FRAME 0u

/* A call that BOLT has inlined: code in it returns to the caller's. */
struct input_frame {
    uint32_t caller;     /* frame */
    uint32_t depth;      /* number of frames below */
    uint64_t returns_to; /* 0: of the root frame and of tail calls, which the output returns from */
};

/* Where an execution of the input is: before the instruction at `at`. */
struct input_state {
    uint64_t at; /* 0: not known */
    uint32_t frame;
};

/* A block of an input function that BAT knows. */
struct input_block {
    uint64_t address;
    bool is_live; /* some of its code is in the output */
};

/* Code without any instruction that changes the flow of control, and the first one behind it. */
struct input_run {
    uint64_t start;
    uint64_t end;  /* that instruction; start if the code is empty */
    uint64_t last; /* the one before */
};

/* The blocks of an input function. */
struct input_function {
    struct input_block *blocks; /* ascending */
    uint32_t count;
    bool is_read;
};

struct input_flow {
    const struct bat_original *original;
    struct input_function *functions; /* of the hot tables */
    struct input_frame *frames;
    uint32_t frame_count;
    uint32_t frame_capacity;
    struct bat_counts frames_by_call; /* caller, returns_to: index in frames */
    struct input_decoded *decoded;    /* instructions of the input, by address */
    struct input_run *runs;           /* straight code of the input, by where it begins */
};

enum bat_code input_flow_open(struct input_flow *flow, const struct bat_original *original);
void input_flow_close(struct input_flow *flow);

/* Read the blocks that the note knows of a hot table's function, once. */
enum bat_code input_flow_read(struct input_flow *flow, uint32_t hot);

/*
 * The run that starts at an input address; one that comes to limit ends there, or behind it. False
 * if it is long or cannot be decoded. What was gone through once is not again, which pays where
 * more than INPUT_RUN_PAYS bytes would be.
 */
#define INPUT_RUN_PAYS 256u
bool input_flow_run(struct input_flow *flow, uint64_t start, uint64_t limit, struct input_run *run);

/* Where the first block at or above an input address starts, or UINT64_MAX. They have been read. */
uint64_t input_flow_next_block(const struct input_flow *flow, uint32_t hot, uint64_t address);

/* The block of a function that starts at an input address, or NULL. */
const struct input_block *input_block_at(const struct input_function *function, uint64_t address);

/* True if a block that the note knows starts at an input address. They have been read. */
bool input_flow_is_block(const struct input_flow *flow, uint32_t hot, uint64_t address);

/* The instruction at an input address; false if there is none. */
bool input_flow_decode(struct input_flow *flow, uint64_t address,
                       struct bat_instruction *instruction);

/* The frame of a call in code of frame caller; BAT_NONE if calls are nested too deep. */
enum bat_code input_flow_enter(struct input_flow *flow, uint32_t caller, uint64_t returns_to,
                               uint32_t *frame);

/* True if a call to address leaves the binary, by a PLT entry; *leaves is the jump that does. */
bool input_flow_is_outside(const struct input_flow *flow, uint64_t address, uint64_t *leaves);

/* True if a function's own code starts at an input address; false for PLT entries. */
bool input_flow_has_code(const struct input_flow *flow, uint64_t address);

/* True if a call of the output and one of the input, to these addresses, call the same. */
bool input_flow_calls_same(const struct input_flow *flow, uint64_t output_target,
                           uint64_t input_target);

/* --- Kinds of instructions -------------------------------------------------------------------- */

static inline bool input_kind_is_direct(uint8_t kind)
{
    return kind == BAT_INSTRUCTION_JUMP || kind == BAT_INSTRUCTION_CONDITIONAL;
}

static inline bool input_kind_is_call(uint8_t kind)
{
    return kind == BAT_INSTRUCTION_CALL || kind == BAT_INSTRUCTION_INDIRECT_CALL;
}

/* True if it does more than go on to the next instruction. */
static inline bool input_kind_changes_flow(uint8_t kind)
{
    return kind != BAT_INSTRUCTION_OTHER && kind != BAT_INSTRUCTION_NOP;
}

/* True if the next instruction may follow. */
static inline bool input_kind_goes_on(uint8_t kind)
{
    return kind != BAT_INSTRUCTION_JUMP && kind != BAT_INSTRUCTION_INDIRECT_JUMP &&
           kind != BAT_INSTRUCTION_RETURN && kind != BAT_INSTRUCTION_TRAP;
}

#endif
