/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Spreads the input's states from node to node of an output function (followed_function.h). */
#include "followed_function.h"

#include <stdlib.h>
#include <string.h>

#include "binary/code/conditions.h"
#include "spec/array.h"
#include "spec/order.h"
#include "support/key_sort.h"
#include "walk.h"

/* A state that leads to a node whose code does not begin as the input's code there does. */
struct doubted_state {
    uint32_t node;
    uint32_t before; /* the last one of the same node before it, or BAT_NONE */
    bool is_late;
    struct input_state state;
};

struct following {
    const struct input_followed *function;
    uint32_t *pending; /* nodes whose state is set but not yet spread */
    uint32_t pending_count;
    struct doubted_state *doubted; /* each node leads to at most two */
    uint32_t doubted_count;
    uint32_t *last_doubted;       /* of each node */
    struct bat_sort_key *entries; /* the note's entries of blocks: input address, node */
    uint32_t entry_count;
};

/* --- Known states ----------------------------------------------------------------------------- */

/*
 * Add the entries of a fragment's table; of several at one output offset, the last one that BOLT
 * has not made. Entries and nodes ascend.
 */
static void add_entries(struct following *following, const struct input_fragment *fragment)
{
    const struct input_followed *function = following->function;
    const struct bat_map *map = function->flow->original->binary->map;
    const struct bat_table *table = &map->tables[fragment->table];
    uint32_t number = fragment->first_node + fragment->node_count;
    for (uint32_t i = table->entry_count; i-- > 0;) {
        const uint32_t entry = table->first_entry + i;
        const uint64_t output = fragment->start + map->output_offsets[entry];
        const uint64_t input = function->input_start + (map->input_offsets[entry] >> 1);
        const bool is_branch = map->input_offsets[entry] & BAT_BRANCH_ENTRY;
        const bool is_last = i + 1 == table->entry_count ||
                             map->output_offsets[entry + 1] != map->output_offsets[entry];
        while (number > fragment->first_node && function->nodes->all[number - 1].address > output)
            number--;
        if (number == fragment->first_node)
            return;
        struct input_node *node = &function->nodes->all[number - 1];
        if (node->address != output)
            continue;
        if (is_branch && is_last) {
            node->entry = input;
        } else if (!is_branch && !node->is_fixed) {
            node->is_fixed = true;
            following->entries[following->entry_count++] =
                (struct bat_sort_key){.key = input, .value = number - 1};
        }
    }
}

static void add_all_entries(struct following *following)
{
    const struct input_nodes *nodes = following->function->nodes;
    for (uint32_t i = 0; i < nodes->fragment_count; i++)
        add_entries(following, &nodes->fragments[i]);
}

/*
 * Blocks that BOLT makes may have the entry of an input block: comparisons of a promoted call that
 * begins a block, inlined code of a tail call that was a conditional branch. Of several entries of
 * one input block, trust only those whose code begins as the input block does.
 */
static void doubt_entries(struct following *following)
{
    const struct input_followed *function = following->function;
    const struct bat_sort_key *entries = following->entries;
    uint32_t count = following->entry_count;
    for (uint32_t i = 0; i < count; i++) {
        bool is_alone = (i == 0 || entries[i - 1].key != entries[i].key) &&
                        (i + 1 == count || entries[i + 1].key != entries[i].key);
        struct input_node *node = &function->nodes->all[entries[i].value];
        bool ignored;
        if (!is_alone && !input_begins_alike(function, node, entries[i].key, &ignored))
            node->is_fixed = false;
    }
}

/* True if an output's branch makes another test than the input's at an address: not even inverted.
 */
static bool tests_other(const struct bat_original *original, uint64_t output, uint64_t input)
{
    uint32_t condition = condition_at(original->binary->elf, output);
    uint32_t other = condition_at(original->elf, input);
    return condition != other && condition != CONDITION_OPPOSITE(other);
}

/* Mark the first entry of the input's block at an address, if that is a test. */
static void mark_second(struct following *following, uint64_t at)
{
    const struct input_followed *function = following->function;
    const uint32_t i = BAT_COUNT_BELOW(following->entries, following->entry_count, key, at);
    struct bat_instruction test;
    if (i < following->entry_count && following->entries[i].key == at &&
        input_flow_decode(function->flow, at, &test) && test.kind == BAT_INSTRUCTION_CONDITIONAL)
        function->nodes->all[following->entries[i].value].is_second = true;
}

/*
 * Do not trust the entry of a block that is only a test of the input's. The output has saves of
 * registers before it (-frame-opt), or nothing.
 */
static void doubt_test(struct input_node *node, uint64_t at)
{
    struct input_node *test = node;
    if (node->kind == BAT_INSTRUCTION_OTHER && node->falls && node[1].entry == at)
        test = node + 1;
    if (test->kind != BAT_INSTRUCTION_CONDITIONAL)
        return;
    node->is_fixed = false;
    test->entry = 0;
}

/*
 * -three-way-branch exchanges the tests of two branches on one comparison: where the output comes
 * to the second one, the input may not have passed its first one.
 */
static void doubt_exchanged_branches(struct following *following)
{
    const struct input_followed *function = following->function;
    const struct bat_sort_key *entries = following->entries;
    struct bat_instruction test;
    for (uint32_t i = 0; i < function->nodes->count; i++) {
        const struct input_node *first = &function->nodes->all[i];
        if (first->kind != BAT_INSTRUCTION_CONDITIONAL || first->entry == 0 ||
            !input_flow_decode(function->flow, first->entry, &test) ||
            test.kind != BAT_INSTRUCTION_CONDITIONAL ||
            !tests_other(function->flow->original, first->address, first->entry))
            continue;
        mark_second(following, first->entry + test.length);
        mark_second(following, test.target);
    }
    bool is_second = false;
    for (uint32_t i = 0; i < following->entry_count; i++) {
        struct input_node *node = &function->nodes->all[entries[i].value];
        is_second = node->is_second || (is_second && entries[i].key == entries[i - 1].key);
        if (is_second)
            doubt_test(node, entries[i].key);
    }
}

/* --- From node to node ------------------------------------------------------------------------ */

/*
 * The state of the input at its next deciding instruction: past jumps, and past calls and returns
 * of inlined code. Two paths of the input that lead to one node of the output agree there, or at
 * the start of a block that the note lists, whichever is first.
 */
static struct input_state next_decision(const struct input_followed *function,
                                        const struct input_node *node, struct input_state state)
{
    const struct input_node *next = input_nodes_next_branch(function->nodes, node);
    struct input_walk walk;
    input_paths_drop_drafts(&function->flow->paths);
    input_walk_begin(&walk, function, next, state);
    walk.is_probe = !next;
    walk.is_lazy = true;
    input_walk_on(&walk);
    return walk.path.found ? walk.state : state;
}

static void set_state(struct following *following, struct input_node *node,
                      struct input_state state)
{
    /* Where the input's code ends at the end of all addresses, 0 follows: no state. */
    if (state.at == 0)
        return;
    node->state = state;
    following->pending[following->pending_count++] =
        (uint32_t)(node - following->function->nodes->all);
}

/* Set the state of a node that has none; of a late node to its next decision. */
static void take_state(struct following *following, struct input_node *node,
                       struct input_state state, bool is_late, bool is_decision)
{
    node->is_late = is_late;
    if (is_late && !is_decision)
        state = next_decision(following->function, node, state);
    set_state(following, node, state);
}

/* Keep a state that the node's code speaks against. */
static void doubt(struct following *following, const struct input_node *node,
                  struct input_state state, bool is_late)
{
    const uint32_t number = (uint32_t)(node - following->function->nodes->all);
    uint32_t *last = &following->last_doubted[number];
    following->doubted[following->doubted_count] =
        (struct doubted_state){number, *last, is_late, state};
    *last = following->doubted_count++;
}

/* Pass what has no trace in the output, or a jump of the function's own code. */
static bool pass_jump(const struct input_followed *function, struct input_state *state)
{
    struct bat_instruction instruction;
    if (input_pass_silent(function, state, NULL))
        return true;
    if (!input_flow_decode(function->flow, state->at, &instruction) ||
        instruction.kind != BAT_INSTRUCTION_JUMP ||
        !input_shares_function(function, state->at, instruction.target))
        return false;
    state->at = instruction.target;
    return true;
}

/*
 * Another way leads to a jump with a state: BOLT has made one jump of several, of the input or of
 * its own, or of returns of inlined code. Its state is where both ways meet.
 */
static void meet(const struct input_followed *function, struct input_node *node,
                 struct input_state other)
{
    if (node->kind != BAT_INSTRUCTION_JUMP || node->target_node == BAT_NONE || node->is_late ||
        input_is_same_state(node->state, other))
        return;
    for (uint32_t i = 0; i < INPUT_MOST_SILENT; i++) {
        struct input_state state = node->state;
        for (uint32_t j = 0; j < INPUT_MOST_SILENT && !input_is_same_state(state, other) &&
                             pass_jump(function, &state);
             j++) {
        }
        if (input_is_same_state(state, other)) {
            node->state = node->taken = node->fall = other;
            node->source = 0;
            return;
        }
        if (!pass_jump(function, &other))
            return;
    }
}

/*
 * True if the code of a node begins as the input's does at an address; where a jump inside the
 * function leads, only an instruction that tells more than its kind counts.
 */
static bool leads_alike(const struct input_followed *function, const struct input_node *node,
                        uint64_t input, bool *is_here)
{
    if (input_begins_alike(function, node, input, is_here))
        return true;
    const struct input_node *target =
        node->kind == BAT_INSTRUCTION_JUMP ? input_nodes_target(function->nodes, node) : NULL;
    return target && input_begins_alike(function, target, input, is_here) && *is_here;
}

/*
 * Set the state of a node unless it has one. is_exact: it is the state at the node, not before.
 * is_decision: it is the next decision, behind the node, as found for the node before. A state that
 * the node's code speaks against waits until no other leads here.
 */
static void reach(struct following *following, struct input_node *node, struct input_state state,
                  bool is_exact, bool is_decision)
{
    if (node->is_fixed || state.at == 0)
        return;
    if (node->state.at != 0) {
        meet(following->function, node, state);
        return;
    }
    const bool is_checked = node->is_leader && !is_decision;
    bool is_late = !is_exact && (node->is_leader || is_decision);
    bool is_here = false;
    /* A jump of the output may stand for the jump or return that inlined code ends with. */
    if (node->kind != BAT_INSTRUCTION_JUMP || !is_exact)
        input_skip_silent(following->function, &state, NULL);
    if (is_checked && state.at != 0 &&
        !leads_alike(following->function, node, state.at, &is_here)) {
        doubt(following, node, state, is_late);
        return;
    }
    is_late = is_late && !is_here;
    node->is_early = !is_exact && !is_late && !is_here;
    take_state(following, node, state, is_late, is_decision);
}

/* Reach the node behind plain code. */
static void reach_next(struct following *following, struct input_node *node)
{
    struct input_node *next = node + 1;
    struct input_state state = node->state;
    const bool is_here = !node->is_late && !node->is_early && !next->is_fixed &&
                         (next->is_leader || next->kind == BAT_INSTRUCTION_JUMP) &&
                         input_step_together(following->function, node, &state, NULL);
    reach(following, next, is_here ? state : node->state, is_here, node->is_late);
}

#define MOST_TESTS 4u /* behind each other */

/* The places where several branches on one comparison lead that begin as a node's code does. */
struct outcomes {
    const struct input_node *next;
    struct input_state found;
    uint32_t count; /* of different ones */
};

static void add_outcomes(const struct input_followed *function, struct input_state state,
                         uint32_t tests, struct outcomes *outcomes)
{
    struct bat_instruction test;
    bool is_plain = false;
    if (!input_flow_decode(function->flow, state.at, &test))
        return;
    if (test.kind == BAT_INSTRUCTION_CONDITIONAL) {
        if (tests == MOST_TESTS)
            return;
        const struct input_state goes = {test.target, state.frame};
        const struct input_state falls = {state.at + test.length, state.frame};
        add_outcomes(function, goes, tests + 1, outcomes);
        add_outcomes(function, falls, tests + 1, outcomes);
    } else if (input_begins_alike(function, outcomes->next, state.at, &is_plain) && is_plain &&
               (outcomes->count == 0 || state.at != outcomes->found.at)) {
        outcomes->found = state;
        outcomes->count++;
    }
}

/*
 * BOLT has exchanged the tests of several branches on one comparison, of which the input is at the
 * first. If only one of the places where they lead begins as the output's code at `next` does, the
 * input is there; otherwise it is still at the first branch, `here`.
 */
static struct input_state find_outcome(const struct input_followed *function,
                                       const struct input_node *next, struct input_state here)
{
    struct outcomes outcomes = {.next = next};
    add_outcomes(function, here, 0, &outcomes);
    return outcomes.count == 1 ? outcomes.found : here;
}

/*
 * The state of the input at a node that a branch leads to. A test there, which the node does not
 * make, is one that another branch of the output has made before.
 */
static struct input_state behind_branch(const struct input_followed *function,
                                        const struct input_node *next, struct input_state state)
{
    struct bat_instruction instruction;
    bool ignored;
    const bool is_test = !next->is_fixed && next->state.at == 0 &&
                         input_flow_decode(function->flow, state.at, &instruction) &&
                         instruction.kind == BAT_INSTRUCTION_CONDITIONAL;
    return is_test && !input_begins_alike(function, next, state.at, &ignored)
               ? find_outcome(function, next, state)
               : state;
}

/* Spread the state of a node to the next node and to its target. */
static enum bat_code spread(struct following *following, struct input_node *node)
{
    const struct input_followed *function = following->function;
    BAT_TRY(input_match(function, node));
    bool is_exact = node->source != 0;
    struct input_node *target = input_nodes_target(function->nodes, node);
    if (node->falls && !input_kind_changes_flow(node->kind))
        reach_next(following, node);
    else if (node->falls && input_kind_goes_on(node->kind))
        reach(following, node + 1, behind_branch(function, node + 1, node->fall),
              is_exact || node->jumps_if_not, false);
    if (target)
        reach(following, target, behind_branch(function, target, node->taken),
              is_exact || node->jumps_if_taken, false);
    return BAT_OK;
}

/* --- The function ----------------------------------------------------------------------------- */

/*
 * Set the states that entries give: first of those that are trusted, later of the others, which are
 * of blocks that BOLT made: they have the entry of the block before, and run at its end.
 */
static void fix_states(struct following *following, bool is_trusted)
{
    struct input_nodes *nodes = following->function->nodes;
    for (uint32_t i = 0; i < following->entry_count; i++) {
        const struct bat_sort_key *entry = &following->entries[i];
        struct input_node *node = &nodes->all[entry->value];
        if (node->is_fixed != is_trusted || node->state.at != 0)
            continue;
        node->is_fixed = true;
        take_state(following, node, (struct input_state){entry->key, INPUT_ROOT_FRAME}, !is_trusted,
                   false);
    }
}

/* How many of the pending and of the doubted states are done. */
struct spread_progress {
    uint32_t pending;
    uint32_t doubted;
};

#define MOST_DROPPED 32u /* instructions */

/* True if the input goes on from one state to another without any decision. */
static bool leads_on(const struct input_followed *function, struct input_state from,
                     struct input_state to)
{
    struct bat_instruction instruction;
    if (from.frame != to.frame)
        return false;
    for (uint32_t i = 0; i < MOST_DROPPED && from.at != to.at; i++) {
        if (!input_flow_decode(function->flow, from.at, &instruction) ||
            (input_kind_changes_flow(instruction.kind) && instruction.kind != BAT_INSTRUCTION_JUMP))
            return false;
        from.at = instruction.kind == BAT_INSTRUCTION_JUMP ? instruction.target
                                                           : from.at + instruction.length;
    }
    return from.at == to.at;
}

/*
 * Take a doubted state of a node that has none. If it leads on to another one, BOLT has removed the
 * code between them, and both ways meet at that.
 */
static void take_doubted(struct following *following, const struct doubted_state *doubted)
{
    struct input_node *node = &following->function->nodes->all[doubted->node];
    bool is_late = doubted->is_late;
    if (node->state.at != 0) {
        meet(following->function, node, doubted->state);
        return;
    }
    for (uint32_t i = following->last_doubted[doubted->node]; i != BAT_NONE;
         i = following->doubted[i].before) {
        const struct doubted_state *other = &following->doubted[i];
        if (other->state.at != doubted->state.at &&
            leads_on(following->function, doubted->state, other->state)) {
            doubted = other;
            is_late = false;
        }
    }
    take_state(following, node, doubted->state, is_late, false);
}

/* Spread all pending states; once there are none, take doubted ones, those found first first. */
static enum bat_code spread_all(struct following *following, struct spread_progress *done)
{
    struct input_node *all = following->function->nodes->all;
    enum bat_code code = BAT_OK;
    while (code == BAT_OK) {
        if (done->pending < following->pending_count) {
            code = spread(following, &all[following->pending[done->pending++]]);
        } else if (done->doubted < following->doubted_count) {
            take_doubted(following, &following->doubted[done->doubted++]);
        } else {
            break;
        }
    }
    return code;
}

/*
 * Give the jumps that no way leads to the states of where they lead: an exception comes to them,
 * whose landing pad is in another fragment (-split-eh in position-independent programs).
 */
static void set_before_landing_pads(struct following *following)
{
    const struct input_nodes *nodes = following->function->nodes;
    for (uint32_t i = 0; i < nodes->count; i++) {
        struct input_node *node = &nodes->all[i];
        const struct input_node *target = input_nodes_target(nodes, node);
        if (node->kind == BAT_INSTRUCTION_JUMP && node->state.at == 0 && target) {
            node->is_late = target->is_late;
            set_state(following, node, target->state);
        }
    }
}

static enum bat_code find_states(struct following *following)
{
    struct spread_progress done = {0};
    doubt_entries(following);
    doubt_exchanged_branches(following);
    fix_states(following, true);
    enum bat_code code = input_flow_read(following->function->flow, following->function->hot);
    code = code ? code : spread_all(following, &done);
    fix_states(following, false);
    code = code ? code : spread_all(following, &done);
    set_before_landing_pads(following);
    return code ? code : spread_all(following, &done);
}

enum bat_code input_states_find(const struct input_followed *function)
{
    struct following following = {.function = function};
    size_t count = (size_t)function->nodes->count + 1;
    following.pending = malloc(count * sizeof(*following.pending));
    following.doubted = malloc(2 * count * sizeof(*following.doubted));
    following.last_doubted = malloc(count * sizeof(*following.last_doubted));
    struct bat_sort_key *keys = malloc(2 * count * sizeof(*keys));
    const bool is_made = following.pending && following.doubted && following.last_doubted && keys;
    enum bat_code code = is_made ? BAT_OK : BAT_ERR_MEMORY;
    if (code == BAT_OK) {
        memset(following.last_doubted, 0xff,
               count * sizeof(*following.last_doubted)); /* BAT_NONE */
        following.entries = keys;
        add_all_entries(&following);
        following.entries = bat_sort_keys(keys, keys + count, following.entry_count);
        code = find_states(&following);
    }
    BAT_FREE_ALL(following.pending, following.doubted, following.last_doubted, keys);
    return code;
}
