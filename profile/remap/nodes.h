/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The code of an output function as nodes: starts of basic blocks, and instructions that change the
 * flow of control. Internal to profile/remap/.
 */
#pragma once

#include "binary/original/original.h"
#include "input_flow.h"

/*
 * An address of the output: the start of a block, a branch or call, or what follows one. Its paths
 * lead through the input.
 */
struct input_node {
    uint64_t address;         /* in the output */
    uint64_t target;          /* of a direct branch or call, in the output */
    uint64_t entry;           /* the input's address by the note's branch entry for exactly this
                                 address; 0 if there is none */
    uint64_t source;          /* the same instruction in the input; 0 if BOLT made this one */
    struct input_state state; /* of the input when the output arrives here */
    struct input_state taken; /* ... when the branch is taken; taken_path leads on from there */
    struct input_state fall;  /* ... behind the instruction; equal to state if that is no branch */
    uint64_t tail_call;       /* the jump that a branch out of the function stands for, or 0 */
    const struct input_path *before;     /* from state to the instruction */
    const struct input_path *fall_path;  /* from there to the state of the next node */
    const struct input_path *taken_path; /* of a branch inside the function: to the state of its
                                            target; with tail_call: to that jump */
    const struct input_path *enter_path; /* of a fragment's first node: from the function's start
                                            to state */
    uint32_t target_node; /* of a direct branch to a node: its index; else BAT_NONE */
    uint32_t plain_count; /* so many nodes from here on are known to be plain (follow.h) */
    uint8_t kind;         /* enum bat_instruction_kind; OTHER if only a block starts here */
    uint8_t length;
    bool has_ways;       /* all paths are filled */
    bool is_entry;       /* `before` leads to a branch entry of the note */
    bool is_fixed;       /* the note lists the block that starts here */
    bool is_first;       /* the first node of its fragment */
    bool is_early;       /* state is before the node's place in the input */
    bool is_late;        /* state is behind it, at the input's next decision */
    bool is_leader;      /* the target of a branch, or behind one */
    uint64_t jump;       /* the input's branch or call that the next two fields refer to */
    bool jumps_if_taken; /* it jumps in the input if this branch is taken */
    bool jumps_if_not;   /* ... if this branch is not taken */
    bool falls;          /* the next node is in the same fragment */
    bool is_promotion;   /* BOLT's comparison before a promoted indirect call or jump */
    bool is_second;      /* a test of the input behind one that BOLT may have exchanged with it */
    bool is_unlisted; /* neither the input's nor made by a pass that is known (spec/remap.md 5) */
};

/* A fragment of an output function, or its hot code. */
struct input_fragment {
    uint64_t start; /* in the output */
    uint64_t size;  /* as far as the file has it */
    uint32_t table;
    uint32_t first_node;
    uint32_t node_count;
    size_t first_bits; /* while the nodes are read */
};

/* The nodes of an output function, with all its fragments, by ascending address. */
struct input_nodes {
    struct input_node *all;
    struct input_fragment *fragments; /* ascending */
    uint32_t count;
    uint32_t fragment_count;
    bool is_read;
};

/*
 * Read the code of a hot table's function and its fragments. Fills address, target, target_node,
 * kind, length, is_first, falls and is_leader of each node; all else is zero. nodes must be {0};
 * the caller frees them, also after a failure, which is BAT_ERR_MEMORY. Time is linear in the code,
 * and n log n in the fragments.
 */
enum bat_code input_nodes_read(struct input_nodes *nodes, const struct bat_original *original,
                               uint32_t hot);

/* The last node at or below an output address, or NULL. */
struct input_node *input_nodes_find(const struct input_nodes *nodes, uint64_t address);

/* The target node of a direct branch; NULL for other nodes and targets in other functions. */
static inline struct input_node *input_nodes_target(const struct input_nodes *nodes,
                                                    const struct input_node *node)
{
    return node->target_node == BAT_NONE ? NULL : &nodes->all[node->target_node];
}

/*
 * The output's next branch, call or return from a node on, or NULL; jumps to other nodes are
 * followed.
 */
const struct input_node *input_nodes_next_branch(const struct input_nodes *nodes,
                                                 const struct input_node *node);
