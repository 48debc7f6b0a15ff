/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Ways through the input's code from one block to another. */
#include <stdlib.h>

#include "to_input.h"

/* An instruction that was asked for before: searches go through the same code again and again. */
struct input_decoded {
    uint64_t address;
    struct bat_instruction instruction;
};

#define DECODED_COUNT 8192u

enum bat_code input_flow_open(struct input_flow *flow, const struct bat_original *original)
{
    *flow = (struct input_flow){.original = original, .frames_by_call = bat_counts_new(2)};
    size_t count = original->binary->map->hot_count;
    flow->functions = calloc(count + 1, sizeof(*flow->functions));
    flow->frame_capacity = 16;
    flow->frames = calloc(flow->frame_capacity, sizeof(*flow->frames));
    flow->frame_count = 1;
    flow->decoded = calloc(DECODED_COUNT, sizeof(*flow->decoded));
    return flow->functions && flow->frames && flow->decoded ? BAT_OK : BAT_ERR_MEMORY;
}

void input_flow_close(struct input_flow *flow)
{
    for (uint32_t i = 0; flow->functions && i < flow->original->binary->map->hot_count; i++)
        free(flow->functions[i].blocks);
    free(flow->functions);
    free(flow->frames);
    free(flow->decoded);
    bat_counts_free(&flow->frames_by_call);
}

/* --- Instructions --------------------------------------------------------------------------- */

bool input_flow_decode(struct input_flow *flow, uint64_t address,
                       struct bat_instruction *instruction)
{
    struct input_decoded *decoded = &flow->decoded[address % DECODED_COUNT];
    if (decoded->address != address || address == 0) {
        if (!bat_original_decode(flow->original->elf, address, &decoded->instruction)) {
            decoded->address = 0;
            return false;
        }
        decoded->address = address;
    }
    *instruction = decoded->instruction;
    return true;
}

/* --- Frames --------------------------------------------------------------------------------- */

#define MOST_FRAMES_NESTED 16u

enum bat_code input_flow_enter(struct input_flow *flow, uint32_t caller, uint64_t returns_to,
                               uint32_t *frame)
{
    const uint64_t key[2] = {caller, returns_to};
    const uint64_t *item = bat_counts_find(&flow->frames_by_call, key);
    *frame = item ? (uint32_t)item[2] : BAT_NONE;
    uint32_t depth = flow->frames[caller].depth + 1;
    if (item || depth > MOST_FRAMES_NESTED)
        return BAT_OK;
    if (flow->frame_count == flow->frame_capacity) {
        struct input_frame *grown =
            realloc(flow->frames, 2 * (size_t)flow->frame_capacity * sizeof(*grown));
        if (!grown)
            return BAT_ERR_MEMORY;
        flow->frames = grown;
        flow->frame_capacity *= 2;
    }
    *frame = flow->frame_count++;
    flow->frames[*frame] = (struct input_frame){caller, depth, returns_to};
    return bat_counts_add(&flow->frames_by_call, key, *frame, 0);
}

bool input_flow_is_outside(const struct input_flow *flow, uint64_t address, uint64_t *leaves)
{
    const struct bat_original *original = flow->original;
    uint32_t input = bat_functions_find(original->input_functions, address);
    if (input == BAT_NONE || !(original->inputs[input].flags & BAT_FUNCTION_PLT))
        return false;
    struct bat_instruction instruction = {.kind = BAT_INSTRUCTION_OTHER};
    uint64_t end = original->inputs[input].address + original->inputs[input].size;
    for (*leaves = address; *leaves < end; *leaves += instruction.length)
        if (!bat_original_decode(original->elf, *leaves, &instruction) ||
            instruction.kind == BAT_INSTRUCTION_INDIRECT_JUMP)
            return instruction.kind == BAT_INSTRUCTION_INDIRECT_JUMP;
    return false;
}

bool input_flow_has_code(const struct input_flow *flow, uint64_t address)
{
    const struct bat_original *original = flow->original;
    uint32_t input = bat_functions_find(original->input_functions, address);
    return input != BAT_NONE && original->inputs[input].address == address &&
           !(original->inputs[input].flags & BAT_FUNCTION_PLT);
}

/* --- Blocks --------------------------------------------------------------------------------- */

static int compare_blocks(const void *left_pointer, const void *right_pointer)
{
    const struct input_block *left = left_pointer;
    const struct input_block *right = right_pointer;
    return left->address < right->address ? -1 : left->address > right->address;
}

/* Add the blocks of one table; returns how many there are then. */
static uint32_t add_table(const struct bat_original *original, uint32_t table, uint64_t start,
                          struct input_block *blocks, uint32_t count)
{
    const struct bat_map *map = original->binary->map;
    const struct bat_function *function = &map->functions[table];
    uint32_t output = original->output_of[table];
    uint64_t next = output == BAT_NONE ? UINT64_MAX : original->outputs[output].size;
    for (uint32_t i = function->entry_count; i-- > 0;) {
        uint32_t entry = function->first_entry + i;
        if (map->input_offsets[entry] & BAT_BRANCH_ENTRY)
            continue;
        blocks[count++] = (struct input_block){
            .address = start + (map->input_offsets[entry] >> 1),
            .is_live = map->output_offsets[entry] < next,
        };
        next = map->output_offsets[entry];
    }
    return count;
}

/* One block an address, live if any of its copies is. */
static uint32_t merge_blocks(struct input_block *blocks, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (kept == 0 || blocks[kept - 1].address != blocks[i].address)
            blocks[kept++] = blocks[i];
        else
            blocks[kept - 1].is_live |= blocks[i].is_live;
    }
    return kept;
}

static enum bat_code read_blocks(struct input_flow *flow, uint32_t hot)
{
    struct input_function *function = &flow->functions[hot];
    const struct bat_map *map = flow->original->binary->map;
    const uint32_t *fragments = map->fragments + map->fragment_start[hot];
    uint32_t fragment_count = map->fragment_start[hot + 1] - map->fragment_start[hot];
    size_t most = map->functions[hot].block_count;
    for (uint32_t i = 0; i < fragment_count; i++)
        most += map->functions[fragments[i]].block_count;
    function->blocks = malloc((most + 1) * sizeof(*function->blocks));
    if (!function->blocks)
        return BAT_ERR_MEMORY;
    uint64_t start =
        flow->original->inputs[bat_original_input_of_table(flow->original, hot)].address;
    uint32_t count = add_table(flow->original, hot, start, function->blocks, 0);
    for (uint32_t i = 0; i < fragment_count; i++)
        count = add_table(flow->original, fragments[i], start, function->blocks, count);
    qsort(function->blocks, count, sizeof(*function->blocks), compare_blocks);
    function->count = merge_blocks(function->blocks, count);
    function->is_read = true;
    return BAT_OK;
}

/* The block that starts at an address, or NULL. */
static const struct input_block *block_at(const struct input_function *function, uint64_t address)
{
    struct input_block wanted = {.address = address};
    return bsearch(&wanted, function->blocks, function->count, sizeof(wanted), compare_blocks);
}

enum bat_code input_flow_read(struct input_flow *flow, uint32_t hot)
{
    return flow->functions[hot].is_read ? BAT_OK : read_blocks(flow, hot);
}

bool input_flow_is_block(const struct input_flow *flow, uint32_t hot, uint64_t address)
{
    return block_at(&flow->functions[hot], address) != NULL;
}

/* --- Search --------------------------------------------------------------------------------- */

#define MOST_NODES 64u
#define MOST_INSTRUCTIONS 4096u /* of a block */

/* A block, or the rest of one, that the search has come to. */
struct node {
    struct input_state state;
    uint64_t from; /* the instruction that it was come from: the jump, or the last one before it */
    uint32_t parent;
    bool is_jump;
    bool goes_on;     /* the rest of a block, behind an inlined call */
    uint64_t outside; /* of a call that BOLT has replaced, what was called outside of the binary */
    uint64_t leaves;  /* ... and the jump that goes there */
};

struct search {
    struct input_flow *flow;
    const struct input_function *function;
    uint64_t start; /* of the function */
    uint64_t end;
    struct input_state goal;
    struct node nodes[MOST_NODES];
    uint32_t count;
    bool passes_calls; /* instead of going through what is called */
    bool must_move;
    bool found; /* the last node is the goal */
    enum bat_code code;
};

static bool is_goal(const struct search *search, struct input_state state)
{
    return state.at == search->goal.at && state.frame == search->goal.frame;
}

static bool is_known(const struct search *search, struct input_state state)
{
    /* The first node may be come back to: a block that jumps to itself. */
    for (uint32_t i = 1; i < search->count; i++)
        if (search->nodes[i].state.at == state.at && search->nodes[i].state.frame == state.frame)
            return true;
    return false;
}

static void arrive(struct search *search, const struct node *node)
{
    if (search->found || search->count == MOST_NODES || is_known(search, node->state))
        return;
    search->nodes[search->count++] = *node;
    search->found = is_goal(search, node->state);
}

/* Go into what is called; false if the call is passed over. */
static bool enter_call(struct search *search, struct node *to, uint64_t target, uint64_t next)
{
    uint32_t frame = BAT_NONE;
    if (next != 0 && input_flow_is_outside(search->flow, target, &to->leaves)) {
        to->state.at = next;
        to->is_jump = true;
        to->goes_on = true;
        to->outside = target;
        arrive(search, to);
        return true;
    }
    if (search->passes_calls || !input_flow_has_code(search->flow, target))
        return false;
    search->code = input_flow_enter(search->flow, to->state.frame, next, &frame);
    if (search->code != BAT_OK || frame == BAT_NONE)
        return false;
    to->state = (struct input_state){target, frame};
    to->is_jump = true;
    arrive(search, to);
    return true;
}

static void leave_frame(struct search *search, struct node *to)
{
    const struct input_frame *frame = &search->flow->frames[to->state.frame];
    if (frame->returns_to == 0)
        return;
    to->state = (struct input_state){frame->returns_to, frame->caller};
    to->is_jump = true;
    to->goes_on = true;
    arrive(search, to);
}

static void jump(struct search *search, struct node to, uint64_t target)
{
    to.state.at = target;
    to.is_jump = true;
    arrive(search, &to);
}

/* An indirect jump may lead to any block that the note knows. */
static void jump_anywhere(struct search *search, const struct node *to)
{
    if (to->state.frame == INPUT_ROOT_FRAME && search->goal.frame == INPUT_ROOT_FRAME &&
        block_at(search->function, search->goal.at))
        jump(search, *to, search->goal.at);
}

static bool is_inside(const struct search *search, struct input_state state)
{
    return state.frame != INPUT_ROOT_FRAME || (state.at >= search->start && state.at < search->end);
}

/* What an instruction does to the search: false if nothing goes on behind it. */
static bool pass(struct search *search, struct node *to, const struct bat_instruction *instruction)
{
    uint64_t next = to->from + instruction->length;
    switch (instruction->kind) {
    case BAT_INSTRUCTION_JUMP:
        if (is_inside(search, (struct input_state){instruction->target, to->state.frame}) ||
            !enter_call(search, to, instruction->target, 0))
            jump(search, *to, instruction->target);
        return false;
    case BAT_INSTRUCTION_CONDITIONAL:
        jump(search, *to, instruction->target);
        return true;
    case BAT_INSTRUCTION_CALL:
        return !enter_call(search, to, instruction->target, next);
    case BAT_INSTRUCTION_RETURN:
        leave_frame(search, to);
        return false;
    case BAT_INSTRUCTION_INDIRECT_JUMP:
        jump_anywhere(search, to);
        return false;
    case BAT_INSTRUCTION_TRAP:
        return false;
    default:
        return true;
    }
}

/* Go through a block's instructions to where it may lead. */
static void leave_block(struct search *search, uint32_t number)
{
    struct input_state state = search->nodes[number].state;
    uint64_t before = state.at;
    bool after_branch = false;
    for (uint32_t i = 0; i < MOST_INSTRUCTIONS && !search->found; i++) {
        struct bat_instruction instruction;
        struct node to = {.state = state, .from = before, .parent = number};
        if (i != 0 && is_goal(search, state)) {
            arrive(search, &to);
            return;
        }
        if (!is_inside(search, state) || !input_flow_decode(search->flow, state.at, &instruction))
            return;
        /* A jump behind a branch is part of its block. */
        bool ends_here = after_branch && instruction.kind != BAT_INSTRUCTION_JUMP;
        if (i != 0 && state.frame == INPUT_ROOT_FRAME &&
            (ends_here || block_at(search->function, state.at))) {
            arrive(search, &to);
            return;
        }
        to.from = state.at;
        if (!pass(search, &to, &instruction))
            return;
        after_branch = instruction.kind == BAT_INSTRUCTION_CONDITIONAL;
        before = state.at;
        state.at += instruction.length;
    }
}

/* A block that does nothing but jump away. */
static bool is_jump_alone(const struct search *search, uint64_t address)
{
    struct bat_instruction instruction = {.kind = BAT_INSTRUCTION_NOP};
    for (uint32_t i = 0; i < 4 && instruction.kind == BAT_INSTRUCTION_NOP; i++) {
        if (!input_flow_decode(search->flow, address, &instruction))
            return false;
        address += instruction.length;
    }
    return instruction.kind == BAT_INSTRUCTION_JUMP;
}

/* True if an execution of the output may have gone through a block without a trace of it. */
static bool is_transparent(const struct search *search, const struct node *node)
{
    if (!is_inside(search, node->state))
        return false;
    if (node->state.frame != INPUT_ROOT_FRAME || node->goes_on)
        return true;
    const struct input_block *block = block_at(search->function, node->state.at);
    return !block || !block->is_live || is_jump_alone(search, node->state.at);
}

/* The way to the last node, as a path. */
static struct input_path trace_back(const struct search *search)
{
    struct input_path path = {.found = search->found};
    if (!search->found)
        return path;
    uint32_t last = search->count - 1;
    path.falls_last = !search->nodes[last].is_jump;
    path.last = search->nodes[last].from;
    for (uint32_t i = last; i != 0; i = search->nodes[i].parent)
        path.jump_count += search->nodes[i].outside ? 3 : search->nodes[i].is_jump;
    if (path.jump_count > INPUT_PATH_JUMPS)
        return (struct input_path){0};
    uint32_t place = path.jump_count;
    for (uint32_t i = last; i != 0; i = search->nodes[i].parent) {
        const struct node *node = &search->nodes[i];
        if (node->outside) {
            path.jumps[--place] = (struct input_jump){BAT_ADDRESS_EXTERNAL, node->state.at};
            path.jumps[--place] = (struct input_jump){node->leaves, BAT_ADDRESS_EXTERNAL};
            path.jumps[--place] = (struct input_jump){node->from, node->outside};
        } else if (node->is_jump) {
            path.jumps[--place] = (struct input_jump){node->from, node->state.at};
        }
    }
    return path;
}

static struct input_path search_path(struct search *search, struct input_state from)
{
    search->nodes[0] = (struct node){.state = from, .from = from.at};
    search->count = 1;
    search->found = !search->must_move && is_goal(search, from);
    for (uint32_t i = 0; i < search->count && !search->found && search->code == BAT_OK; i++)
        if (i == 0 || is_transparent(search, &search->nodes[i]))
            leave_block(search, i);
    return trace_back(search);
}

enum bat_code input_flow_path(struct input_flow *flow, uint32_t hot, struct input_state from,
                              struct input_state to, bool must_move, struct input_path *path)
{
    *path = (struct input_path){0};
    if (from.at == 0 || to.at == 0)
        return BAT_OK;
    enum bat_code code = input_flow_read(flow, hot);
    if (code != BAT_OK)
        return code;
    const struct bat_function_symbol *input =
        &flow->original->inputs[bat_original_input_of_table(flow->original, hot)];
    struct search search = {
        .flow = flow,
        .function = &flow->functions[hot],
        .start = input->address,
        .end = input->address + input->extent,
        .goal = to,
        .must_move = must_move,
    };
    *path = search_path(&search, from);
    if (!path->found && search.code == BAT_OK) {
        search.passes_calls = true;
        *path = search_path(&search, from);
    }
    return search.code;
}
