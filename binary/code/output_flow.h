/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The basic blocks of one function in the output (the BOLTed binary), and the input block that each
 * of them belongs to, its owner. BOLT splits and copies blocks and inlines code into them, and the
 * note has no entry for most of that; the output's instructions say which code is reached from
 * where. Uses the note alone, not the input binary. Internal to the library.
 */
#pragma once

#include "bat_decoder.h"
#include "bat_elf.h"
#include "binary/functions/functions.h"
#include "inlined.h"
#include "support/arena.h"
#include "support/parallel.h"
#include "three_way.h"

/* The most input blocks that begin at one address: more are ignored. */
#define BAT_BEGINS_MAX 0xffffffu

/*
 * A basic block of the output: entered at its start only, and left at its end only. 32 bytes: a
 * program has so many that what is read of them again takes longer than its masking.
 */
struct bat_output_block {
    uint64_t start;  /* address in the output */
    uint32_t size;   /* of its code, at most UINT32_MAX; see bat_output_block_end() */
    uint32_t target; /* the block that the direct branch at its end goes to; BAT_NONE for none */
    uint32_t branch; /* input offset of the branch at its end; BAT_NONE if the note lacks it */
    /*
     * The input block that it belongs to, as index into blocks; BAT_NONE if that is not known. A
     * block entry or a branch entry of the note in this code names the owner. Code without entries
     * belongs to the block from which alone it is reached.
     */
    uint32_t owner;
    /* The input blocks that begin here are begins[first_begin .. first_begin + begin_count), in the
     * order of their entries; all but the last one are empty. */
    uint32_t first_begin;
    uint32_t begin_count : 24;
    uint32_t last_size : 4; /* of the branch, jump, return or trap at its end; 0 if there is none */
    uint32_t has_target : 1; /* a direct branch is at its end, and its target is known */
    uint32_t falls_through : 1;
    uint32_t is_return : 1;   /* it is a single return instruction */
    uint32_t is_indirect : 1; /* an indirect jump is at its end */
};

/* What an output block is a copy of, if it is code of an inlined call. */
struct bat_output_copy {
    uint64_t origin;  /* the callee's address that start is a copy of; 0 for BOLT's own jumps */
    uint32_t inlined; /* the call, as index into inlined; BAT_NONE for other blocks */
    uint32_t copied;  /* the block in the callee's own flow that this is a copy of */
    bool begins_copy; /* start is a copy of that block's start */
};

/* A call that BOLT inlined. */
struct bat_output_inlined {
    uint32_t table;                     /* the callee's hot table */
    const struct bat_output_flow *flow; /* the callee's own code; NULL if it is not known */
};

/* All arrays of it but inlined, copies, pairs and pair_of are in its own block of memory. */
struct bat_output_flow {
    struct bat_block *blocks; /* of the input function, ascending */
    uint32_t block_count;
    struct bat_output_block *all; /* of all fragments, ascending */
    uint32_t count;
    uint32_t *begins; /* indices into blocks */
    struct bat_output_inlined *inlined;
    struct bat_output_copy *copies; /* for each of all; NULL if nothing is inlined */
    /* Pairs of branches whose targets BOLT may have exchanged, and for each input block its pair or
     * BAT_NONE. Both are NULL if there are none. */
    struct bat_three_way *pairs;
    uint32_t pair_count;
    uint32_t *pair_of;
    bool is_in_arena; /* its block of memory is in one of the arenas of struct bat_output_flows */
};

/* --- The functions of a program ------------------------------------------------------------- */

/* The flows of a program's functions, each read at its first use. */
struct bat_output_flows;

/* NULL if there is no memory. What program points to must outlive the flows. */
struct bat_output_flows *bat_output_flows_new(const struct bat_program *program);

/* NULL is allowed. */
void bat_output_flows_free(struct bat_output_flows *flows);

/*
 * The flow of a hot table's function and its fragments, with the calls that are inlined in it.
 * Where bytes cannot be decoded, decoding goes on at the next block entry. *flow is owned by flows.
 * Fails with BAT_ERR_MEMORY. Time is n log n in the code's branches and the entries, plus that of
 * bat_inlined_find().
 */
enum bat_code bat_output_flows_get(struct bat_output_flows *flows, uint32_t table,
                                   const struct bat_output_flow **flow, struct bat_error *error);

/*
 * True if no function's flow depends on that of another, because BOLT has surely not inlined any
 * code. Then threads may read flows at the same time.
 */
bool bat_output_flows_are_independent(const struct bat_output_flows *flows);

/* The flow of a hot table that was read before, or NULL. */
const struct bat_output_flow *bat_output_flows_known(const struct bat_output_flows *flows,
                                                     uint32_t table);

/* Fetch the first cache lines of a flow, which may be NULL. */
static inline void bat_output_flow_fetch(const struct bat_output_flow *flow, unsigned lines)
{
    for (unsigned line = 0; flow && line < lines; line++)
        __builtin_prefetch((const char *)flow + 64 * line);
}

/*
 * Read the flows of the hot tables for which wanted (one byte for each) is not 0, by several
 * threads (at most so many; 0: one for each processor) if they are independent; otherwise nothing
 * is done, and each will be read at its first use. Fails with BAT_ERR_MEMORY.
 */
enum bat_code bat_output_flows_read_many(struct bat_output_flows *flows, const uint8_t *wanted,
                                         unsigned threads, struct bat_error *error);

/* --- Look-ups in one flow ------------------------------------------------------------------- */

/* bat_block_at() for an offset that is mostly in the block `near`, or in the next one. */
static inline uint32_t bat_block_near(const struct bat_block *blocks, uint32_t count, uint32_t near,
                                      uint64_t offset)
{
    for (uint32_t i = near; i < count && i - near < 2; i++)
        if (blocks[i].input_offset <= offset &&
            (i + 1 == count || offset < blocks[i + 1].input_offset))
            return i;
    return bat_block_at(blocks, count, offset);
}

/* The address behind a block. */
static inline uint64_t bat_output_block_end(const struct bat_output_block *block)
{
    return block->start + block->size;
}

/* The address of the branch, jump, return or trap at the end of a block; 0 if there is none. */
static inline uint64_t bat_output_block_last(const struct bat_output_block *block)
{
    return block->last_size ? bat_output_block_end(block) - block->last_size : 0;
}

/* What a block is a copy of; NULL if it is no code of an inlined call. */
static inline const struct bat_output_copy *bat_output_flow_copy(const struct bat_output_flow *flow,
                                                                 uint32_t block)
{
    return flow->copies && flow->copies[block].inlined != BAT_NONE ? &flow->copies[block] : NULL;
}

/* The output block that holds address, or BAT_NONE. Logarithmic. */
uint32_t bat_output_flow_at(const struct bat_output_flow *flow, uint64_t address);

/*
 * The blocks that follow a block: next[0] by fall-through, next[1] by the branch at its end.
 * BAT_NONE for none, for one outside of the function, or if it is not known.
 */
static inline void bat_output_flow_next(const struct bat_output_flow *flow, uint32_t block,
                                        uint32_t next[2])
{
    const struct bat_output_block *from = &flow->all[block];
    bool goes_on = from->falls_through && block + 1 < flow->count &&
                   from[1].start == bat_output_block_end(from);
    next[0] = goes_on ? block + 1 : BAT_NONE;
    next[1] = from->target;
}

/*
 * For a block without an owner (it is reached from several input blocks): the next block where an
 * input block begins, if control surely goes there. The block itself if an input block begins in
 * it. BAT_NONE if that is not known, or if the block has an owner.
 */
uint32_t bat_output_flow_through(const struct bat_output_flow *flow, uint32_t block);

/*
 * The block that is a single return and follows a block, if there is just one. Such a block has no
 * code where the function is inlined. BAT_NONE if there is none.
 */
uint32_t bat_output_flow_return(const struct bat_output_flow *flow, uint32_t block);

/* True for an output block that is a single jump, and where no input block begins. */
bool bat_output_block_is_jump(const struct bat_output_block *block);

/* --- For the parts that read flows ---------------------------------------------------------- */

/* Values of owner while owners are searched. */
#define BAT_OWNER_UNKNOWN BAT_NONE
#define BAT_OWNER_SEVERAL (BAT_NONE - 1)

/* NULL is allowed. */
void bat_output_flow_free(struct bat_output_flow *flow);

/* Reads flows of functions one after the other, in the same memory. */
struct bat_flow_reader;

/* Puts flows into the arena, or each into memory of its own. NULL if there is no memory. */
struct bat_flow_reader *bat_flow_reader_new(struct bat_output_flows *flows,
                                            struct bat_arena *arena);

/* NULL is allowed. */
void bat_flow_reader_free(struct bat_flow_reader *reader);

/* Read a function; NULL if there is no memory. Flows that it does not inline are not touched. */
struct bat_output_flow *bat_flow_reader_read(struct bat_flow_reader *reader, uint32_t table);

/* Free the arrays that are not in its own block. */
void bat_output_flow_free_parts(struct bat_output_flow *flow);

/* How many functions bat_output_flows_inlined() has not searched to the end. flows may be NULL. */
uint64_t bat_output_flows_limited(const struct bat_output_flows *flows);

/* bat_inlined_find() for the program of flows. */
enum bat_code bat_output_flows_inlined(struct bat_output_flows *flows,
                                       const struct bat_caller *caller,
                                       struct bat_inlined *inlined);

/*
 * The flow of a function that is inlined in one that is being read. *flow is NULL if the function
 * is being read itself (recursion), or if inlined calls are nested too deep. Fails with
 * BAT_ERR_MEMORY.
 */
enum bat_code bat_output_flows_callee(struct bat_output_flows *flows, uint32_t table,
                                      const struct bat_output_flow **flow);

/*
 * False if llvm-bolt surely ran without the option: its whole command line is in the binary. option
 * is a part of the option's name.
 */
bool bat_output_may_have_option(const struct bat_elf *elf, const char *option);

/*
 * Fill the owners. *memory, of *capacity bytes, is for the time of this call, and grows if it is
 * too small. False if there is no memory. Linear in the blocks.
 */
bool bat_output_flow_find_owners(struct bat_output_flow *flow, void **memory, size_t *capacity);

/* Fill the pairs. False if there is no memory. Linear in the blocks. */
bool bat_output_flow_find_pairs(struct bat_output_flow *flow, const struct bat_elf *elf);

struct bat_output_flows {
    struct bat_program program;
    struct bat_output_flow **all; /* one for each hot table; NULL if not read */
    uint8_t *is_being_read;
    unsigned depth;
    uint64_t limited;
    bool are_independent;
    bool may_have_pairs;
    bool has_single; /* a flow that is in no arena */
    struct bat_beginnings *beginnings;
    struct bat_arena arenas[BAT_PARALLEL_MAX]; /* of bat_output_flows_read_many()'s threads */
};
