/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Basic blocks of functions that have no BAT table, found from their instructions, and the
 * fall-throughs of traces in them. They are those that perf2bolt finds in a binary that BOLT has
 * written (one without relocations against code).
 *
 * A block starts at
 * - the function's first instruction;
 * - the target of a direct branch or a call inside the function, or of a recognized jump table;
 * - a landing pad of exceptions;
 * - a secondary entry point: a symbol inside the function, a target of branches and calls of other
 *   functions, an address that a relocation of the loader puts into data or one of the linker into
 *   an instruction, or one that the function itself takes relative to an instruction;
 * - an address that a relocation of the linker puts into data;
 * - the instruction behind a branch, jump, return or trap. Exception: an unconditional jump that
 *   directly follows another branch stays in its block, unless it starts one for another reason.
 *
 * Some functions have no blocks, and then no trace in them is valid: see enum bat_code_obstacle.
 */
#pragma once

#include "bat_elf.h"
#include "binary/functions/functions.h"

/* Bits of struct bat_code_block.flags. */
enum bat_code_block_flag {
    BAT_BLOCK_ENTRY = 1,        /* the function's start, or a secondary entry point */
    BAT_BLOCK_LANDING_PAD = 2,  /* an exception of a call lands here */
    BAT_BLOCK_REACHES_NEXT = 4, /* falls through, branches, or jumps by table to the next block */
    BAT_BLOCK_ENDS_IN_CALL = 8, /* the last instruction is a call or a conditional tail call */
    BAT_BLOCK_REFERENCED = 16,  /* data refers to its start, other than tables that were read */
};

/* Offsets count bytes from the function's start. A block ends where the next one starts. */
struct bat_code_block {
    uint32_t start;
    uint32_t last;  /* offset of the last instruction */
    uint32_t reach; /* index of the last block that a trace from here can fall through to */
    uint32_t flags;
    uint32_t entry_id; /* secondary entry points are numbered from 1; 0 for other blocks */
};

/* Why a function has no blocks. perf2bolt finds none in it either. */
enum bat_code_obstacle {
    BAT_CODE_CLEAR,       /* none: it has blocks */
    BAT_CODE_SPLIT,       /* a fragment (f.cold), or a function that has one */
    BAT_CODE_CONFLICT,    /* overlaps another symbol or FDE; a PLT entry */
    BAT_CODE_SKIPPED,     /* _init of a static executable */
    BAT_CODE_UNDECODABLE, /* an invalid or unsupported instruction, or no bytes */
    BAT_CODE_MISALIGNED,  /* a branch, entry point or symbol leads into an instruction or outside */
};

/* The blocks of one function, ascending. To be freed with bat_code_blocks_free(). */
struct bat_code_blocks {
    struct bat_code_block *all;
    uint32_t count; /* 0 if there is an obstacle */
    uint32_t size;  /* bytes of the function */
    enum bat_code_obstacle obstacle;
};

/* What all functions of a file share: sections, symbols, entry points from elsewhere. */
struct bat_code_reader;

/*
 * Prepare to read the blocks of the functions in indices, which are those of bat_functions_all(),
 * ascending and each once. Only the blocks of these functions can be read. elf, symbols and
 * functions are those of bat_functions_create(), and must outlive the reader.
 *
 * Searches all code once for branches into these functions, so pass all of them together; by at
 * most so many threads, or one for each processor if that is 0. The blocks of a function do not
 * depend on the others in indices. With count 0 it only allocates the reader. Time is linear in the
 * code, the symbols and .eh_frame (about 1 GB/s for all three), memory linear in count.
 *
 * On success the caller frees *reader with bat_code_close(). Fails with BAT_ERR_MEMORY,
 * BAT_ERR_ELF (damaged .eh_frame), or BAT_ERR_UNSUPPORTED (neither x86-64 nor AArch64, and count is
 * not 0).
 */
enum bat_code bat_code_open(const struct bat_elf *elf, const struct bat_elf *symbols,
                            const struct bat_functions *functions, const uint32_t *indices,
                            uint32_t count, unsigned threads, struct bat_code_reader **reader,
                            struct bat_error *error);

/* NULL is allowed. */
void bat_code_close(struct bat_code_reader *reader);

/*
 * The blocks of a function. A function without blocks is no failure: see blocks->obstacle.
 * Time and memory are linear in the function's size. Threads may share a reader.
 * Fails with BAT_ERR_MEMORY, or BAT_ERR_ARGUMENT if bat_code_open() did not get the function.
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

/* What is known of the branch that a trace starts with; bits. */
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
 * The fall-throughs of a trace from offset `from` to offset `to`. False if the trace is
 * invalid: it runs backwards, beyond the function, or through a block that does not reach the next
 * one. *fallthroughs is empty then. Not for traces into PLT entries, which are valid and have none.
 *
 * If a trace from outside starts at the start of a block, and the block before ends in a call and
 * reaches this block, then the trace begins with that block before: its call returns. The trace
 * must come from a return, or start at a block that is neither entry point nor landing pad.
 *
 * Logarithmic in the number of blocks.
 */
bool bat_code_fallthroughs(const struct bat_code_blocks *blocks, uint64_t from, uint64_t to,
                           unsigned source, struct bat_code_fallthroughs *fallthroughs);
