/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "map.h"

#include <stdlib.h>

#include "array.h"
#include "spec/array.h"
#include "spec/order.h"

/* Tables with more entries have an index. At most this many entries are searched one by one. */
#define LARGE_TABLE 512u
#define LARGE_SECONDARIES 16u

/*
 * The block entries next to entry LARGE_TABLE * n of the map, in the same table; BAT_NONE if there
 * is none.
 */
struct nearest_blocks {
    uint32_t before; /* the last one below it */
    uint32_t from;   /* the first one at or above it */
};

struct bat_map_index {
    struct nearest_blocks *nearest; /* by n; set in large tables only */
    /*
     * Input offset << 32 | position in its function. Set and ascending in the functions that have
     * more than LARGE_SECONDARIES of them.
     */
    uint64_t *secondaries;
};

static bool is_large(const struct bat_table *table)
{
    return table->entry_count > LARGE_TABLE;
}

static bool has_many_secondaries(const struct bat_table *table)
{
    return table->secondary_count > LARGE_SECONDARIES;
}

static bool is_block(const struct bat_map *map, uint32_t entry)
{
    return !(map->input_offsets[entry] & BAT_BRANCH_ENTRY);
}

/* --- Building --------------------------------------------------------------------------------- */

static void find_nearest_blocks(const struct bat_map *map, const struct bat_table *table,
                                struct nearest_blocks *nearest)
{
    uint32_t end = table->first_entry + table->entry_count;
    uint32_t before = BAT_NONE;
    for (uint32_t i = table->first_entry; i < end; i++) {
        if (i % LARGE_TABLE == 0)
            nearest[i / LARGE_TABLE].before = before;
        if (is_block(map, i))
            before = i;
    }
    uint32_t from = BAT_NONE;
    for (uint32_t i = end; i-- > table->first_entry;) {
        if (is_block(map, i))
            from = i;
        if (i % LARGE_TABLE == 0)
            nearest[i / LARGE_TABLE].from = from;
    }
}

static void sort_secondaries(const struct bat_map *map, const struct bat_table *table,
                             uint64_t *keys)
{
    const uint32_t *offsets = map->secondary_entries + table->first_secondary;
    bool is_sorted = true;
    for (uint32_t i = 0; i < table->secondary_count; i++) {
        keys[i] = (uint64_t)offsets[i] << 32 | i;
        is_sorted &= i == 0 || keys[i - 1] < keys[i];
    }
    if (!is_sorted)
        qsort(keys, table->secondary_count, sizeof(*keys), bat_compare_u64);
}

static enum bat_code fill_index(const struct bat_map *map, struct bat_map_index *index)
{
    uint32_t tables = bat_map_tables(map);
    bool needs_nearest = false;
    bool needs_secondaries = false;
    for (uint32_t i = 0; i < tables; i++) {
        needs_nearest |= is_large(&map->tables[i]);
        needs_secondaries |= has_many_secondaries(&map->tables[i]);
    }
    if (needs_nearest)
        index->nearest =
            bat_array_new((size_t)map->entry_count / LARGE_TABLE + 1, sizeof(*index->nearest));
    if (needs_secondaries)
        index->secondaries = bat_array_new(map->secondary_count, sizeof(*index->secondaries));
    if ((needs_nearest && !index->nearest) || (needs_secondaries && !index->secondaries))
        return BAT_ERR_MEMORY;
    for (uint32_t i = 0; i < tables; i++) {
        const struct bat_table *table = &map->tables[i];
        if (is_large(table))
            find_nearest_blocks(map, table, index->nearest);
        if (has_many_secondaries(table))
            sort_secondaries(map, table, index->secondaries + table->first_secondary);
    }
    return BAT_OK;
}

enum bat_code bat_map_build_index(struct bat_map *map)
{
    map->index = calloc(1, sizeof(*map->index));
    return map->index ? fill_index(map, map->index) : BAT_ERR_MEMORY;
}

void bat_map_index_free(struct bat_map_index *index)
{
    if (!index)
        return;
    BAT_FREE_ALL(index->nearest, index->secondaries, index);
}

/* --- Look-ups --------------------------------------------------------------------------------- */

/* The indexed blocks next to an entry, or NULL if the caller has to look at the next entry. */
static const struct nearest_blocks *nearest_blocks(const struct bat_map *map,
                                                   const struct bat_table *table, uint32_t entry)
{
    bool is_indexed = entry % LARGE_TABLE == 0 && is_large(table) && map->index;
    return is_indexed ? &map->index->nearest[entry / LARGE_TABLE] : NULL;
}

uint32_t bat_map_block_before(const struct bat_map *map, const struct bat_table *table,
                              uint32_t entry)
{
    for (; !is_block(map, entry); entry--) {
        const struct nearest_blocks *nearest = nearest_blocks(map, table, entry);
        if (nearest)
            return nearest->before;
        if (entry == table->first_entry)
            return BAT_NONE;
    }
    return entry;
}

uint32_t bat_map_block_from(const struct bat_map *map, const struct bat_table *table,
                            uint32_t entry)
{
    for (; !is_block(map, entry); entry++) {
        const struct nearest_blocks *nearest = nearest_blocks(map, table, entry);
        if (nearest)
            return nearest->from;
    }
    return entry;
}

uint32_t bat_map_find_secondary(const struct bat_map *map, const struct bat_table *table,
                                uint32_t input_offset)
{
    if (map->index && has_many_secondaries(table)) {
        const uint64_t *keys = map->index->secondaries + table->first_secondary;
        uint32_t found =
            BAT_NUMBERS_BELOW(keys, table->secondary_count, (uint64_t)input_offset << 32);
        bool is_there = found < table->secondary_count && keys[found] >> 32 == input_offset;
        return is_there ? (uint32_t)keys[found] : BAT_NONE;
    }
    const uint32_t *offsets = map->secondary_entries + table->first_secondary;
    for (uint32_t i = 0; i < table->secondary_count; i++)
        if (offsets[i] == input_offset)
            return i;
    return BAT_NONE;
}
