/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Look-ups in a map: BAT.md 8. */
#include "bat_decoder.h"
#include "spec/map.h"
#include "spec/order.h"

/* False for BAT_NONE and any other number that is no index: a function without a table. */
static inline bool is_table(const struct bat_map *map, uint32_t table)
{
    return table < bat_map_tables(map);
}

bool bat_map_is_unemitted(const struct bat_map *map, uint32_t table)
{
    if (!is_table(map, table))
        return false;
    const struct bat_table *function = &map->tables[table];
    return function->address == 0 &&
           (function->entry_count == 0 || map->output_offsets[function->first_entry] > INT32_MAX);
}

/* The number of tables that start at or below address. */
static uint32_t tables_up_to(const struct bat_map *map, uint64_t address)
{
    struct bat_search search = {.high = bat_map_tables(map)};
    while (bat_search_next(&search))
        bat_search_go(&search, map->tables[map->by_address[search.middle]].address <= address);
    return (uint32_t)search.low;
}

/* The last of the first `count` tables by address, which holds what is behind its start. */
static uint32_t last_table(const struct bat_map *map, uint32_t count)
{
    /* Only the first by address can be at address 0. */
    if (count == 0 || (count == 1 && bat_map_is_unemitted(map, map->by_address[0])))
        return BAT_NONE;
    return map->by_address[count - 1];
}

uint32_t bat_map_table_containing(const struct bat_map *map, uint64_t address)
{
    return last_table(map, tables_up_to(map, address));
}

uint32_t bat_map_table_at(const struct bat_map *map, uint64_t address)
{
    uint32_t table = bat_map_table_containing(map, address);
    if (table == BAT_NONE || map->tables[table].address != address)
        return BAT_NONE;
    return table;
}

/*
 * The last entry at or below an output offset, as its position in the map's arrays, or BAT_NONE.
 * Of several entries at one offset, the last (BAT.md 6.1).
 */
static uint32_t entry_at(const struct bat_map *map, const struct bat_table *table,
                         uint64_t output_offset)
{
    const uint32_t *offsets = map->output_offsets + table->first_entry;
    uint32_t up_to = BAT_NUMBERS_UP_TO(offsets, table->entry_count, output_offset);
    return up_to ? table->first_entry + up_to - 1 : BAT_NONE;
}

uint64_t bat_map_translate(const struct bat_map *map, uint32_t table, uint64_t output_offset,
                           bool is_branch_source)
{
    if (!is_table(map, table))
        return output_offset;
    uint32_t entry = entry_at(map, &map->tables[table], output_offset);
    if (entry == BAT_NONE)
        return output_offset;
    uint64_t input_offset = map->input_offsets[entry] >> 1;
    if (is_branch_source)
        return input_offset;
    return input_offset + (output_offset - map->output_offsets[entry]);
}

/* The place of an address that is in this table, or of one in no table. */
static struct bat_map_place place_in(const struct bat_map *map, uint32_t table, uint64_t address,
                                     bool is_branch_source)
{
    if (table == BAT_NONE)
        return (struct bat_map_place){.table = BAT_NONE, .function = BAT_NONE, .offset = address};
    const struct bat_table *function = &map->tables[table];
    return (struct bat_map_place){
        .table = table,
        .function = function->parent,
        .offset = bat_map_translate(map, table, address - function->address, is_branch_source)};
}

bool bat_map_input_of(const struct bat_map *map, uint64_t output_address, bool is_branch_source,
                      struct bat_map_place *place)
{
    uint32_t table = bat_map_table_containing(map, output_address);
    *place = place_in(map, table, output_address, is_branch_source);
    return table != BAT_NONE;
}

/* True if exactly `count` tables start at or below address. */
static bool has_tables_up_to(const struct bat_map *map, uint64_t address, uint32_t count)
{
    if (count != 0 && map->tables[map->by_address[count - 1]].address > address)
        return false;
    return count == bat_map_tables(map) || map->tables[map->by_address[count]].address > address;
}

void bat_map_inputs_of(const struct bat_map *map, const struct bat_map_query *queries, size_t count,
                       struct bat_map_place *places)
{
    /* Addresses of one profile are often of the same table as the one before, or of the next. */
    uint32_t tables = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t address = queries[i].output_address;
        if (!has_tables_up_to(map, address, tables))
            tables = tables_up_to(map, address);
        places[i] = place_in(map, last_table(map, tables), address, queries[i].is_branch_source);
    }
}

uint32_t bat_map_parent(const struct bat_map *map, uint32_t table)
{
    return is_table(map, table) ? map->tables[table].parent : BAT_NONE;
}

struct bat_fallthrough_walk bat_map_fallthroughs(const struct bat_map *map, uint32_t table,
                                                 uint64_t from, uint64_t to)
{
    struct bat_fallthrough_walk nothing = {.map = map};
    if (!is_table(map, table) || from >= to)
        return nothing;
    const struct bat_table *function = &map->tables[table];
    uint32_t entry = entry_at(map, function, from);
    uint32_t last = entry_at(map, function, to);
    if (entry == BAT_NONE)
        return nothing;
    entry = bat_map_block_before(map, function, entry);
    /* There are no instructions between entries at one output offset. */
    if (entry == BAT_NONE || map->output_offsets[entry] >= map->output_offsets[last])
        return nothing;
    last = bat_map_block_before(map, function, last);
    return (struct bat_fallthrough_walk){
        .map = map, .table = function, .entry = entry, .last = last};
}

bool bat_fallthrough_next(struct bat_fallthrough_walk *walk, struct bat_fallthrough *pair)
{
    const struct bat_map *map = walk->map;
    if (walk->entry == walk->last)
        return false;
    uint32_t next = bat_map_block_from(map, walk->table, walk->entry + 1);
    pair->from = map->input_offsets[walk->entry] >> 1;
    pair->to = map->input_offsets[next] >> 1;
    walk->entry = next;
    return true;
}

uint32_t bat_map_secondary_id(const struct bat_map *map, uint32_t table, uint64_t input_offset)
{
    if (!is_table(map, table) || input_offset > UINT32_MAX)
        return 0;
    const struct bat_table *function = &map->tables[map->tables[table].parent];
    uint32_t position = bat_map_find_secondary(map, function, (uint32_t)input_offset);
    return position == BAT_NONE ? 0 : position + 1;
}
