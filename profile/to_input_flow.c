/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Ways through the input's code from one block to another. */
#include <stdlib.h>

#include "to_input.h"

/* --- Blocks --------------------------------------------------------------------------------- */

enum bat_code input_flow_open(struct input_flow *flow, const struct bat_original *original)
{
    *flow = (struct input_flow){.original = original, .paths_by_ends = bat_counts_new(2)};
    size_t count = original->binary->map->hot_count;
    flow->functions = calloc(count + 1, sizeof(*flow->functions));
    return flow->functions ? BAT_OK : BAT_ERR_MEMORY;
}

void input_flow_close(struct input_flow *flow)
{
    for (uint32_t i = 0; flow->functions && i < flow->original->binary->map->hot_count; i++)
        free(flow->functions[i].blocks);
    free(flow->functions);
    free(flow->paths);
    bat_counts_free(&flow->paths_by_ends);
}

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

/* --- Search --------------------------------------------------------------------------------- */

#define MOST_NODES 48u
#define MOST_INSTRUCTIONS 4096u /* of a block */

/* A block that the search has come to. */
struct node {
    uint64_t address;
    uint64_t from; /* the instruction that it was come from: the jump, or the last one before it */
    uint32_t parent;
    bool is_jump;
};

struct search {
    const struct bat_original *original;
    const struct input_function *function;
    uint64_t start; /* of the function */
    uint64_t end;
    uint64_t goal;
    struct node nodes[MOST_NODES];
    uint32_t count;
    bool found; /* the last node is the goal */
};

static bool is_known(const struct search *search, uint64_t address)
{
    /* The first node may be come back to: a block that jumps to itself. */
    for (uint32_t i = 1; i < search->count; i++)
        if (search->nodes[i].address == address)
            return true;
    return false;
}

static void arrive(struct search *search, uint32_t parent, uint64_t from, uint64_t to, bool is_jump)
{
    if (search->found || search->count == MOST_NODES || is_known(search, to))
        return;
    search->nodes[search->count++] = (struct node){to, from, parent, is_jump};
    search->found = to == search->goal;
}

/* Go through a block's instructions to where it may lead. */
static void leave_block(struct search *search, uint32_t node)
{
    const struct bat_elf *elf = search->original->elf;
    uint64_t at = search->nodes[node].address;
    uint64_t before = at;
    bool after_branch = false;
    for (uint32_t i = 0; i < MOST_INSTRUCTIONS && !search->found; i++) {
        struct bat_instruction instruction;
        if (at >= search->end || !bat_original_decode(elf, at, &instruction))
            return;
        /* A jump behind a branch is part of its block. */
        bool ends_here = after_branch && instruction.kind != BAT_INSTRUCTION_JUMP;
        if (i != 0 && (ends_here || block_at(search->function, at))) {
            arrive(search, node, before, at, false);
            return;
        }
        switch (instruction.kind) {
        case BAT_INSTRUCTION_JUMP:
            arrive(search, node, at, instruction.target, true);
            return;
        case BAT_INSTRUCTION_CONDITIONAL:
            arrive(search, node, at, instruction.target, true);
            after_branch = true;
            break;
        case BAT_INSTRUCTION_INDIRECT_JUMP:
        case BAT_INSTRUCTION_RETURN:
        case BAT_INSTRUCTION_TRAP:
            return;
        default:
            break;
        }
        before = at;
        at += instruction.length;
    }
}

/* A block that does nothing but jump away. */
static bool is_jump_alone(const struct search *search, uint64_t address)
{
    struct bat_instruction instruction = {.kind = BAT_INSTRUCTION_NOP};
    for (uint32_t i = 0; i < 4 && instruction.kind == BAT_INSTRUCTION_NOP; i++) {
        if (!bat_original_decode(search->original->elf, address, &instruction))
            return false;
        address += instruction.length;
    }
    return instruction.kind == BAT_INSTRUCTION_JUMP;
}

/* True if an execution of the output may have gone through a block without a trace of it. */
static bool is_transparent(const struct search *search, uint64_t address)
{
    if (address < search->start || address >= search->end)
        return false;
    const struct input_block *block = block_at(search->function, address);
    return !block || !block->is_live || is_jump_alone(search, address);
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
        path.jump_count += search->nodes[i].is_jump;
    if (path.jump_count > INPUT_PATH_JUMPS)
        return (struct input_path){0};
    uint32_t place = path.jump_count;
    for (uint32_t i = last; i != 0; i = search->nodes[i].parent)
        if (search->nodes[i].is_jump)
            path.jumps[--place] =
                (struct input_jump){search->nodes[i].from, search->nodes[i].address};
    return path;
}

static struct input_path search_path(struct search *search, uint64_t from)
{
    search->nodes[0] = (struct node){.address = from};
    search->count = 1;
    for (uint32_t i = 0; i < search->count && !search->found; i++)
        if (i == 0 || is_transparent(search, search->nodes[i].address))
            leave_block(search, i);
    return trace_back(search);
}

/* --- Paths ---------------------------------------------------------------------------------- */

static enum bat_code keep_path(struct input_flow *flow, const uint64_t *key,
                               const struct input_path *path)
{
    if (flow->path_count == flow->path_capacity) {
        uint32_t capacity = flow->path_capacity ? 2 * flow->path_capacity : 256;
        struct input_path *grown = realloc(flow->paths, capacity * sizeof(*grown));
        if (!grown)
            return BAT_ERR_MEMORY;
        flow->paths = grown;
        flow->path_capacity = capacity;
    }
    flow->paths[flow->path_count] = *path;
    return bat_counts_add(&flow->paths_by_ends, key, flow->path_count++, 0);
}

enum bat_code input_flow_path(struct input_flow *flow, uint32_t hot, uint64_t from, uint64_t to,
                              const struct input_path **path)
{
    const uint64_t key[2] = {from, to};
    const uint64_t *item = bat_counts_find(&flow->paths_by_ends, key);
    if (item) {
        *path = &flow->paths[item[2]];
        return BAT_OK;
    }
    struct input_function *function = &flow->functions[hot];
    enum bat_code code = function->is_read ? BAT_OK : read_blocks(flow, hot);
    if (code != BAT_OK)
        return code;
    const struct bat_function_symbol *input =
        &flow->original->inputs[bat_original_input_of_table(flow->original, hot)];
    struct search search = {
        .original = flow->original,
        .function = function,
        .start = input->address,
        .end = input->address + input->extent,
        .goal = to,
    };
    struct input_path found = search_path(&search, from);
    code = keep_path(flow, key, &found);
    *path = code == BAT_OK ? &flow->paths[flow->path_count - 1] : NULL;
    return code;
}
