/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The code of an output function as nodes: places where blocks start, and instructions that change
 * the flow of control. Internal to to_input*.c.
 */
#ifndef BAT_PROFILE_TO_INPUT_NODES_H
#define BAT_PROFILE_TO_INPUT_NODES_H

#include "original.h"
#include "to_input_path.h"

/*
 * A place in the output: where a block starts, a branch or call stands, or one returns to. Its
 * paths are ways of the input.
 */
struct input_node {
    uint64_t address;         /* in the output */
    uint64_t target;          /* of a direct branch or call, in the output */
    uint64_t source;          /* the input's instruction that this one is; 0 if it is BOLT's own */
    struct input_state state; /* of the input when the output comes here */
    struct input_state taken; /* ... after the branch, before target's state */
    struct input_state fall;  /* ... after the instruction; without a branch as state */
    uint64_t tail_call;       /* the jump that a branch out of the function stands for, or 0 */
    const struct input_path *before;     /* from state to the instruction */
    const struct input_path *fall_path;  /* from there to the state of the next node */
    const struct input_path *taken_path; /* of a branch inside the function: to the state of its
                                            target; with tail_call, to that */
    const struct input_path *enter_path; /* of a fragment's first: from the function's start to
                                            state */
    uint32_t target_node; /* of a direct branch to a node: its index; else BAT_NONE */
    uint8_t kind;         /* enum bat_instruction_kind; OTHER if only a block starts here */
    uint8_t length;
    bool has_ways;       /* paths are filled */
    bool is_entry;       /* before is the way to an entry of the note */
    bool is_fixed;       /* the note knows the block that starts here */
    bool is_first;       /* of its fragment */
    bool is_early;       /* state is one before it: the input goes on to it as the output does */
    bool is_late;        /* state is that of the input's next decision */
    bool is_leader;      /* a branch goes here, or stands before it */
    uint64_t jump;       /* the input's branch or call that the next two are about */
    bool jumps_if_taken; /* it jumps in the input if this one is taken */
    bool jumps_if_not;   /* ... if it is not */
    bool falls;          /* the next node follows in the same fragment */
    bool is_promotion;   /* a branch of BOLT's, before an indirect call or jump of the input */
};

/* The nodes of an output function, all its fragments', by ascending address. */
struct input_nodes {
    struct input_node *all;
    uint32_t count;
    bool is_read;
};

/*
 * Read the code of a hot table and its fragments: addresses, targets and kinds of nodes, and which
 * are first of a fragment, fall to the next one, or are leaders. All else is left zero. nodes is
 * {0}; nodes->all is to be freed, also after a failure, which is BAT_ERR_MEMORY. Time is linear in
 * the code, and n log n in its branches.
 */
enum bat_code input_nodes_read(struct input_nodes *nodes, const struct bat_original *original,
                               uint32_t hot);

/* The last node at or below an output address, or NULL. */
struct input_node *input_nodes_find(const struct input_nodes *nodes, uint64_t address);

/* The node at an output address, or NULL. */
struct input_node *input_nodes_at(const struct input_nodes *nodes, uint64_t address);

/* The node of a direct branch's target; NULL for others, and for targets outside. */
static inline struct input_node *input_nodes_target(const struct input_nodes *nodes,
                                                    const struct input_node *node)
{
    return node->target_node == BAT_NONE ? NULL : &nodes->all[node->target_node];
}

/* --- Fragments -------------------------------------------------------------------------------- */

/* How many fragments the function of a hot table has, its hot code among them. */
uint32_t input_fragment_count(const struct bat_original *original, uint32_t hot);

/* The output function of such a fragment, and its table. BAT_NONE if no function starts there. */
uint32_t input_fragment(const struct bat_original *original, uint32_t hot, uint32_t fragment,
                        uint32_t *table);

/* The output function of the fragment that holds an output address; BAT_NONE if none does. */
uint32_t input_fragment_at(const struct bat_original *original, uint32_t hot, uint64_t address);

#endif
