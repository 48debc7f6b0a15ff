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
        BAT_FREE_ALL(found->queue, found->numbers);
        found->queue = malloc(size * sizeof(*found->queue));
        found->numbers = malloc(size * sizeof(*found->numbers));
        found->tree_capacity = found->queue && found->numbers ? size : 0;
        if (found->tree_capacity == 0)
            return false;
    }
    found->queue[0] = found->root;
    found->tree_size = 1;
    for (uint32_t i = 0; i < found->tree_size; i++) {
        const uint32_t node = found->queue[i];
        found->numbers[node - found->root] = i;
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
    BAT_FREE_ALL(found->calls, found->blocks, found->groups);
    const size_t count = found->found_capacity;
    found->calls = malloc(count * sizeof(*found->calls));
    found->blocks = malloc(count * sizeof(*found->blocks));
    found->groups = malloc(count * sizeof(*found->groups));
    const bool has_memory = found->calls && found->blocks && found->groups;
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
    BAT_FREE_ALL(found->queue, found->numbers, found->found, found->calls, found->blocks,
                 found->groups);
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

/* The most bytes of a key with a number behind it. */
#define FIELD_MAX 64u

static void write_number(struct bat_text_writer *text, const char *before, uint64_t value)
{
    char *at = stpcpy(bat_text_room(text, FIELD_MAX), before);
    bat_text_end(text, bat_put_decimal(at, value));
}

static void write_probe(const struct bat_yaml_probe *call, struct bat_text_writer *text)
{
    write_number(text, ", pp: ", call->id);
    if (call->node != 0)
        write_number(text, ", ppn: ", call->node);
    if (call->type == BAT_PROBE_INDIRECT_CALL)
        bat_text_string(text, ", ind: true");
}

void bat_yaml_probes_write_call(struct bat_yaml_function_probes *found, uint64_t offset,
                                struct bat_text_writer *text)
{
    if (offset > UINT32_MAX)
        return;
    const uint32_t wanted = (uint32_t)offset;
    const uint32_t i = BAT_COUNT_BELOW(found->calls, found->call_count, offset, wanted);
    if (i == found->call_count || found->calls[i].offset != wanted)
        return;
    found->calls[i].is_written = true;
    write_probe(&found->calls[i], text);
}

void bat_yaml_probes_write_uncounted(struct bat_yaml_function_probes *found, const char **separator,
                                     struct bat_text_writer *text)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < found->call_count; i++)
        if (!found->calls[i].is_written)
            found->calls[left++] = found->calls[i];
    BAT_SORT_BY_TWO(found->calls, left, node, id);
    for (uint32_t i = 0; i < left; i++) {
        bat_text_string(text, *separator);
        char *at = stpcpy(bat_text_room(text, FIELD_MAX), "{ off: 0x");
        bat_text_end(text, bat_put_upper_hex(at, found->calls[i].offset));
        bat_text_string(text, ", fid: 0, cnt: 0");
        write_probe(&found->calls[i], text);
        bat_text_string(text, " }");
        *separator = ", ";
    }
    found->call_count = 0;
}

/* --- Blocks ----------------------------------------------------------------------------------- */

/* Write the ids of a group, unless there is only 1. Returns what stands before the next field. */
static const char *write_ids(const struct bat_yaml_function_probes *found,
                             const struct bat_yaml_group *group, struct bat_text_writer *text)
{
    if (group->end - group->first == 1 && (uint32_t)found->blocks[group->first] == 1)
        return "";
    for (uint32_t i = group->first; i < group->end; i++)
        write_number(text, i == group->first ? "blk: [ " : ", ", (uint32_t)found->blocks[i]);
    bat_text_string(text, " ]");
    return ", ";
}

/* Write the nodes of the groups first to end - 1, unless there is only 0. */
static void write_nodes(const struct bat_yaml_function_probes *found, uint32_t first, uint32_t end,
                        const char *before, struct bat_text_writer *text)
{
    const struct bat_yaml_group *groups = found->groups;
    if (end - first == 1 && found->blocks[groups[first].first] >> 32 == 0)
        return;
    bat_text_string(text, before);
    for (uint32_t i = first; i < end; i++)
        write_number(text, i == first ? "ids: [ " : ", ", found->blocks[groups[i].first] >> 32);
    bat_text_string(text, " ]");
}

void bat_yaml_probes_write_blocks(struct bat_yaml_function_probes *found,
                                  struct bat_text_writer *text)
{
    const uint32_t count = bat_yaml_probe_groups(found->blocks, found->block_count, found->groups);
    uint32_t end;
    for (uint32_t i = 0; i < count; i = end) {
        end = i + 1;
        while (end < count && found->groups[end].entry == found->groups[i].entry)
            end++;
        bat_text_string(text, i == 0 ? "        probes:          [ { " : ", { ");
        write_nodes(found, i, end, write_ids(found, &found->groups[i], text), text);
        bat_text_string(text, " }");
    }
    if (count != 0)
        bat_text_string(text, " ]\n");
}

/* --- The tree, written ----------------------------------------------------------------------- */

void bat_yaml_probes_write_tree(const struct bat_yaml_probes *probes,
                                const struct bat_yaml_function_probes *found,
                                struct bat_text_writer *text)
{
    if (found->root == BAT_NONE)
        return;
    const struct bat_probe_node *nodes = probes->all->nodes;
    uint32_t last_guid = 0;
    uint32_t last_parent = 0;
    const char *separator = "    inline_tree:     [ ";
    for (uint32_t i = 0; i < found->tree_size; i++) {
        const struct bat_probe_node *node = &nodes[found->queue[i]];
        const uint32_t guid = bat_yaml_probes_guid_index(probes, node->guid);
        const uint32_t parent = i == 0 ? 0 : found->numbers[node->parent - found->root];
        bat_text_string(text, separator);
        char *start = bat_text_room(text, 2 * FIELD_MAX);
        char *at = stpcpy(start, "{ ");
        const char *before = "";
        if (guid != last_guid) {
            at = bat_put_decimal(stpcpy(at, "g: "), guid);
            before = ", ";
        }
        if (parent != last_parent) {
            at = bat_put_decimal(stpcpy(stpcpy(at, before), "p: "), parent - last_parent);
            before = ", ";
        }
        if (node->call_site != 0)
            at = bat_put_decimal(stpcpy(stpcpy(at, before), "cs: "), node->call_site);
        bat_text_end(text, stpcpy(at, " }"));
        last_guid = guid;
        last_parent = parent;
        separator = ", ";
    }
    bat_text_string(text, " ]\n");
}
