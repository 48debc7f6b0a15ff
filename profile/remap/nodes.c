/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reads the code of an output function and makes its nodes (nodes.h). */
#include "nodes.h"

#include <elf.h>
#include <stdlib.h>

#include "spec/binary_search.h"
#include "spec/grow.h"
#include "support/key_sort.h"

/* --- Fragments -------------------------------------------------------------------------------- */

uint32_t input_fragment_count(const struct bat_original *original, uint32_t hot)
{
    const struct bat_map *map = original->binary->map;
    return 1 + map->fragment_start[hot + 1] - map->fragment_start[hot];
}

uint32_t input_fragment(const struct bat_original *original, uint32_t hot, uint32_t fragment,
                        uint32_t *table)
{
    const struct bat_map *map = original->binary->map;
    *table = fragment == 0 ? hot : map->fragments[map->fragment_start[hot] + fragment - 1];
    return original->output_of[*table];
}

uint32_t input_fragment_at(const struct bat_original *original, uint32_t hot, uint64_t address)
{
    const struct bat_map *map = original->binary->map;
    uint32_t output = bat_functions_find(original->output_functions, address);
    uint32_t table = output == BAT_NONE ? BAT_NONE : original->table_of[output];
    bool is_own = table != BAT_NONE && map->tables[table].parent == hot &&
                  original->output_of[table] == output &&
                  address - original->outputs[output].address < original->outputs[output].size;
    return is_own ? output : BAT_NONE;
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* An instruction that changes the flow of control. */
struct branch {
    uint64_t target;
    uint8_t kind;
    uint8_t length;
};

/* The value of a key: what makes a node at its address. For branches, BRANCH + index. */
enum {
    PLACE,  /* start of a fragment, or an entry of the table */
    LEADER, /* target of a branch, or the instruction behind one */
    BRANCH, /* an instruction that changes the flow of control */
};

struct node_reader {
    const struct bat_original *original;
    struct input_nodes *nodes;
    uint32_t hot;
    struct branch *branches;
    size_t branch_count;
    size_t branch_capacity;
    struct bat_sort_key *keys; /* addresses of all nodes; one address may be there several times */
    size_t key_count;
    size_t key_capacity;
};

static enum bat_code add_key(struct node_reader *reader, uint64_t address, uint64_t value)
{
    if (!bat_grow(&reader->keys, &reader->key_capacity, reader->key_count, sizeof(*reader->keys)))
        return BAT_ERR_MEMORY;
    reader->keys[reader->key_count++] = (struct bat_sort_key){address, value};
    return BAT_OK;
}

static enum bat_code add_branch(struct node_reader *reader, uint64_t address,
                                const struct bat_instruction *instruction)
{
    if (!bat_grow(&reader->branches, &reader->branch_capacity, reader->branch_count,
                  sizeof(*reader->branches)))
        return BAT_ERR_MEMORY;
    enum bat_code code = add_key(reader, address, BRANCH + reader->branch_count);
    reader->branches[reader->branch_count++] =
        (struct branch){instruction->target, instruction->kind, instruction->length};
    if (code == BAT_OK && bat_kind_is_branch(instruction->kind))
        code = add_key(reader, instruction->target, LEADER);
    return code;
}

/* Read a fragment's code: add its branches, their targets, and what follows them. */
static enum bat_code read_instructions(struct node_reader *reader, uint64_t start, uint64_t size)
{
    const struct bat_elf *elf = reader->original->binary->elf;
    uint16_t machine = bat_elf_machine(elf);
    enum bat_code code = BAT_OK;
    uint64_t available;
    const uint8_t *bytes = bat_elf_at_address(elf, start, &available);
    struct bat_instruction instruction;
    size = size < available ? size : available;
    for (uint64_t at = 0; at < size && code == BAT_OK; at += instruction.length) {
        at += bat_instructions_skip_plain(machine, bytes + at, (size_t)(size - at));
        if (at == size)
            break;
        if (!bat_instruction_decode(machine, bytes + at, available - at, start + at,
                                    &instruction)) {
            /* AArch64 has constants between its code. */
            instruction = (struct bat_instruction){.length = machine == EM_AARCH64 ? 4 : 1,
                                                   .kind = BAT_INSTRUCTION_TRAP};
        }
        if (!input_kind_changes_flow(instruction.kind))
            continue;
        code = add_branch(reader, start + at, &instruction);
        if (code == BAT_OK && at + instruction.length < size)
            code = add_key(reader, start + at + instruction.length, LEADER);
    }
    return code;
}

/* Add the start of a fragment and the block entries of its table. */
static enum bat_code read_entries(struct node_reader *reader, uint32_t table, uint64_t start,
                                  uint64_t size)
{
    const struct bat_map *map = reader->original->binary->map;
    const struct bat_table *function = &map->tables[table];
    enum bat_code code = add_key(reader, start, PLACE);
    for (uint32_t i = 0; i < function->entry_count && code == BAT_OK; i++) {
        uint32_t entry = function->first_entry + i;
        if (map->output_offsets[entry] < size && !(map->input_offsets[entry] & BAT_BRANCH_ENTRY))
            code = add_key(reader, start + map->output_offsets[entry], PLACE);
    }
    return code;
}

static enum bat_code read_fragments(struct node_reader *reader)
{
    const struct bat_original *original = reader->original;
    enum bat_code code = BAT_OK;
    uint32_t count = input_fragment_count(original, reader->hot);
    for (uint32_t i = 0; i < count && code == BAT_OK; i++) {
        uint32_t table;
        uint32_t output = input_fragment(original, reader->hot, i, &table);
        if (output == BAT_NONE)
            continue;
        const struct bat_function_symbol *symbol = &original->outputs[output];
        code = read_entries(reader, table, symbol->address, symbol->size);
        if (code == BAT_OK)
            code = read_instructions(reader, symbol->address, symbol->size);
    }
    return code;
}

/* --- Nodes ------------------------------------------------------------------------------------ */

/* Leave out keys outside of the function. Returns the number of distinct addresses left. */
static uint32_t keep_own(struct node_reader *reader)
{
    const struct bat_function_symbol *outputs = reader->original->outputs;
    size_t kept = 0;
    uint32_t addresses = 0;
    uint32_t fragment = BAT_NONE;
    for (size_t i = 0; i < reader->key_count; i++) {
        const struct bat_sort_key *key = &reader->keys[i];
        if (fragment == BAT_NONE || key->key - outputs[fragment].address >= outputs[fragment].size)
            fragment = input_fragment_at(reader->original, reader->hot, key->key);
        if (fragment == BAT_NONE)
            continue;
        addresses += kept == 0 || reader->keys[kept - 1].key != key->key;
        reader->keys[kept++] = *key;
    }
    reader->key_count = kept;
    return addresses;
}

/* Add what a key says to the node at its address. */
static void add_to_node(const struct node_reader *reader, struct input_node *node, uint64_t value)
{
    node->is_leader |= value == LEADER;
    if (value < BRANCH || !reader->branches)
        return;
    const struct branch *branch = &reader->branches[value - BRANCH];
    node->target = branch->target;
    node->kind = branch->kind;
    node->length = branch->length;
}

/* Make one node for each address of the sorted keys. */
static void make_nodes(struct node_reader *reader)
{
    struct input_nodes *nodes = reader->nodes;
    const struct bat_function_symbol *outputs = reader->original->outputs;
    uint32_t fragment = BAT_NONE;
    for (size_t i = 0; i < reader->key_count;) {
        uint64_t address = reader->keys[i].key;
        struct input_node *node = &nodes->all[nodes->count++];
        *node = (struct input_node){.address = address, .target_node = BAT_NONE};
        for (; i < reader->key_count && reader->keys[i].key == address; i++)
            add_to_node(reader, node, reader->keys[i].value);
        uint32_t last_fragment = fragment;
        if (fragment == BAT_NONE || address - outputs[fragment].address >= outputs[fragment].size)
            fragment = input_fragment_at(reader->original, reader->hot, address);
        node->is_first = fragment != last_fragment;
        if (node != nodes->all)
            node[-1].falls = !node->is_first;
    }
}

static void find_targets(struct input_nodes *nodes)
{
    for (uint32_t i = 0; i < nodes->count; i++) {
        struct input_node *node = &nodes->all[i];
        const struct input_node *target =
            bat_kind_is_branch(node->kind) ? input_nodes_at(nodes, node->target) : NULL;
        if (target)
            node->target_node = (uint32_t)(target - nodes->all);
    }
}

/* Sort the keys and make the nodes. */
static enum bat_code build(struct node_reader *reader)
{
    struct input_nodes *nodes = reader->nodes;
    struct bat_sort_key *keys = reader->keys;
    struct bat_sort_key *spare = malloc((reader->key_count + 1) * sizeof(*spare));
    if (!spare)
        return BAT_ERR_MEMORY;
    reader->keys = bat_sort_keys(keys, spare, reader->key_count);
    nodes->all = malloc(((size_t)keep_own(reader) + 1) * sizeof(*nodes->all));
    if (nodes->all)
        make_nodes(reader);
    reader->keys = keys;
    free(spare);
    if (!nodes->all)
        return BAT_ERR_MEMORY;
    find_targets(nodes);
    return BAT_OK;
}

enum bat_code input_nodes_read(struct input_nodes *nodes, const struct bat_original *original,
                               uint32_t hot)
{
    struct node_reader reader = {.original = original, .nodes = nodes, .hot = hot};
    nodes->is_read = true;
    enum bat_code code = read_fragments(&reader);
    if (code == BAT_OK)
        code = build(&reader);
    free(reader.branches);
    free(reader.keys);
    return code;
}

/* --- Look-up ---------------------------------------------------------------------------------- */

struct input_node *input_nodes_find(const struct input_nodes *nodes, uint64_t address)
{
    uint32_t up_to = BAT_COUNT_UP_TO(nodes->all, nodes->count, address, address);
    return up_to == 0 ? NULL : &nodes->all[up_to - 1];
}

struct input_node *input_nodes_at(const struct input_nodes *nodes, uint64_t address)
{
    struct input_node *node = input_nodes_find(nodes, address);
    return node && node->address == address ? node : NULL;
}

#define MOST_JUMPS_ON 8u
#define MOST_NODES_ON 64u

const struct input_node *input_nodes_next_branch(const struct input_nodes *nodes,
                                                 const struct input_node *node)
{
    for (uint32_t jumps = 0, passed = 0; node && jumps < MOST_JUMPS_ON && passed < MOST_NODES_ON;
         passed++) {
        bool is_jump = node->kind == BAT_INSTRUCTION_JUMP;
        const struct input_node *target = is_jump ? input_nodes_target(nodes, node) : NULL;
        if (input_kind_changes_flow(node->kind) && !target)
            return node;
        jumps += is_jump;
        node = is_jump ? target : node->falls ? node + 1 : NULL;
    }
    return NULL;
}
