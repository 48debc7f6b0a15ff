/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Basic blocks of functions that have no BAT table, from their instructions, and the fall-throughs
 * of traces in them; as perf2bolt sees them in a binary that BOLT has written (one without
 * relocations against code).
 *
 * A block starts at the function's first instruction; where a direct branch or a call inside the
 * function goes; where a recognized jump table leads; at landing pads of exceptions; at secondary
 * entry points: symbols inside the function, places that branches and calls of other functions go
 * to, that relocations of the loader put into data, and whose address the function itself takes
 * relative to the instruction; and behind each branch, jump, return and trap, with one exception:
 * an unconditional jump that directly follows another branch stays in its block, unless it starts
 * one for another reason.
 *
 * Some functions have no blocks, and then no trace in them is valid: see enum bat_code_obstacle.
 */
#ifndef BAT_PROFILE_CODE_BLOCKS_H
#define BAT_PROFILE_CODE_BLOCKS_H

#include "bat_elf.h"
#include "functions.h"

/* Bits of struct bat_code_block.flags. */
enum bat_code_block_flag {
    BAT_BLOCK_ENTRY = 1,        /* the function's start, or a secondary entry point */
    BAT_BLOCK_LANDING_PAD = 2,  /* exceptions of some call land here */
    BAT_BLOCK_REACHES_NEXT = 4, /* falls through to, branches to, or jumps by table to the next */
    BAT_BLOCK_ENDS_IN_CALL = 8, /* the last instruction is a call or a conditional tail call */
};

/* Offsets count bytes from the function's start. A block ends where the next one starts. */
struct bat_code_block {
    uint32_t start;
    uint32_t last;  /* offset of the last instruction */
    uint32_t reach; /* index of the last block that a trace from here can fall through to */
    uint32_t flags;
    uint32_t entry_id; /* secondary entry points are numbered from 1; 0 for other blocks */
};

/* Why a function has no blocks. perf2bolt does not understand its code either. */
enum bat_code_obstacle {
    BAT_CODE_CLEAR,       /* it has */
    BAT_CODE_SPLIT,       /* a fragment (f.cold), or a function that has one */
    BAT_CODE_CONFLICT,    /* overlaps another symbol or FDE; a PLT entry */
    BAT_CODE_PASSED_OVER, /* _init of a static executable */
    BAT_CODE_UNDECODABLE, /* bytes that are no instruction, an unsupported one, or no bytes */
    BAT_CODE_MISALIGNED,  /* a branch, entry point or symbol leads to no instruction's start */
};

/* The blocks of one function, ascending. To be freed with bat_code_blocks_free(). */
struct bat_code_blocks {
    struct bat_code_block *all;
    uint32_t count; /* 0 if there is an obstacle */
    uint32_t size;  /* bytes of the function */
    enum bat_code_obstacle obstacle;
};

/* What is known of a file's code as a whole. */
struct bat_code_reader;

/*
 * Prepare to read the blocks of those functions whose indices in bat_functions_all() are given,
 * ascending, each once; other functions cannot be asked for. elf, symbols and functions are those
 * of bat_functions_create(), and must stay as long as the reader.
 *
 * All code is searched once for branches into those functions, so they are to be given together.
 * The blocks that a function gets do not depend on which others are given. With count 0 nothing is
 * done but an allocation. Time is linear in the code, the symbols and .eh_frame (all three pass by
 * at about 1 GB/s), memory linear in count.
 *
 * On success *reader is to be freed with bat_code_close(). Fails with BAT_ERR_MEMORY,
 * BAT_ERR_ELF (damaged .eh_frame), or BAT_ERR_UNSUPPORTED (neither x86-64 nor AArch64, and count is
 * not 0).
 */
enum bat_code bat_code_open(const struct bat_elf *elf, const struct bat_elf *symbols,
                            const struct bat_functions *functions, const uint32_t *indices,
                            uint32_t count, struct bat_code_reader **reader,
                            struct bat_error *error);

/* NULL is allowed. */
void bat_code_close(struct bat_code_reader *reader);

/*
 * The blocks of a function. A function without blocks is no failure: see blocks->obstacle.
 * Time and memory are linear in the function's size. Threads may share a reader.
 * Fails with BAT_ERR_MEMORY, or BAT_ERR_ARGUMENT if the function was not given to bat_code_open().
 */
enum bat_code bat_code_blocks(const struct bat_code_reader *reader, uint32_t function,
                              struct bat_code_blocks *blocks, struct bat_error *error);

/* Free what bat_code_blocks() allocated; *blocks may be all zero. */
void bat_code_blocks_free(struct bat_code_blocks *blocks);

/* The block that holds an offset; BAT_NONE if there is none. Logarithmic. */
uint32_t bat_code_block_at(const struct bat_code_blocks *blocks, uint64_t offset);

/*
 * The id of the secondary entry point that a call to this offset enters: that of the block which
 * holds the offset, or 0. Logarithmic in the number of blocks.
 */
uint32_t bat_code_entry_id(const struct bat_code_blocks *blocks, uint64_t offset);

/* --- Traces ------------------------------------------------------------------------------- */

/* What is known of the branch that a trace begins with; bits. */
enum bat_trace_source {
    BAT_TRACE_INSIDE = 0,  /* inside the function's size, or unknown (-1) */
    BAT_TRACE_OUTSIDE = 1, /* anywhere else, -2 and -3 included */
    BAT_TRACE_RETURN = 2,  /* a return instruction, or -3 */
};

/* Fall-through i, for first <= i < end: from blocks->all[i].last to blocks->all[i + 1].start. */
struct bat_code_fallthroughs {
    uint32_t first;
    uint32_t end;
};

/*
 * The fall-throughs of a trace that runs from offset from to offset to. False if the trace is
 * invalid: it runs backwards, beyond the function, or through a block that does not reach the
 * next; *fallthroughs is empty then. (A trace into a PLT entry is valid and has none; do not ask.)
 *
 * A trace that comes from outside to the start of a block begins with the block before if that
 * one ends in a call and reaches this: it is the call that returns. It must then come from a
 * return, or start at a block that is neither entry point nor landing pad.
 *
 * Logarithmic in the number of blocks.
 */
bool bat_code_fallthroughs(const struct bat_code_blocks *blocks, uint64_t from, uint64_t to,
                           unsigned source, struct bat_code_fallthroughs *fallthroughs);

#endif
