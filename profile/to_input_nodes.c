/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "to_input_nodes.h"

#include <elf.h>
#include <stdlib.h>

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
    bool is_own = table != BAT_NONE && map->functions[table].parent == hot &&
                  original->output_of[table] == output &&
                  address - original->outputs[output].address < original->outputs[output].size;
    return is_own ? output : BAT_NONE;
}

/* --- Nodes ------------------------------------------------------------------------------------ */

struct reading {
    const struct bat_original *original;
    struct input_nodes *nodes;
    uint32_t capacity;
    uint32_t hot;
};

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
        if (!input_kind_changes_flow(instruction.kind))
            continue;
        code = add_node(reading, &(struct input_node){.address = at,
                                                      .target = instruction.target,
                                                      .kind = instruction.kind,
                                                      .length = instruction.length});
        if (code == BAT_OK && at + instruction.length < end)
            code = add_node(reading, &(struct input_node){.address = at + instruction.length,
                                                          .is_leader = true});
        if (code == BAT_OK && input_kind_is_direct(instruction.kind))
            code = add_node(reading,
                            &(struct input_node){.address = instruction.target, .is_leader = true});
    }
    return code;
}

/* The nodes of a table's entries. */
static enum bat_code read_entries(struct reading *reading, uint32_t table, uint64_t start,
                                  uint64_t size)
{
    const struct bat_map *map = reading->original->binary->map;
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
            fragment = input_fragment_at(reading->original, reading->hot, node->address);
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

static enum bat_code read_fragments(struct reading *reading)
{
    const struct bat_original *original = reading->original;
    enum bat_code code = BAT_OK;
    uint32_t count = input_fragment_count(original, reading->hot);
    for (uint32_t i = 0; i < count && code == BAT_OK; i++) {
        uint32_t table;
        uint32_t output = input_fragment(original, reading->hot, i, &table);
        if (output == BAT_NONE)
            continue;
        const struct bat_function_symbol *symbol = &original->outputs[output];
        code = read_entries(reading, table, symbol->address, symbol->size);
        if (code == BAT_OK)
            code = read_instructions(reading, symbol->address, symbol->address + symbol->size);
    }
    return code;
}

enum bat_code input_nodes_read(struct input_nodes *nodes, const struct bat_original *original,
                               uint32_t hot)
{
    struct reading reading = {.original = original, .nodes = nodes, .hot = hot};
    nodes->is_read = true;
    enum bat_code code = read_fragments(&reading);
    if (code != BAT_OK)
        return code;
    if (nodes->count != 0)
        qsort(nodes->all, nodes->count, sizeof(*nodes->all), compare_nodes);
    merge_nodes(&reading);
    return BAT_OK;
}

/* --- Look-up ---------------------------------------------------------------------------------- */

struct input_node *input_nodes_find(const struct input_nodes *nodes, uint64_t address)
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

struct input_node *input_nodes_at(const struct input_nodes *nodes, uint64_t address)
{
    struct input_node *node = input_nodes_find(nodes, address);
    return node && node->address == address ? node : NULL;
}
