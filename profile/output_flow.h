/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The code that BOLT made of one function, with its blocks as they are in the output, and which
 * input block each of them belongs to. BOLT splits blocks, copies them and puts others' code into
 * them, and the note has no entry for most of that; but the output's instructions tell which code
 * is reached from where. Internal to the library.
 */
#ifndef BAT_PROFILE_OUTPUT_FLOW_H
#define BAT_PROFILE_OUTPUT_FLOW_H

#include "bat_decoder.h"
#include "bat_elf.h"
#include "functions.h"
#include "inlined.h"
#include "three_way.h"

/* A stretch of output code that is entered at its start only, and left at its end. */
struct bat_output_block {
    uint64_t start; /* addresses in the output */
    uint64_t end;
    uint64_t last;   /* the branch, jump, return or trap at its end; 0 if there is none */
    uint64_t target; /* of the direct branch at its end; 0 if there is none */
    uint32_t branch; /* input offset of the branch at its end, if the note has it; else BAT_NONE */
    /*
     * The input block whose part it is, as index into blocks; BAT_NONE if that is not known. Code
     * with a block entry is that block's. Code with a branch entry is that of the branch's block.
     * Other code is part of the block from which alone it is reached.
     */
    uint32_t owner;
    /* Input blocks that begin here: begins[first_begin .. first_begin + begin_count), in the order
     * of their entries; all but the last one are empty. */
    uint32_t first_begin;
    uint32_t begin_count;
    bool falls_through;
    bool is_return; /* there is nothing but a return */

    /* Inlined code: the call, as index into inlined, or BAT_NONE; the block of the function that
     * this one is a copy of, or a part of one (begins_copy is false); and what start is a copy of,
     * 0 for jumps that the function does not have. */
    uint32_t inlined;
    uint32_t copied;
    uint64_t origin;
    bool begins_copy;
};

/* A call that BOLT inlined: of the function with a hot table, whose own code is flow. */
struct bat_output_inlined {
    uint32_t table;
    const struct bat_output_flow *flow;
};

struct bat_output_flow {
    struct bat_block *blocks; /* of the input function, ascending */
    uint32_t block_count;
    struct bat_output_block *all; /* ascending, of all fragments */
    uint32_t count;
    uint32_t *begins; /* indices into blocks */
    struct bat_output_inlined *inlined;
    /* Branches whose targets BOLT may have exchanged, and for each input block the pair that it is
     * part of or BAT_NONE; NULL if there are none. */
    struct bat_three_way *pairs;
    uint32_t pair_count;
    uint32_t *pair_of;
};

/* --- The functions of a program ------------------------------------------------------------- */

/* What is read of a program's functions, each when it is first asked for. */
struct bat_output_flows;

/* NULL if there is no memory. What program names must outlive the flows. */
struct bat_output_flows *bat_output_flows_new(const struct bat_program *program);

/* NULL is allowed. */
void bat_output_flows_free(struct bat_output_flows *flows);

/*
 * The code of the hot function table and its fragments, with what is inlined in it. Where bytes
 * cannot be decoded, code begins anew at the next block entry. *flow is owned by flows. Fails with
 * BAT_ERR_MEMORY. Time n log n in the code's branches and the entries, and as bat_inlined_find().
 */
enum bat_code bat_output_flows_get(struct bat_output_flows *flows, uint32_t table,
                                   const struct bat_output_flow **flow, struct bat_error *error);

/* --- Questions to one of them --------------------------------------------------------------- */

/* The output block that holds address, or BAT_NONE. Logarithmic. */
uint32_t bat_output_flow_at(const struct bat_output_flow *flow, uint64_t address);

/*
 * Where control goes from a block: next[0] by falling through, next[1] by the branch at its end.
 * BAT_NONE where it does not, leaves the function, or is not known.
 */
void bat_output_flow_next(const struct bat_output_flow *flow, uint32_t block, uint32_t next[2]);

/*
 * Where control surely goes from a block without an owner, which is reached from several ones: the
 * next block in which an input block begins. BAT_NONE if that is not known, or if it has an owner.
 * A block in which one begins is itself the answer.
 */
uint32_t bat_output_flow_through(const struct bat_output_flow *flow, uint32_t block);

/*
 * The return to which control goes on from a block, if it is the only one: a block of the
 * function's that has no code where the function is inlined. BAT_NONE if there is none.
 */
uint32_t bat_output_flow_return(const struct bat_output_flow *flow, uint32_t block);

/* True for an output block that is one jump, and no block of the input. */
bool bat_output_block_is_jump(const struct bat_output_block *block);

/* --- For reading ------------------------------------------------------------------------------ */

/* Owners as long as they are looked for. */
#define BAT_OWNER_UNKNOWN BAT_NONE
#define BAT_OWNER_SEVERAL (BAT_NONE - 1)

/* Read a function; NULL if there is no memory. */
struct bat_output_flow *bat_output_flow_read(struct bat_output_flows *flows, uint32_t table);

/* NULL is allowed. */
void bat_output_flow_free(struct bat_output_flow *flow);

const struct bat_program *bat_output_flows_program(const struct bat_output_flows *flows);

/* See bat_inlined_find(). */
enum bat_code bat_output_flows_inlined(struct bat_output_flows *flows,
                                       const struct bat_caller *caller,
                                       struct bat_inlined *inlined);

/*
 * The code of a function that is inlined in one that is being read. *flow is NULL if it is itself
 * being read, or if functions are inlined in each other too deep. Fails with BAT_ERR_MEMORY.
 */
enum bat_code bat_output_flows_callee(struct bat_output_flows *flows, uint32_t table,
                                      const struct bat_output_flow **flow);

/* Find owners. False if there is no memory. Linear in the blocks. */
bool bat_output_flow_find_owners(struct bat_output_flow *flow);

/* Find pairs. False if there is no memory. Linear in the blocks. */
bool bat_output_flow_find_pairs(struct bat_output_flow *flow, const struct bat_elf *elf);

#endif
