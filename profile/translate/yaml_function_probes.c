/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The probes of one function in YAML: spec/pseudo-probes.md 4. */
#include "yaml_function_probes.h"

#include <stdlib.h>

#include "spec/array.h"
#include "spec/order.h"

/* --- The inline tree -------------------------------------------------------------------------- */

/* List the tree's nodes breadth first; children in the section's order. */
static bool list_tree(const struct bat_probes *probes, struct bat_yaml_function_probes *found)
{
    const uint32_t end = probes->nodes[found->root].end;
    const size_t size = end - found->root;
    if (size > found->tree_capacity) {
        BAT_FREE_ALL(found->queue, found->numbers, found->nodes);
        found->queue = malloc(size * sizeof(*found->queue));
        found->numbers = malloc(size * sizeof(*found->numbers));
        found->nodes = malloc(size * sizeof(*found->nodes));
        found->tree_capacity = found->queue && found->numbers && found->nodes ? size : 0;
        if (found->tree_capacity == 0)
            return false;
    }
    found->queue[0] = found->root;
    found->tree_size = 1;
    for (uint32_t i = 0; i < found->tree_size; i++) {
        const uint32_t node = found->queue[i];
        const struct bat_probe_node *from = &probes->nodes[node];
        found->numbers[node - found->root] = i;
        found->nodes[i] = (struct bat_yaml_node){
            .guid = from->guid,
            .parent = i == 0 ? 0 : found->numbers[from->parent - found->root],
            .call_site = from->call_site};
        for (uint32_t child = node + 1; child < probes->nodes[node].end;
             child = probes->nodes[child].end)
            found->queue[found->tree_size++] = child;
    }
    return true;
}

/* The root of the tree of the first probe in [start, end) that is read; BAT_NONE: none is. */
static uint32_t find_root(const struct bat_yaml_probes *probes, uint64_t start, uint64_t end)
{
    uint32_t first;
    const uint32_t count = bat_probes_between(probes->all, start, end, &first);
    for (uint32_t i = first; i < first + count; i++) {
        const uint32_t node = probes->all->probes[i].node;
        if (probes->is_read[node])
            return bat_probes_top(probes->all, node);
    }
    return BAT_NONE;
}

/* --- Probes in blocks ------------------------------------------------------------------------- */

/* A part of the function: addresses, and the table that translates them, or BAT_NONE. */
struct part {
    uint64_t start;
    uint64_t end;
    uint32_t table;
};

/* Where probes are looked for, and put. */
struct search {
    const struct bat_records *records;
    const struct bat_block *blocks;
    uint32_t block_count;
    struct bat_yaml_function_probes *found;
};

static bool add_probe(const struct search *search, const struct part *part,
                      const struct bat_probe *probe)
{
    struct bat_yaml_function_probes *found = search->found;
    const uint64_t distance = probe->address - part->start;
    const uint64_t input = part->table == BAT_NONE ? distance
                                                   : bat_map_translate(search->records->map,
                                                                       part->table, distance, true);
    const uint32_t block = bat_block_at(search->blocks, search->block_count, input);
    if (block == BAT_NONE)
        return true;
    if (!BAT_GROW(found->found, found->found_count, found->found_capacity))
        return false;
    found->found[found->found_count] =
        (struct bat_yaml_probe){.block = block,
                                .order = (uint32_t)found->found_count,
                                .node = found->numbers[probe->node - found->root],
                                .id = probe->id,
                                .offset = (uint32_t)(input - search->blocks[block].input_offset),
                                .type = probe->type};
    found->found_count++;
    return true;
}

/* Add the probes of a part that belong to the tree. */
static bool add_part(const struct search *search, struct part part)
{
    const struct bat_probes *probes = search->records->probes->all;
    const uint32_t root = search->found->root;
    uint32_t first;
    const uint32_t count = bat_probes_between(probes, part.start, part.end, &first);
    for (uint32_t i = first; i < first + count; i++) {
        const uint32_t node = probes->probes[i].node;
        if (node >= root && node < probes->nodes[root].end &&
            !add_probe(search, &part, &probes->probes[i]))
            return false;
    }
    return true;
}

static struct part part_of(const struct bat_records *records, uint32_t function, uint32_t table)
{
    const struct bat_function_symbol *symbol = &records->symbols[function];
    return (struct part){symbol->address, symbol->address + symbol->size, table};
}

/* Add the probes of all parts of a function that the binary's note has. */
static bool add_parts(const struct search *search, uint32_t function, uint32_t table)
{
    const struct bat_records *records = search->records;
    const struct bat_map *map = records->map;
    if (!add_part(search, part_of(records, function, table)))
        return false;
    if (table >= map->hot_count)
        return true;
    for (uint32_t i = map->fragment_start[table]; i < map->fragment_start[table + 1]; i++) {
        const uint32_t fragment = map->fragments[i];
        const uint32_t at = bat_functions_at(records->functions, map->tables[fragment].address);
        if (at != BAT_NONE && !add_part(search, part_of(records, at, fragment)))
            return false;
    }
    return true;
}

/* Make room to choose all probes that were found. */
static bool reserve_chosen(struct bat_yaml_function_probes *found)
{
    if (found->found_count <= found->chosen_capacity)
        return true;
    BAT_FREE_ALL(found->calls, found->blocks);
    const size_t count = found->found_capacity;
    found->calls = malloc(count * sizeof(*found->calls));
    found->blocks = malloc(count * sizeof(*found->blocks));
    const bool has_memory = found->calls && found->blocks;
    found->chosen_capacity = has_memory ? count : 0;
    return has_memory;
}

enum bat_code bat_yaml_probes_find(const struct bat_records *records, uint32_t function,
                                   const struct bat_block *blocks, uint32_t block_count,
                                   struct bat_yaml_function_probes *found, struct bat_error *error)
{
    const struct search search = {records, blocks, block_count, found};
    const struct part whole = part_of(records, function, BAT_NONE);
    found->found_count = 0;
    found->tree_size = 0;
    found->root = find_root(records->probes, whole.start, whole.end);
    if (found->root == BAT_NONE)
        return BAT_OK;
    const uint32_t table = bat_records_have_note(records) ? records->tables[function] : BAT_NONE;
    bool has_memory = list_tree(records->probes->all, found);
    if (has_memory && block_count != 0)
        has_memory =
            table == BAT_NONE ? add_part(&search, whole) : add_parts(&search, function, table);
    BAT_TRY_MEMORY(has_memory && reserve_chosen(found), error, "to write YAML");
    BAT_SORT_BY_TWO(found->found, found->found_count, block, order);
    return BAT_OK;
}

void bat_yaml_function_probes_free(struct bat_yaml_function_probes *found)
{
    BAT_FREE_ALL(found->queue, found->numbers, found->nodes, found->found, found->calls,
                 found->blocks);
}

/* --- The probes of a place -------------------------------------------------------------------- */

void bat_yaml_probes_begin_place(struct bat_yaml_function_probes *found)
{
    found->call_count = 0;
    found->block_count = 0;
}

void bat_yaml_probes_choose(struct bat_yaml_function_probes *found, uint32_t block)
{
    for (size_t i = BAT_COUNT_BELOW(found->found, found->found_count, block, block);
         i < found->found_count && found->found[i].block == block; i++) {
        if (found->found[i].type == BAT_PROBE_BLOCK)
            found->blocks[found->block_count++] =
                (uint64_t)found->found[i].node << 32 | found->found[i].id;
        else
            found->calls[found->call_count++] = found->found[i];
    }
}

void bat_yaml_probes_sort_place(struct bat_yaml_function_probes *found)
{
    if (found->block_count > 1)
        qsort(found->blocks, found->block_count, sizeof(*found->blocks), bat_compare_u64);
    if (found->call_count == 0)
        return;
    BAT_SORT_BY_TWO(found->calls, found->call_count, offset, order);
    /* Of several probes at a call the last one holds. */
    uint32_t kept = 0;
    for (uint32_t i = 0; i < found->call_count; i++) {
        if (kept != 0 && found->calls[kept - 1].offset == found->calls[i].offset)
            kept--;
        found->calls[kept++] = found->calls[i];
    }
    found->call_count = kept;
}

/* --- Calls ------------------------------------------------------------------------------------ */

static void give(struct bat_yaml_edge *call, const struct bat_yaml_probe *probe)
{
    call->probe = probe->id;
    call->probe_node = probe->node;
    call->is_indirect = probe->type == BAT_PROBE_INDIRECT_CALL;
}

void bat_yaml_probes_place(struct bat_yaml_function_probes *found, struct bat_yaml_edge *call)
{
    if (call->at > UINT32_MAX)
        return;
    const uint32_t wanted = (uint32_t)call->at;
    const uint32_t i = BAT_COUNT_BELOW(found->calls, found->call_count, offset, wanted);
    if (i == found->call_count || found->calls[i].offset != wanted)
        return;
    found->calls[i].is_written = true;
    give(call, &found->calls[i]);
}

void bat_yaml_probes_add_uncounted(struct bat_yaml_function_probes *found,
                                   struct bat_yaml_edges *calls)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < found->call_count; i++)
        if (!found->calls[i].is_written)
            found->calls[left++] = found->calls[i];
    BAT_SORT_BY_TWO(found->calls, left, node, id);
    for (uint32_t i = 0; i < left; i++) {
        struct bat_yaml_edge *call = &calls->all[calls->count++];
        *call = (struct bat_yaml_edge){.at = found->calls[i].offset};
        give(call, &found->calls[i]);
    }
    found->call_count = 0;
}
