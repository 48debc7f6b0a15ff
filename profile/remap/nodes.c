/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reads the code of an output function and makes its nodes (nodes.h). */
#include "nodes.h"

#include <elf.h>
#include <stdlib.h>

#include "spec/array.h"
#include "spec/order.h"

/* An instruction that changes the flow of control. */
struct branch {
    uint64_t address;
    uint64_t target;
    uint8_t kind;
    uint8_t length;
};

/* 64 bytes of code: a bit for each. */
struct code_bits {
    uint64_t nodes;   /* a node is here */
    uint64_t leaders; /* the target of a branch, or behind one */
    uint32_t before;  /* nodes with lower addresses */
};

struct node_reader {
    const struct bat_original *original;
    struct input_nodes *nodes;
    uint32_t hot;
    struct code_bits *bits; /* of all fragments, one behind the other */
    size_t bit_count;
    const struct input_fragment *last; /* the fragment that was asked for last */
    struct branch *branches;           /* ascending */
    size_t branch_count;
    size_t branch_capacity;
};

/* --- Fragments -------------------------------------------------------------------------------- */

/* Find the fragments; they ascend, and none reaches into the next one. */
static enum bat_code find_fragments(struct node_reader *reader)
{
    const struct bat_original *original = reader->original;
    const struct bat_map *map = original->binary->map;
    struct input_nodes *nodes = reader->nodes;
    const uint32_t *others = map->fragments + map->fragment_start[reader->hot];
    const uint32_t count =
        1 + map->fragment_start[reader->hot + 1] - map->fragment_start[reader->hot];
    nodes->fragments = malloc(count * sizeof(*nodes->fragments));
    if (!nodes->fragments)
        return BAT_ERR_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t table = i == 0 ? reader->hot : others[i - 1];
        const uint32_t output = original->output_of[table];
        if (output == BAT_NONE)
            continue;
        const struct bat_function_symbol *symbol = &original->outputs[output];
        uint64_t size;
        bat_elf_at_address(original->binary->elf, symbol->address, &size);
        size = size < symbol->size ? size : symbol->size;
        nodes->fragments[nodes->fragment_count++] =
            (struct input_fragment){.start = symbol->address, .size = size, .table = table};
    }
    BAT_SORT_BY(nodes->fragments, nodes->fragment_count, start);
    for (uint32_t i = 0; i < nodes->fragment_count; i++) {
        struct input_fragment *fragment = &nodes->fragments[i];
        if (i + 1 < nodes->fragment_count && fragment[1].start - fragment->start < fragment->size)
            fragment->size = fragment[1].start - fragment->start;
        fragment->first_bits = reader->bit_count;
        reader->bit_count += (size_t)(fragment->size / 64 + 1);
    }
    reader->bits = calloc(reader->bit_count + 1, sizeof(*reader->bits));
    return reader->bits ? BAT_OK : BAT_ERR_MEMORY;
}

/* The bits of an address, and which of them is its own; NULL if it is in no fragment. */
static struct code_bits *bits_of(struct node_reader *reader, uint64_t address, unsigned *bit)
{
    const struct input_nodes *nodes = reader->nodes;
    if (!reader->last || address - reader->last->start >= reader->last->size) {
        const uint32_t up_to =
            BAT_COUNT_UP_TO(nodes->fragments, nodes->fragment_count, start, address);
        reader->last = up_to == 0 ? NULL : &nodes->fragments[up_to - 1];
        if (!reader->last || address - reader->last->start >= reader->last->size)
            return NULL;
    }
    const uint64_t offset = address - reader->last->start;
    *bit = (unsigned)(offset % 64);
    return &reader->bits[reader->last->first_bits + offset / 64];
}

static void mark(struct node_reader *reader, uint64_t address, bool is_leader)
{
    unsigned bit;
    struct code_bits *bits = bits_of(reader, address, &bit);
    if (!bits)
        return;
    bits->nodes |= UINT64_C(1) << bit;
    bits->leaders |= (uint64_t)is_leader << bit;
}

/* --- Reading ---------------------------------------------------------------------------------- */

static enum bat_code add_branch(struct node_reader *reader, uint64_t address,
                                const struct bat_instruction *instruction)
{
    if (!BAT_APPEND(
            reader->branches, reader->branch_count, reader->branch_capacity,
            (struct branch){address, instruction->target, instruction->kind, instruction->length}))
        return BAT_ERR_MEMORY;
    mark(reader, address, false);
    mark(reader, address + instruction->length, true);
    return BAT_OK;
}

/* Read a fragment's code: mark its branches and what follows them. */
static enum bat_code read_instructions(struct node_reader *reader,
                                       const struct input_fragment *fragment)
{
    const struct bat_elf *elf = reader->original->binary->elf;
    const uint64_t start = fragment->start;
    const uint64_t size = fragment->size;
    uint16_t machine = bat_elf_machine(elf);
    enum bat_code code = BAT_OK;
    uint64_t available;
    const uint8_t *bytes = bat_elf_at_address(elf, start, &available);
    struct bat_instruction instruction;
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
        if (input_kind_changes_flow(instruction.kind))
            code = add_branch(reader, start + at, &instruction);
    }
    return code;
}

/* Mark the start of a fragment and the block entries of its table. */
static void read_entries(struct node_reader *reader, const struct input_fragment *fragment)
{
    const struct bat_map *map = reader->original->binary->map;
    const struct bat_table *function = &map->tables[fragment->table];
    mark(reader, fragment->start, false);
    for (uint32_t i = 0; i < function->entry_count; i++) {
        const uint32_t entry = function->first_entry + i;
        if (map->output_offsets[entry] < fragment->size &&
            !(map->input_offsets[entry] & BAT_BRANCH_ENTRY))
            mark(reader, fragment->start + map->output_offsets[entry], false);
    }
}

static enum bat_code read_fragments(struct node_reader *reader)
{
    const struct input_nodes *nodes = reader->nodes;
    enum bat_code code = find_fragments(reader);
    for (uint32_t i = 0; i < nodes->fragment_count && code == BAT_OK; i++) {
        read_entries(reader, &nodes->fragments[i]);
        code = read_instructions(reader, &nodes->fragments[i]);
    }
    for (size_t i = 0; i < reader->branch_count; i++)
        if (bat_kind_is_branch(reader->branches[i].kind))
            mark(reader, reader->branches[i].target, true);
    return code;
}

/* --- Nodes ------------------------------------------------------------------------------------ */

/* Number the nodes; returns how many there are. */
static uint32_t count_nodes(struct node_reader *reader)
{
    uint32_t count = 0;
    for (size_t i = 0; i < reader->bit_count; i++) {
        reader->bits[i].before = count;
        count += (uint32_t)__builtin_popcountll(reader->bits[i].nodes);
    }
    return count;
}

/* The number of the node at an address, BAT_NONE if there is none. */
static uint32_t number_of(struct node_reader *reader, uint64_t address)
{
    unsigned bit;
    const struct code_bits *bits = bits_of(reader, address, &bit);
    if (!bits || !(bits->nodes >> bit & 1))
        return BAT_NONE;
    const uint64_t lower = bits->nodes & ((UINT64_C(1) << bit) - 1);
    return bits->before + (uint32_t)__builtin_popcountll(lower);
}

/* Make the nodes of a fragment; *next is the number of its first branch, then of the one behind. */
static void make_nodes(struct node_reader *reader, struct input_fragment *fragment, size_t *next)
{
    struct input_nodes *nodes = reader->nodes;
    fragment->first_node = nodes->count;
    for (uint64_t offset = 0; offset < fragment->size; offset += 64) {
        const struct code_bits *bits = &reader->bits[fragment->first_bits + offset / 64];
        for (uint64_t left = bits->nodes; left != 0; left &= left - 1) {
            const unsigned bit = (unsigned)__builtin_ctzll(left);
            struct input_node *node = &nodes->all[nodes->count++];
            *node = (struct input_node){.address = fragment->start + offset + bit,
                                        .target_node = BAT_NONE,
                                        .is_leader = bits->leaders >> bit & 1,
                                        .falls = true};
            if (*next == reader->branch_count || reader->branches[*next].address != node->address)
                continue;
            const struct branch *branch = &reader->branches[(*next)++];
            node->target = branch->target;
            node->kind = branch->kind;
            node->length = branch->length;
            if (bat_kind_is_branch(node->kind))
                node->target_node = number_of(reader, node->target);
        }
    }
    fragment->node_count = nodes->count - fragment->first_node;
    if (fragment->node_count == 0)
        return;
    nodes->all[fragment->first_node].is_first = true;
    nodes->all[nodes->count - 1].falls = false;
}

static enum bat_code build(struct node_reader *reader)
{
    struct input_nodes *nodes = reader->nodes;
    size_t next = 0;
    nodes->all = malloc(((size_t)count_nodes(reader) + 1) * sizeof(*nodes->all));
    if (!nodes->all)
        return BAT_ERR_MEMORY;
    for (uint32_t i = 0; i < nodes->fragment_count; i++)
        make_nodes(reader, &nodes->fragments[i], &next);
    return BAT_OK;
}

enum bat_code input_nodes_read(struct input_nodes *nodes, const struct bat_original *original,
                               uint32_t hot)
{
    struct node_reader reader = {.original = original, .nodes = nodes, .hot = hot};
    nodes->is_read = true;
    enum bat_code code = read_fragments(&reader);
    code = code ? code : build(&reader);
    BAT_FREE_ALL(reader.bits, reader.branches);
    return code;
}

/* --- Look-up ---------------------------------------------------------------------------------- */

struct input_node *input_nodes_find(const struct input_nodes *nodes, uint64_t address)
{
    uint32_t up_to = BAT_COUNT_UP_TO(nodes->all, nodes->count, address, address);
    return up_to == 0 ? NULL : &nodes->all[up_to - 1];
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
