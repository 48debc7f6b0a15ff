/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Spreads the input's states from node to node of an output function (to_input_states.h). */
#include "states.h"

#include <stdlib.h>

#include "match.h"
#include "walk.h"

struct following {
    const struct input_followed *function;
    uint32_t *pending; /* nodes whose state is set but not yet spread */
    uint32_t pending_count;
};

/* --- Known states ----------------------------------------------------------------------------- */

static void set_state(struct following *following, struct input_node *node,
                      struct input_state state)
{
    node->state = state;
    following->pending[following->pending_count++] =
        (uint32_t)(node - following->function->nodes->all);
}

/*
 * True if a block entry without hash and index is of a block that BOLT made. Upgraded notes have no
 * hash for the block at a function's start either (BAT.md 9.4).
 */
static bool is_made_by_bolt(const struct bat_map *map, const struct bat_table *table,
                            uint32_t entry, uint32_t block)
{
    bool is_upgraded = map->tables[table->parent].hash == 0;
    return bat_map_has_hashes(map) && map->block_hashes[block] == 0 &&
           map->block_indices[block] == 0 && !(is_upgraded && map->input_offsets[entry] >> 1 == 0);
}

/* Set the states that a table's block entries give; of several at one offset, the last. */
static void fix_states(struct following *following, uint32_t table, uint64_t start)
{
    const struct input_followed *function = following->function;
    const struct bat_map *map = function->flow->original->binary->map;
    const struct bat_table *entries = &map->tables[table];
    uint32_t block = entries->first_block + entries->block_count;
    for (uint32_t i = entries->entry_count; i-- > 0;) {
        uint32_t entry = entries->first_entry + i;
        if (map->input_offsets[entry] & BAT_BRANCH_ENTRY)
            continue;
        block--;
        struct input_node *node =
            input_nodes_at(function->nodes, start + map->output_offsets[entry]);
        bool is_made = is_made_by_bolt(map, entries, entry, block);
        if (!node || node->is_fixed || is_made)
            continue;
        node->is_fixed = true;
        set_state(following, node,
                  (struct input_state){
                      .at = function->input_start + (map->input_offsets[entry] >> 1),
                      .frame = INPUT_ROOT_FRAME,
                  });
    }
}

/* --- From node to node ------------------------------------------------------------------------ */

#define MOST_JUMPS_ON 8u
#define MOST_NOPS 16u

/* The output's next branch, call or return from a node on; jumps to other nodes are followed. */
static const struct input_node *next_branch(const struct input_followed *function,
                                            const struct input_node *node)
{
    for (uint32_t jumps = 0; node && jumps < MOST_JUMPS_ON;) {
        bool is_jump = node->kind == BAT_INSTRUCTION_JUMP;
        const struct input_node *target =
            is_jump ? input_nodes_target(function->nodes, node) : NULL;
        if (input_kind_changes_flow(node->kind) && !target)
            return node;
        jumps += is_jump;
        node = is_jump ? target : node->falls ? node + 1 : NULL;
    }
    return NULL;
}

/*
 * The state of the input at its next deciding instruction: past jumps, and past calls and returns
 * of inlined code. Two paths of the input that lead to one node of the output agree there, or at
 * the start of a block that the note lists, whichever is first.
 */
static struct input_state next_decision(const struct input_followed *function,
                                        const struct input_node *node, struct input_state state)
{
    const struct input_node *next = next_branch(function, node);
    struct input_walk walk = {
        .function = function, .node = next, .state = state, .is_probe = !next, .is_lazy = true};
    input_walk_on(&walk);
    return walk.path.found ? walk.state : state;
}

/* Skip no-operations: a loop goes back to the instruction behind them. */
static struct input_state skip_nops(const struct input_followed *function, struct input_state state)
{
    struct bat_instruction instruction;
    for (uint32_t i = 0; i < MOST_NOPS; i++) {
        if (!input_flow_decode(function->flow, state.at, &instruction) ||
            instruction.kind != BAT_INSTRUCTION_NOP)
            break;
        state.at += instruction.length;
    }
    return state;
}

/* Set the state of a node unless it has one. is_exact: it is the state at the node, not before. */
static void reach(struct following *following, struct input_node *node, struct input_state state,
                  bool is_exact)
{
    if (node->is_fixed || node->state.at != 0 || state.at == 0)
        return;
    node->is_late = !is_exact && node->is_leader;
    node->is_early = !is_exact && !node->is_leader;
    state = skip_nops(following->function, state);
    set_state(following, node,
              node->is_late ? next_decision(following->function, node, state) : state);
}

/* Spread the state of a node to the next node and to its target. */
static enum bat_code spread(struct following *following, struct input_node *node)
{
    const struct input_followed *function = following->function;
    enum bat_code code = input_match(function, node);
    if (code != BAT_OK)
        return code;
    bool is_exact = node->source != 0;
    if (node->falls && input_kind_goes_on(node->kind))
        reach(following, node + 1, node->fall, is_exact || node->jumps_if_not);
    struct input_node *target = input_nodes_target(function->nodes, node);
    if (target)
        reach(following, target, node->taken, is_exact || node->jumps_if_taken);
    return BAT_OK;
}

/* --- The function ----------------------------------------------------------------------------- */

static void fix_all_states(struct following *following)
{
    const struct input_followed *function = following->function;
    const struct bat_original *original = function->flow->original;
    for (uint32_t i = 0; i < input_fragment_count(original, function->hot); i++) {
        uint32_t table;
        uint32_t output = input_fragment(original, function->hot, i, &table);
        if (output != BAT_NONE)
            fix_states(following, table, original->outputs[output].address);
    }
}

enum bat_code input_states_find(const struct input_followed *function)
{
    struct following following = {.function = function};
    following.pending = malloc(((size_t)function->nodes->count + 1) * sizeof(*following.pending));
    if (!following.pending)
        return BAT_ERR_MEMORY;
    fix_all_states(&following);
    enum bat_code code = input_flow_read(function->flow, function->hot);
    for (uint32_t i = 0; i < following.pending_count && code == BAT_OK; i++)
        code = spread(&following, &function->nodes->all[following.pending[i]]);
    free(following.pending);
    return code;
}
