/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "map.h"

#include <stdlib.h>

#include "array.h"
#include "spec/array.h"
#include "spec/order.h"

enum bat_code bat_map_sort_tables(struct bat_map *map, uint64_t *duplicate)
{
    uint32_t tables = bat_map_tables(map);
    map->by_address = bat_array_new(tables, sizeof(*map->by_address));
    if (!map->by_address)
        return BAT_ERR_MEMORY;
    uint32_t hot = 0;
    uint32_t cold = map->hot_count;
    for (uint32_t i = 0; i < tables; i++) {
        bool take_hot = hot < map->hot_count;
        if (take_hot && cold < tables) {
            uint64_t hot_address = map->tables[hot].address;
            uint64_t cold_address = map->tables[cold].address;
            if (hot_address == cold_address) {
                if (duplicate)
                    *duplicate = hot_address;
                return BAT_ERR_ORDER;
            }
            take_hot = hot_address < cold_address;
        }
        map->by_address[i] = take_hot ? hot++ : cold++;
    }
    return BAT_OK;
}

enum bat_code bat_map_link_fragments(struct bat_map *map)
{
    uint32_t *start = calloc((size_t)map->hot_count + 1, sizeof(*start));
    uint32_t *fragments = bat_array_new(map->cold_count, sizeof(*fragments));
    if (!start || !fragments) {
        BAT_FREE_ALL(start, fragments);
        return BAT_ERR_MEMORY;
    }
    uint32_t tables = bat_map_tables(map);
    /* Counting sort by parent: count, add up, and fill from the back. */
    for (uint32_t i = map->hot_count; i < tables; i++)
        start[map->tables[i].parent]++;
    uint32_t total = 0;
    for (uint32_t i = 0; i <= map->hot_count; i++) {
        total += start[i];
        start[i] = total;
    }
    for (uint32_t i = tables; i-- > map->hot_count;)
        fragments[--start[map->tables[i].parent]] = i;
    BAT_FREE_ALL(map->fragment_start, map->fragments);
    map->fragment_start = start;
    map->fragments = fragments;
    return BAT_OK;
}

uint32_t bat_map_rank(const struct bat_map *map, uint32_t table)
{
    uint64_t address = map->tables[table].address;
    struct bat_search search = {.high = bat_map_tables(map)};
    while (bat_search_next(&search))
        bat_search_go(&search, map->tables[map->by_address[search.middle]].address < address);
    return (uint32_t)search.low;
}

void bat_map_free(struct bat_map *map)
{
    if (!map)
        return;
    BAT_FREE_ALL(map->tables, map->by_address, map->fragment_start, map->fragments,
                 map->output_offsets, map->input_offsets, map->block_hashes, map->block_indices,
                 map->secondary_entries);
    bat_map_index_free(map->index);
    free(map);
}

uint32_t bat_map_equal_prefix(const struct bat_map *map, const struct bat_table *table)
{
    /* A map without entries may have no arrays. */
    if (table->entry_count == 0)
        return 0;
    const uint32_t *outputs = map->output_offsets + table->first_entry;
    const uint32_t *inputs = map->input_offsets + table->first_entry;
    uint32_t count = 0;
    /* Modulo 2^32: an entry may lie below its fragment's start (BAT.md 6.2). */
    while (count < table->entry_count && outputs[count] + table->skew == inputs[count] >> 1)
        count++;
    return count;
}
