/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The control-flow graph of a function's blocks (code_blocks.h), and which records of a profile
 * llvm-bolt accepts as branches, calls or fall-throughs of the function (spec/profiles.md 7).
 *
 * Blocks are in the order of the code, as llvm-bolt numbers them in YAML ("bid").
 */
#pragma once

#include "code_blocks.h"

/* An instruction whose offset llvm-bolt keeps: a record may start there. */
struct bat_code_kept {
    uint32_t offset;
    uint8_t kind; /* enum bat_instruction_kind */
    bool leaves;  /* a jump or conditional branch out of the function: a tail call */
};

struct bat_code_graph {
    struct bat_code_blocks blocks;
    /*
     * The successors of block i are edges[first_edge[i] .. end_edge[i]). A block with a conditional
     * branch has two, the target and the fall-through, which may be equal. Those of a jump table
     * ascend. Blocks may share edges.
     */
    uint32_t *edges;
    uint32_t *first_edge;
    uint32_t *end_edge;
    uint32_t *body; /* for each block its start; for x86-64 behind no-operations at its start */
    struct bat_code_kept *kept; /* ascending */
    uint32_t kept_count;
    /* BOLT calls the function simple: it optimizes it, and checks and uses its profile. */
    bool is_simple;
    /*
     * But llvm-bolt leaves it alone, where perf2bolt does not: a jump table leads from one part of
     * the function that this is a part of (f, f.cold) into another.
     */
    bool is_left_alone;
};

/*
 * Make the graph of a function that the reader was opened for. If it has no blocks
 * (graph->blocks.obstacle), all else is empty. The caller frees it with bat_code_graph_free(). Time
 * is n log n in jump tables and linear in all else; memory is linear. Fails as bat_code_blocks().
 */
enum bat_code bat_code_graph(const struct bat_code_reader *reader, uint32_t function,
                             struct bat_code_graph *graph, struct bat_error *error);

/* Free what bat_code_graph() allocated; *graph may be all zero. */
void bat_code_graph_free(struct bat_code_graph *graph);

/* True if block `to` is a successor of block `from`. Logarithmic. */
bool bat_code_graph_is_successor(const struct bat_code_graph *graph, uint32_t from, uint32_t to);

/*
 * True if `to` is a successor of block `from`, or the only successor of the block that `from` falls
 * through to. Logarithmic.
 */
bool bat_code_graph_has_edge(const struct bat_code_graph *graph, uint32_t from, uint32_t to);

/*
 * True if llvm-bolt accepts a record of fdata, from one offset to another, as a branch, call or
 * fall-through inside the function. is_bolted: the profile is one of a BOLTed binary
 * ("boltedcollection"). Logarithmic.
 */
bool bat_code_graph_takes_branch(const struct bat_code_graph *graph, uint64_t from, uint64_t to,
                                 bool is_bolted);

/* True if llvm-bolt accepts a record from this offset to another function or out of the binary. */
bool bat_code_graph_takes_exit(const struct bat_code_graph *graph, uint64_t from, bool is_bolted);

/* True if llvm-bolt accepts a call of YAML at this offset of the block. */
bool bat_code_graph_takes_call(const struct bat_code_graph *graph, uint32_t block, uint64_t offset);

/*
 * Decide from the bytes of one block whether llvm-bolt knows where the jump at its end goes. It
 * does not optimize functions with other jumps. *tells is true if the last instruction is no
 * indirect jump, takes its target from a table, or ends a block that takes down the stack frame
 * (then it is a tail call). Linear in size. Fails with BAT_ERR_MEMORY.
 */
enum bat_code bat_code_tells_jump(uint16_t machine, const uint8_t *bytes, uint32_t size,
                                  uint64_t address, bool *tells, struct bat_error *error);
