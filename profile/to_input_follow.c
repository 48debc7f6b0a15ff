/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The output's instructions beside the input's: what an execution of the input has come to when one
 * of the output comes to a place. The note tells that of the input's blocks, branches and calls;
 * what stands between them (code that BOLT has inlined or copied, tests of promoted calls, jumps of
 * the new layout) follows from where it is come from.
 */
#include <elf.h>
#include <stdlib.h>

#include "conditions.h"
#include "to_input.h"

#define MOST_STEPS 4096u /* instructions between two branches of the output */

/* --- A function's code ------------------------------------------------------------------------ */

/* What is being read. */
struct reading {
    struct input_follow *follow;
    const struct bat_original *original;
    const struct bat_map *map;
    struct input_nodes *nodes;
    uint32_t capacity;
    uint32_t hot;
    uint64_t input_start;
    uint64_t input_end;
    uint32_t *pending; /* nodes whose state is known, but not what follows from it */
    uint32_t pending_count;
};

static uint32_t fragment_count(const struct reading *reading)
{
    const struct bat_map *map = reading->map;
    return 1 + map->fragment_start[reading->hot + 1] - map->fragment_start[reading->hot];
}

/* Fragment 0 is the hot table. */
static uint32_t fragment_table(const struct reading *reading, uint32_t fragment)
{
    const struct bat_map *map = reading->map;
    return fragment == 0 ? reading->hot
                         : map->fragments[map->fragment_start[reading->hot] + fragment - 1];
}

static enum bat_code add_node(struct reading *reading, const struct input_node *node)
{
    struct input_nodes *nodes = reading->nodes;
    if (nodes->count == reading->capacity) {
        uint32_t capacity = reading->capacity ? 2 * reading->capacity : 64;
        struct input_node *grown = realloc(nodes->all, capacity * sizeof(*grown));
        if (!grown)
            return BAT_ERR_MEMORY;
        nodes->all = grown;
        reading->capacity = capacity;
    }
    nodes->all[nodes->count++] = *node;
    return BAT_OK;
}

static bool is_direct(uint8_t kind)
{
    return kind == BAT_INSTRUCTION_JUMP || kind == BAT_INSTRUCTION_CONDITIONAL;
}

static bool changes_flow(uint8_t kind)
{
    return kind != BAT_INSTRUCTION_OTHER && kind != BAT_INSTRUCTION_NOP;
}

/* The nodes of a fragment's instructions: what changes the flow of control, and what follows. */
static enum bat_code read_instructions(struct reading *reading, uint64_t start, uint64_t end)
{
    const struct bat_elf *elf = reading->original->binary->elf;
    enum bat_code code = BAT_OK;
    struct bat_instruction instruction;
    for (uint64_t at = start; at < end && code == BAT_OK; at += instruction.length) {
        if (!bat_original_decode(elf, at, &instruction)) {
            /* AArch64 has constants between its code. */
            instruction = (struct bat_instruction){
                .length = bat_elf_machine(elf) == EM_AARCH64 ? 4 : 1, .kind = BAT_INSTRUCTION_TRAP};
        }
        if (!changes_flow(instruction.kind))
            continue;
        code = add_node(reading, &(struct input_node){.address = at,
                                                      .target = instruction.target,
                                                      .kind = instruction.kind,
                                                      .length = instruction.length});
        if (code == BAT_OK && at + instruction.length < end)
            code = add_node(reading, &(struct input_node){.address = at + instruction.length,
                                                          .is_leader = true});
        if (code == BAT_OK && is_direct(instruction.kind))
            code = add_node(reading,
                            &(struct input_node){.address = instruction.target, .is_leader = true});
    }
    return code;
}

/* The nodes of a table's entries. */
static enum bat_code read_entries(struct reading *reading, uint32_t table, uint64_t start,
                                  uint64_t size)
{
    const struct bat_map *map = reading->map;
    const struct bat_function *function = &map->functions[table];
    enum bat_code code = add_node(reading, &(struct input_node){.address = start});
    for (uint32_t i = 0; i < function->entry_count && code == BAT_OK; i++) {
        uint32_t entry = function->first_entry + i;
        if (map->output_offsets[entry] < size && !(map->input_offsets[entry] & BAT_BRANCH_ENTRY))
            code = add_node(reading,
                            &(struct input_node){.address = start + map->output_offsets[entry]});
    }
    return code;
}

static int compare_nodes(const void *left_pointer, const void *right_pointer)
{
    const struct input_node *left = left_pointer;
    const struct input_node *right = right_pointer;
    if (left->address != right->address)
        return left->address < right->address ? -1 : 1;
    return (int)left->length - (int)right->length;
}

/* The fragment that holds an output address, as its output function; BAT_NONE if none does. */
static uint32_t fragment_at(const struct reading *reading, uint64_t address)
{
    const struct bat_original *original = reading->original;
    uint32_t output = bat_functions_find(original->output_functions, address);
    uint32_t table = output == BAT_NONE ? BAT_NONE : original->table_of[output];
    bool is_own = table != BAT_NONE && reading->map->functions[table].parent == reading->hot &&
                  original->output_of[table] == output &&
                  address - original->outputs[output].address < original->outputs[output].size;
    return is_own ? output : BAT_NONE;
}

/* One node an address, those of other functions left out. */
static void merge_nodes(struct reading *reading)
{
    struct input_nodes *nodes = reading->nodes;
    uint32_t kept = 0;
    uint32_t fragment = BAT_NONE;
    uint32_t last_fragment = BAT_NONE;
    for (uint32_t i = 0; i < nodes->count; i++) {
        struct input_node *node = &nodes->all[i];
        const struct bat_function_symbol *outputs = reading->original->outputs;
        if (fragment == BAT_NONE ||
            node->address - outputs[fragment].address >= outputs[fragment].size)
            fragment = fragment_at(reading, node->address);
        if (fragment == BAT_NONE)
            continue;
        struct input_node *last = kept ? &nodes->all[kept - 1] : NULL;
        if (last && last->address == node->address) {
            bool is_first = last->is_first;
            bool is_leader = last->is_leader || node->is_leader;
            if (node->length != 0)
                *last = *node;
            last->is_first = is_first;
            last->is_leader = is_leader;
            continue;
        }
        if (last)
            last->falls = fragment == last_fragment;
        nodes->all[kept] = *node;
        nodes->all[kept++].is_first = fragment != last_fragment;
        last_fragment = fragment;
    }
    nodes->count = kept;
}

static struct input_node *find_node(const struct input_nodes *nodes, uint64_t address)
{
    uint32_t low = 0;
    uint32_t high = nodes->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (nodes->all[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? NULL : &nodes->all[low - 1];
}

static struct input_node *node_at(const struct input_nodes *nodes, uint64_t address)
{
    struct input_node *node = find_node(nodes, address);
    return node && node->address == address ? node : NULL;
}

/* --- Known states ------------------------------------------------------------------------------
 */

static void set_state(struct reading *reading, struct input_node *node, struct input_state state)
{
    node->state = state;
    reading->pending[reading->pending_count++] = (uint32_t)(node - reading->nodes->all);
}

/* What the note says of a table's blocks: of several at one offset, the last. */
static void fix_states(struct reading *reading, uint32_t table, uint64_t start)
{
    const struct bat_map *map = reading->map;
    const struct bat_function *function = &map->functions[table];
    uint32_t block = function->first_block + function->block_count;
    for (uint32_t i = function->entry_count; i-- > 0;) {
        uint32_t entry = function->first_entry + i;
        if (map->input_offsets[entry] & BAT_BRANCH_ENTRY)
            continue;
        block--;
        struct input_node *node = node_at(reading->nodes, start + map->output_offsets[entry]);
        /* An entry that BOLT made for a block of its own has no hash and no index. */
        if (!node || node->is_fixed ||
            (map->block_hashes[block] == 0 && map->block_indices[block] == 0))
            continue;
        node->is_fixed = true;
        set_state(reading, node,
                  (struct input_state){
                      .at = reading->input_start + (map->input_offsets[entry] >> 1),
                      .frame = INPUT_ROOT_FRAME,
                  });
    }
}

/* The input address of the branch or call that the note knows exactly here; 0 if there is none. */
static uint64_t exact_entry(const struct reading *reading, uint64_t address)
{
    const struct bat_original *original = reading->original;
    uint32_t output = fragment_at(reading, address);
    uint64_t offset = address - original->outputs[output].address;
    uint32_t entry = bat_original_entry(reading->map, original->table_of[output], offset);
    if (entry == BAT_NONE || reading->map->output_offsets[entry] != offset ||
        !(reading->map->input_offsets[entry] & BAT_BRANCH_ENTRY))
        return 0;
    return reading->input_start + (reading->map->input_offsets[entry] >> 1);
}

/* --- What an instruction of the output is in the input -------------------------------------------
 */

static enum bat_code keep_path(struct input_follow *follow, const struct input_path *path,
                               uint32_t *number)
{
    *number = path->found ? INPUT_PATH_EMPTY : INPUT_PATH_UNKNOWN;
    if (!path->found || (path->jump_count == 0 && path->last == 0))
        return BAT_OK;
    if (follow->path_count == follow->path_capacity) {
        uint32_t capacity = 2 * follow->path_capacity;
        struct input_path *grown = realloc(follow->paths, capacity * sizeof(*grown));
        if (!grown)
            return BAT_ERR_MEMORY;
        follow->paths = grown;
        follow->path_capacity = capacity;
    }
    *number = follow->path_count++;
    follow->paths[*number] = *path;
    return BAT_OK;
}

/* A walk through the input to the instruction that decides where to go next. */
struct walk {
    struct reading *reading;
    const struct input_node *node; /* of the output, which waits for it */
    struct input_state state;
    struct bat_instruction instruction; /* at state, once it is found */
    struct input_path path;
    bool is_probe; /* all calls decide: what the output's instruction is, is not known */
    bool is_lazy;  /* blocks that the note knows end it, too */
    enum bat_code code;
};

static bool add_jump(struct walk *walk, struct input_state to)
{
    if (walk->path.jump_count == INPUT_PATH_JUMPS)
        return false;
    walk->path.jumps[walk->path.jump_count++] = (struct input_jump){walk->state.at, to.at};
    walk->state = to;
    return true;
}

/* A call that leaves the binary and comes back: BOLT has replaced it by code of its own. */
static bool pass_outside(struct walk *walk, uint64_t leaves, uint64_t next)
{
    struct input_state plt = {walk->instruction.target, walk->state.frame};
    if (walk->path.jump_count + 3 > INPUT_PATH_JUMPS || !add_jump(walk, plt))
        return false;
    walk->state.at = leaves;
    add_jump(walk, (struct input_state){BAT_ADDRESS_EXTERNAL, walk->state.frame});
    return add_jump(walk, (struct input_state){next, walk->state.frame});
}

static bool is_inside(const struct reading *reading, uint64_t address)
{
    return address >= reading->input_start && address < reading->input_end;
}

/* True if a call of the output and one of the input call the same. */
static bool calls_same(const struct reading *reading, uint64_t output_target, uint64_t input_target)
{
    const struct bat_original *original = reading->original;
    uint32_t output = bat_functions_find(original->output_functions, output_target);
    uint32_t input = bat_functions_find(original->input_functions, input_target);
    if (output == BAT_NONE || input == BAT_NONE)
        return false;
    if (original->input_of[output] == input)
        return true;
    for (uint32_t i = original->first_home[input]; i < original->first_home[input + 1]; i++)
        if (original->homes[i] == output)
            return true;
    return false;
}

/* At a call of the input: true if it is what the output's instruction is, or nothing is known. */
static bool stops_at_call(struct walk *walk)
{
    const struct input_node *node = walk->node;
    uint64_t next = walk->state.at + walk->instruction.length;
    if (walk->is_probe || node->kind == BAT_INSTRUCTION_INDIRECT_CALL ||
        (node->kind == BAT_INSTRUCTION_CALL &&
         calls_same(walk->reading, node->target, walk->instruction.target)))
        return true;
    uint32_t frame = BAT_NONE;
    struct input_flow *flow = &walk->reading->follow->flow;
    if (input_flow_has_code(flow, walk->instruction.target))
        walk->code = input_flow_enter(flow, walk->state.frame, next, &frame);
    if (walk->code != BAT_OK)
        return true;
    uint64_t leaves;
    if (input_flow_is_outside(flow, walk->instruction.target, &leaves))
        return !pass_outside(walk, leaves, next);
    if (frame == BAT_NONE) {
        walk->state.at = next;
        return false;
    }
    return !add_jump(walk, (struct input_state){walk->instruction.target, frame});
}

static bool stops_at_return(struct walk *walk)
{
    const struct input_frame *frame = &walk->reading->follow->flow.frames[walk->state.frame];
    return frame->returns_to == 0 ||
           !add_jump(walk, (struct input_state){frame->returns_to, frame->caller});
}

/* A jump to another function is a tail call, which BOLT may have inlined. */
static bool stops_at_jump(struct walk *walk)
{
    uint64_t target = walk->instruction.target;
    uint32_t frame = walk->state.frame;
    struct input_flow *flow = &walk->reading->follow->flow;
    if (!walk->is_probe &&
        (walk->node->kind == BAT_INSTRUCTION_JUMP || walk->node->kind == BAT_INSTRUCTION_CALL) &&
        calls_same(walk->reading, walk->node->target, target))
        return true;
    if (frame == INPUT_ROOT_FRAME && !is_inside(walk->reading, target)) {
        if (walk->is_probe || !input_flow_has_code(flow, target))
            return true;
        walk->code = input_flow_enter(flow, frame, 0, &frame);
    }
    return walk->code != BAT_OK || frame == BAT_NONE ||
           !add_jump(walk, (struct input_state){target, frame});
}

/* One instruction of the input; true if it decides. */
static bool stops(struct walk *walk)
{
    switch (walk->instruction.kind) {
    case BAT_INSTRUCTION_OTHER:
    case BAT_INSTRUCTION_NOP:
        walk->state.at += walk->instruction.length;
        return false;
    case BAT_INSTRUCTION_JUMP:
        return stops_at_jump(walk);
    case BAT_INSTRUCTION_CALL:
        return stops_at_call(walk);
    case BAT_INSTRUCTION_RETURN:
        return stops_at_return(walk);
    default:
        return true;
    }
}

/* Walk to what decides; path.found if it is found. */
static void walk_on(struct walk *walk)
{
    for (uint32_t i = 0; i < MOST_STEPS; i++) {
        if (i != 0 && walk->is_lazy && walk->state.frame == INPUT_ROOT_FRAME &&
            input_flow_is_block(&walk->reading->follow->flow, walk->reading->hot, walk->state.at)) {
            walk->path.found = true;
            return;
        }
        if (!input_flow_decode(&walk->reading->follow->flow, walk->state.at, &walk->instruction))
            return;
        uint32_t jumps = walk->path.jump_count;
        uint64_t at = walk->state.at;
        if (stops(walk)) {
            walk->path.found = walk->code == BAT_OK;
            return;
        }
        if (walk->path.jump_count == jumps)
            walk->path.last = at;
    }
}

/* Walk to the branch or call that the note knows here. */
static void walk_to_entry(struct walk *walk, uint64_t entry)
{
    struct reading *reading = walk->reading;
    struct input_state goal = {entry, INPUT_ROOT_FRAME};
    if (!input_flow_decode(&reading->follow->flow, entry, &walk->instruction))
        return;
    walk->code = input_flow_path(&reading->follow->flow, reading->hot, walk->state, goal, false,
                                 &walk->path);
    walk->state = goal;
}

static bool is_call(uint8_t kind)
{
    return kind == BAT_INSTRUCTION_CALL || kind == BAT_INSTRUCTION_INDIRECT_CALL;
}

/* --- Branches -----------------------------------------------------------------------------------
 */

/* A conditional branch beside the input's: the same condition, its opposite, or neither. */
static void match_condition(const struct reading *reading, struct input_node *node,
                            const struct walk *walk)
{
    const struct bat_original *original = reading->original;
    struct input_state here = walk->state;
    struct input_state goes = {walk->instruction.target, here.frame};
    struct input_state falls = {here.at + walk->instruction.length, here.frame};
    uint32_t output = condition_at(original->binary->elf, node->address);
    uint32_t input = condition_at(original->elf, here.at);
    node->source = here.at;
    node->jump = here.at;
    if (output == input) {
        node->taken = goes;
        node->fall = falls;
        node->jumps_if_taken = true;
    } else if (output == CONDITION_OPPOSITE(input)) {
        node->taken = falls;
        node->fall = goes;
        node->jumps_if_not = true;
    } else {
        node->taken = here;
        node->fall = here;
        node->source = 0;
    }
}

/* What the branch at a node is, when the input's deciding instruction is known. */
static void match(const struct reading *reading, struct input_node *node, const struct walk *walk)
{
    uint8_t kind = walk->instruction.kind;
    struct input_state here = walk->state;
    struct input_state next = {here.at + walk->instruction.length, here.frame};
    /* Until it is known better, BOLT's own: the input does nothing here. */
    node->taken = here;
    node->fall = here;
    if (is_call(node->kind) && is_call(kind)) {
        node->source = here.at;
        node->fall = next;
    } else if (node->kind == BAT_INSTRUCTION_CALL && kind == BAT_INSTRUCTION_JUMP) {
        /* A tail call of code that is inlined: what it calls returns to where that would. */
        const struct input_frame *frame = &reading->follow->flow.frames[here.frame];
        node->source = here.at;
        node->fall = (struct input_state){frame->returns_to, frame->caller};
    } else if (node->kind == BAT_INSTRUCTION_CONDITIONAL && kind == BAT_INSTRUCTION_CONDITIONAL) {
        match_condition(reading, node, walk);
    } else if (node->kind == kind) {
        node->source = here.at;
    }
}

/* --- Promoted calls ----------------------------------------------------------------------------
 */

/* The input function that the code before a branch compares a pointer with; 0 if there is none. */
static uint64_t compared_function(const struct reading *reading, const struct input_node *node)
{
    const struct bat_original *original = reading->original;
    uint64_t function = 0;
    struct bat_instruction instruction;
    for (uint64_t at = node->is_first ? node->address : node[-1].address; at < node->address;
         at += instruction.length) {
        if (!bat_original_decode(original->binary->elf, at, &instruction))
            return 0;
        uint64_t constant =
            instruction.has_reference ? instruction.reference : instruction.immediate;
        uint32_t output = bat_functions_find(original->output_functions, constant);
        if (output != BAT_NONE && original->outputs[output].address == constant &&
            original->input_of[output] != BAT_NONE)
            function = original->inputs[original->input_of[output]].address;
    }
    return function;
}

/* True if the output calls this function (an input address) next, from a node on. */
static bool calls_next(const struct reading *reading, const struct input_node *node,
                       uint64_t function)
{
    while (node && !changes_flow(node->kind) && node->falls)
        node++;
    return node && (is_call(node->kind) || node->kind == BAT_INSTRUCTION_JUMP) &&
           calls_same(reading, node->target, function);
}

/*
 * A branch that compares what an indirect call of the input would call: where it is equal, the
 * output has a call of that function or, inlined, its code.
 */
static enum bat_code follow_promotion(struct reading *reading, struct input_node *node,
                                      const struct walk *walk)
{
    uint64_t function = compared_function(reading, node);
    bool is_equal = (condition_at(reading->original->binary->elf, node->address) & 15u) == 4;
    struct input_node *next = is_equal      ? node_at(reading->nodes, node->target)
                              : node->falls ? node + 1
                                            : NULL;
    struct input_flow *flow = &reading->follow->flow;
    if (!next || function == 0 || !input_flow_has_code(flow, function) ||
        calls_next(reading, next, function))
        return BAT_OK;
    uint32_t frame;
    uint64_t returns_to = walk->state.at + walk->instruction.length;
    enum bat_code code = input_flow_enter(flow, walk->state.frame, returns_to, &frame);
    if (code != BAT_OK || frame == BAT_NONE)
        return code;
    struct input_state *state = is_equal ? &node->taken : &node->fall;
    *state = (struct input_state){function, frame};
    node->jump = walk->state.at;
    node->jumps_if_taken = is_equal;
    node->jumps_if_not = !is_equal;
    return BAT_OK;
}

/* --- Tail calls ---------------------------------------------------------------------------------
 */

/* A conditional branch to another function, which stands for one to a jump that goes there. */
static bool is_conditional_tail_call(const struct reading *reading, const struct input_node *node,
                                     uint64_t entry)
{
    struct bat_instruction instruction;
    return node->kind == BAT_INSTRUCTION_CONDITIONAL && entry != 0 &&
           !node_at(reading->nodes, node->target) &&
           input_flow_decode(&reading->follow->flow, entry, &instruction) &&
           instruction.kind == BAT_INSTRUCTION_JUMP;
}

/* The same where the note names the branch itself. */
static enum bat_code find_tail_call(struct reading *reading, struct input_node *node)
{
    const struct input_node jump = {.kind = BAT_INSTRUCTION_JUMP, .target = node->target};
    if (node->kind != BAT_INSTRUCTION_CONDITIONAL || node->source == 0 || node->tail_call != 0 ||
        node_at(reading->nodes, node->target))
        return BAT_OK;
    struct walk walk = {.reading = reading, .node = &jump, .state = node->taken};
    walk_on(&walk);
    if (walk.path.found && walk.instruction.kind == BAT_INSTRUCTION_JUMP &&
        calls_same(reading, node->target, walk.instruction.target))
        node->tail_call = walk.state.at;
    return walk.code;
}

/* Follow the input to a node's instruction, and on behind it. */
static enum bat_code follow_node(struct reading *reading, struct input_node *node)
{
    node->taken = node->state;
    node->fall = node->state;
    node->before = INPUT_PATH_EMPTY;
    if (!changes_flow(node->kind))
        return BAT_OK;
    struct walk walk = {.reading = reading, .node = node, .state = node->state};
    uint64_t entry = exact_entry(reading, node->address);
    bool is_inner_jump =
        node->kind == BAT_INSTRUCTION_JUMP && node_at(reading->nodes, node->target);
    if (is_conditional_tail_call(reading, node, entry)) {
        node->tail_call = entry;
        entry = 0;
    }
    if (entry != 0 && is_inside(reading, entry) && !is_inner_jump)
        walk_to_entry(&walk, entry);
    else if (!is_inner_jump)
        walk_on(&walk);
    else
        return BAT_OK;
    if (walk.code != BAT_OK)
        return walk.code;
    if (walk.path.found || entry != 0)
        match(reading, node, &walk);
    if (walk.path.found && node->kind == BAT_INSTRUCTION_CONDITIONAL &&
        walk.instruction.kind == BAT_INSTRUCTION_INDIRECT_CALL)
        walk.code = follow_promotion(reading, node, &walk);
    if (walk.code != BAT_OK)
        return walk.code;
    walk.path.last = 0;
    enum bat_code code = keep_path(reading->follow, &walk.path, &node->before);
    return code == BAT_OK ? find_tail_call(reading, node) : code;
}

/* --- From node to node ---------------------------------------------------------------------------
 */

#define MOST_JUMPS_ON 8u

static bool goes_on(uint8_t kind)
{
    return kind != BAT_INSTRUCTION_JUMP && kind != BAT_INSTRUCTION_INDIRECT_JUMP &&
           kind != BAT_INSTRUCTION_RETURN && kind != BAT_INSTRUCTION_TRAP;
}

/* The output's next branch, call or return from a node on, jumps to other nodes left out. */
static const struct input_node *next_branch(const struct reading *reading,
                                            const struct input_node *node)
{
    for (uint32_t jumps = 0; node && jumps < MOST_JUMPS_ON;) {
        bool is_jump = node->kind == BAT_INSTRUCTION_JUMP;
        const struct input_node *target = is_jump ? node_at(reading->nodes, node->target) : NULL;
        if (changes_flow(node->kind) && !target)
            return node;
        jumps += is_jump;
        node = is_jump ? target : node->falls ? node + 1 : NULL;
    }
    return NULL;
}

/*
 * Where the input is when its next instruction that decides is the same: past jumps, and past calls
 * and returns of inlined code, at the branch or call itself. Two ways to one node of the output
 * agree on that. A block that the note knows is where all ways to it agree.
 */
static struct input_state next_decision(struct reading *reading, const struct input_node *node,
                                        struct input_state state)
{
    const struct input_node *next = next_branch(reading, node);
    struct walk walk = {
        .reading = reading, .node = next, .state = state, .is_probe = !next, .is_lazy = true};
    walk_on(&walk);
    return walk.path.found ? walk.state : state;
}

/* A way to a node: is_exact if the state is that at the node itself, not somewhere before. */
static void reach(struct reading *reading, struct input_node *node, struct input_state state,
                  bool is_exact)
{
    if (node->is_fixed || node->state.at != 0 || state.at == 0)
        return;
    node->is_late = !is_exact && node->is_leader;
    node->is_early = !is_exact && !node->is_leader;
    set_state(reading, node, node->is_late ? next_decision(reading, node, state) : state);
}

/* What follows from the state of a node: that of its next one and of its target. */
static enum bat_code spread(struct reading *reading, struct input_node *node)
{
    enum bat_code code = follow_node(reading, node);
    if (code != BAT_OK)
        return code;
    bool is_exact = node->source != 0;
    if (node->falls && goes_on(node->kind))
        reach(reading, node + 1, node->fall, is_exact || node->jumps_if_not);
    struct input_node *target =
        is_direct(node->kind) ? node_at(reading->nodes, node->target) : NULL;
    if (target)
        reach(reading, target, node->taken, is_exact || node->jumps_if_taken);
    return BAT_OK;
}

/* Put a jump before a path. */
static void begin_with_jump(struct input_path *path, uint64_t from, uint64_t to)
{
    path->found = path->found && path->jump_count < INPUT_PATH_JUMPS;
    if (!path->found)
        return;
    for (uint32_t i = path->jump_count++; i > 0; i--)
        path->jumps[i] = path->jumps[i - 1];
    path->jumps[0] = (struct input_jump){from, to};
}

/* The way from behind a node's instruction to another node, with the jump of the input if it is
 * one. */
static enum bat_code find_way(struct reading *reading, const struct input_node *node,
                              struct input_state from, bool jumps, struct input_state to,
                              uint32_t *number)
{
    struct input_path path;
    struct input_flow *flow = &reading->follow->flow;
    bool must_move = node->source == 0 && (node->kind == BAT_INSTRUCTION_JUMP
                                               ? node->is_early
                                               : !changes_flow(node->kind) && !node->is_late);
    enum bat_code code = input_flow_path(flow, reading->hot, from, to, must_move, &path);
    if (code == BAT_OK && must_move && !path.found)
        code = input_flow_path(flow, reading->hot, from, to, false, &path);
    if (code == BAT_OK && jumps)
        begin_with_jump(&path, node->jump, from.at);
    else if (path.found && path.jump_count == 0 && from.at == to.at)
        path.last = node->source;
    return code == BAT_OK ? keep_path(reading->follow, &path, number) : code;
}

/* The ways from a node to the next one and to its target. */
static enum bat_code find_ways(struct reading *reading, struct input_node *node)
{
    enum bat_code code = BAT_OK;
    node->fall_path = INPUT_PATH_UNKNOWN;
    node->taken_path = INPUT_PATH_UNKNOWN;
    if (node->state.at == 0)
        return BAT_OK;
    bool is_same =
        !changes_flow(node->kind) && node->falls && !node[1].is_leader && !node[1].is_fixed;
    if (is_same)
        node->fall_path = INPUT_PATH_EMPTY;
    else if (node->falls && goes_on(node->kind))
        code = find_way(reading, node, node->fall, node->jumps_if_not, node[1].state,
                        &node->fall_path);
    const struct input_node *target =
        is_direct(node->kind) ? node_at(reading->nodes, node->target) : NULL;
    if (target && code == BAT_OK) {
        node->is_inner = true;
        node->target_state = target->state;
        code = find_way(reading, node, node->taken, node->jumps_if_taken, target->state,
                        &node->taken_path);
    }
    struct input_state tail_call = {node->tail_call, INPUT_ROOT_FRAME};
    if (node->tail_call && code == BAT_OK)
        code = find_way(reading, node, node->taken, node->jumps_if_taken, tail_call,
                        &node->taken_path);
    struct input_state start = {reading->input_start, INPUT_ROOT_FRAME};
    if (!node->is_first || code != BAT_OK)
        return code;
    struct input_path path;
    code = input_flow_path(&reading->follow->flow, reading->hot, start, node->state, false, &path);
    return code == BAT_OK ? keep_path(reading->follow, &path, &node->enter_path) : code;
}

/* --- All of a function ----------------------------------------------------------------------- */

static enum bat_code read_fragments(struct reading *reading)
{
    const struct bat_original *original = reading->original;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < fragment_count(reading) && code == BAT_OK; i++) {
        uint32_t table = fragment_table(reading, i);
        uint32_t output = original->output_of[table];
        if (output == BAT_NONE)
            continue;
        const struct bat_function_symbol *symbol = &original->outputs[output];
        code = read_entries(reading, table, symbol->address, symbol->size);
        if (code == BAT_OK)
            code = read_instructions(reading, symbol->address, symbol->address + symbol->size);
    }
    return code;
}

static enum bat_code follow_all(struct reading *reading)
{
    const struct bat_original *original = reading->original;
    struct input_nodes *nodes = reading->nodes;
    for (uint32_t i = 0; i < fragment_count(reading); i++) {
        uint32_t table = fragment_table(reading, i);
        uint32_t output = original->output_of[table];
        if (output != BAT_NONE)
            fix_states(reading, table, original->outputs[output].address);
    }
    enum bat_code code = input_flow_read(&reading->follow->flow, reading->hot);
    for (uint32_t i = 0; i < reading->pending_count && code == BAT_OK; i++)
        code = spread(reading, &nodes->all[reading->pending[i]]);
    for (uint32_t i = 0; i < nodes->count && code == BAT_OK; i++)
        code = find_ways(reading, &nodes->all[i]);
    return code;
}

static enum bat_code read_function(struct input_follow *follow, uint32_t hot)
{
    const struct bat_original *original = follow->flow.original;
    struct reading reading = {
        .follow = follow,
        .original = original,
        .map = original->binary->map,
        .nodes = &follow->functions[hot],
        .hot = hot,
    };
    const struct bat_function_symbol *input =
        &original->inputs[bat_original_input_of_table(original, hot)];
    reading.input_start = input->address;
    reading.input_end = input->address + input->extent;
    reading.nodes->is_read = true;
    enum bat_code code = read_fragments(&reading);
    if (code != BAT_OK)
        return code;
    if (reading.nodes->count != 0)
        qsort(reading.nodes->all, reading.nodes->count, sizeof(*reading.nodes->all), compare_nodes);
    merge_nodes(&reading);
    reading.pending = malloc(((size_t)reading.nodes->count + 1) * sizeof(*reading.pending));
    code = reading.pending ? follow_all(&reading) : BAT_ERR_MEMORY;
    free(reading.pending);
    return code;
}

enum bat_code input_follow_open(struct input_follow *follow, const struct bat_original *original)
{
    *follow = (struct input_follow){.path_capacity = 256, .path_count = 2};
    size_t count = original->binary->map->hot_count;
    enum bat_code code = input_flow_open(&follow->flow, original);
    follow->functions = calloc(count + 1, sizeof(*follow->functions));
    follow->paths = calloc(follow->path_capacity, sizeof(*follow->paths));
    if (code != BAT_OK || !follow->functions || !follow->paths)
        return BAT_ERR_MEMORY;
    follow->paths[INPUT_PATH_EMPTY] = (struct input_path){.found = true, .falls_last = true};
    return BAT_OK;
}

void input_follow_close(struct input_follow *follow)
{
    for (uint32_t i = 0; follow->functions && i < follow->flow.original->binary->map->hot_count;
         i++)
        free(follow->functions[i].all);
    free(follow->functions);
    free(follow->paths);
    if (follow->flow.original)
        input_flow_close(&follow->flow);
}

enum bat_code input_follow_node(struct input_follow *follow, uint32_t table, uint64_t address,
                                const struct input_node **node)
{
    const struct bat_original *original = follow->flow.original;
    uint32_t hot = original->binary->map->functions[table].parent;
    struct input_nodes *nodes = &follow->functions[hot];
    enum bat_code code = nodes->is_read ? BAT_OK : read_function(follow, hot);
    if (code != BAT_OK)
        return code;
    uint32_t output = original->output_of[table];
    struct input_node *found = find_node(nodes, address);
    *node = found && output != BAT_NONE && found->address >= original->outputs[output].address
                ? found
                : NULL;
    return BAT_OK;
}
