/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * One function of the output that is followed beside its input function: the argument that states,
 * match, walk, ways and promotion share. Internal to profile/remap/.
 */
#pragma once

#include "nodes.h"

struct input_followed {
    struct input_flow *flow;
    struct input_nodes *nodes;
    uint32_t hot;         /* its hot table */
    uint64_t input_start; /* the input function's code */
    uint64_t input_end;
};

/* True if an input address is in the input function's own code, not in inlined code. */
static inline bool input_is_inside(const struct input_followed *function, uint64_t address)
{
    return address >= function->input_start && address < function->input_end;
}

/*
 * Follow the input from a node's state to the node's instruction and past it. Fills source, taken,
 * fall, tail_call, jump, jumps_if_taken, jumps_if_not, is_promotion and is_entry, and `before`
 * unless is_entry is set. Fails with BAT_ERR_MEMORY.
 */
enum bat_code input_match(const struct input_followed *function, struct input_node *node);

/* Fill `before` of a node with is_entry. Fails with BAT_ERR_MEMORY. */
enum bat_code input_match_before(const struct input_followed *function, struct input_node *node);

/*
 * Fill the state of each node, as far as it can be known, and what input_match() fills. Fails with
 * BAT_ERR_MEMORY.
 */
enum bat_code input_states_find(const struct input_followed *function);

/* True if an input address is in the same function as another. */
bool input_shares_function(const struct input_followed *function, uint64_t left, uint64_t right);

/*
 * Pass an instruction that the output has no trace of: a no-operation, or a return or jump of
 * inlined code. The jump is added to path, unless that is NULL. False for other instructions.
 */
#define INPUT_MOST_SILENT 16u /* of these in a row */
bool input_pass_silent(const struct input_followed *function, struct input_state *state,
                       struct input_path_draft *path);

/*
 * Pass what the output has no trace of, so that all ways to a node agree on its state: a loop goes
 * back to the instruction behind no-operations, and inlined code has jumps and several returns. The
 * jumps are added to path, unless that is NULL.
 */
void input_skip_silent(const struct input_followed *function, struct input_state *state,
                       struct input_path_draft *path);

/* True if there are only no-operations from a node up to the next one. */
bool input_is_idle(const struct input_followed *function, const struct input_node *node);

/*
 * Go with the input through the plain code from a node to the next one: *state, where the input is
 * at the node, is at the next node then. The jumps are added to path, unless that is NULL. False if
 * the code differs, where BOLT has changed it.
 */
bool input_step_together(const struct input_followed *function, const struct input_node *node,
                         struct input_state *state, struct input_path_draft *path);

/*
 * True if the code of a node begins as the input's code at an address does. *is_plain is true if
 * that is by an instruction which tells more than its kind.
 */
bool input_begins_alike(const struct input_followed *function, const struct input_node *node,
                        uint64_t input, bool *is_plain);
