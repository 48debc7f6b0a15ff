/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The flow of control between a function's blocks (code_blocks.h), and what llvm-bolt makes of it
 * when a profile is attached to it: which records it takes for branches of the function.
 *
 * Blocks are in the order of the code, as llvm-bolt numbers them in YAML ("bid").
 */
#ifndef BAT_PROFILE_CODE_GRAPH_H
#define BAT_PROFILE_CODE_GRAPH_H

#include "code_blocks.h"

/* An instruction whose offset llvm-bolt remembers. */
struct bat_code_kept {
    uint32_t offset;
    uint8_t kind; /* enum bat_instruction_kind */
    bool leaves;  /* a jump or conditional branch out of the function: a tail call */
};

struct bat_code_graph {
    struct bat_code_blocks blocks;
    /*
     * The successors of block i: edges[first_edge[i] .. end_edge[i]). Two of a block with a
     * conditional branch: where it goes, and where it falls through to, which may be the same. More
     * of a jump table ascend. Blocks may share edges.
     */
    uint32_t *edges;
    uint32_t *first_edge;
    uint32_t *end_edge;
    uint32_t *body; /* of each block: its start; for x86-64 that behind no-operations there */
    struct bat_code_kept *kept; /* ascending */
    uint32_t kept_count;
    /* llvm-bolt does not give the function up, so it judges and uses its profile. */
    bool is_simple;
};

/*
 * The graph of a function that the reader was opened for. Without blocks (graph->blocks.obstacle)
 * all else is empty. To be freed with bat_code_graph_free(). Time n log n in jump tables, linear in
 * all else; memory is linear. Fails as bat_code_blocks() does.
 */
enum bat_code bat_code_graph(const struct bat_code_reader *reader, uint32_t function,
                             struct bat_code_graph *graph, struct bat_error *error);

/* Free what bat_code_graph() allocated; *graph may be all zero. */
void bat_code_graph_free(struct bat_code_graph *graph);

/*
 * True if control goes from one block to another, which it may also do through the block that the
 * first one falls through to, if that leads nowhere else. Logarithmic.
 */
bool bat_code_graph_has_edge(const struct bat_code_graph *graph, uint32_t from, uint32_t to);

/*
 * True if llvm-bolt takes a record of fdata from one offset to another for a branch, call or
 * fall-through inside the function. is_bolted: the profile is one of a BOLTed binary
 * ("boltedcollection"). Logarithmic.
 */
bool bat_code_graph_takes_branch(const struct bat_code_graph *graph, uint64_t from, uint64_t to,
                                 bool is_bolted);

/* ... a record to another function, or outside of the binary. */
bool bat_code_graph_takes_exit(const struct bat_code_graph *graph, uint64_t from, bool is_bolted);

/* True if it takes a call of YAML at this offset, in the block. */
bool bat_code_graph_takes_call(const struct bat_code_graph *graph, uint32_t block, uint64_t offset);

/*
 * Whether llvm-bolt can tell where the jump at the end of a block goes, given the block's bytes: it
 * gives functions with others up. *tells is true if the last instruction is no indirect jump, takes
 * its target from a table, or ends a block that takes down the stack frame and so is a tail call.
 * Linear in size. Fails with BAT_ERR_MEMORY.
 */
enum bat_code bat_code_tells_jump(uint16_t machine, const uint8_t *bytes, uint32_t size,
                                  uint64_t address, bool *tells, struct bat_error *error);

#endif
