/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How hot indices are read: BAT.md 7.2. By the format they are positions among the hot tables;
 * BOLT 19 writes positions among all tables, sorted by address. Often the two are equal. Where both
 * name a hot function, the tables' contents decide.
 */
#include "bat_decoder.h"

#include <stdlib.h>

#include "decoding.h"
#include "spec/array.h"
#include "spec/map.h"
#include "spec/order.h"

/* The hot function that an index names when read as form, or BAT_NONE. */
static uint32_t parent_of(const struct bat_map *map, enum bat_hot_index form, uint32_t index)
{
    if (form == BAT_HOT_INDEX_MERGED)
        index = index < bat_map_tables(map) ? map->by_address[index] : BAT_NONE;
    return index < map->hot_count ? index : BAT_NONE;
}

/* True if every index, read as form, names a hot function; else *misfit is the first that fails. */
static bool reading_fits(const struct bat_map *map, const struct bat_raw_hot_index *raw,
                         enum bat_hot_index form, uint32_t *misfit)
{
    for (uint32_t i = 0; i < map->cold_count; i++) {
        if (parent_of(map, form, raw[i].index) == BAT_NONE) {
            *misfit = i;
            return false;
        }
    }
    return true;
}

static void apply_reading(struct bat_map *map, const struct bat_raw_hot_index *raw,
                          enum bat_hot_index form)
{
    for (uint32_t i = 0; i < map->cold_count; i++)
        map->tables[map->hot_count + i].parent = parent_of(map, form, raw[i].index);
    map->hot_index = form;
}

/* --- Whether a function's tables agree ---------------------------------------------------- */

struct placed_block {
    uint64_t hash;
    uint32_t function; /* index of the hot table */
    uint32_t offset;
    uint32_t index;
};

/* Append the blocks of a table as blocks of function. Entries that are not input blocks are left
 * out. */
static size_t place_blocks(const struct bat_map *map, uint32_t table, uint32_t function,
                           struct placed_block *blocks)
{
    const struct bat_table *from = &map->tables[table];
    size_t placed = 0;
    uint32_t block = from->first_block;
    for (uint32_t i = 0; i < from->entry_count; i++) {
        uint32_t input = map->input_offsets[from->first_entry + i];
        if (input & BAT_BRANCH_ENTRY)
            continue;
        struct placed_block now = {.hash = map->block_hashes[block],
                                   .function = function,
                                   .offset = input >> 1,
                                   .index = map->block_indices[block]};
        block++;
        if (now.hash != 0 || now.index != 0)
            blocks[placed++] = now;
    }
    return placed;
}

/*
 * Blocks in input order have ascending offsets and indices, and indices below the function's
 * number of blocks. Returns how often sorted blocks break that.
 */
static uint64_t count_contradictions(const struct bat_map *map, const struct placed_block *blocks,
                                     size_t count)
{
    uint64_t contradictions = 0;
    for (size_t i = 0; i < count; i++) {
        const struct placed_block *now = &blocks[i];
        if (now->index >= map->tables[now->function].input_block_count)
            contradictions++;
        if (i == 0 || now[-1].function != now->function)
            continue;
        bool same_offset = now[-1].offset == now->offset;
        bool agrees = same_offset ? now[-1].index == now->index && now[-1].hash == now->hash
                                  : now[-1].index < now->index;
        contradictions += !agrees;
    }
    return contradictions;
}

/*
 * Count the contradictions when hot indices are read as form. concerned has a byte for each hot
 * function, set for the functions whose fragments differ between the readings.
 */
static enum bat_code weigh_reading(const struct bat_map *map, const struct bat_raw_hot_index *raw,
                                   enum bat_hot_index form, const uint8_t *concerned,
                                   uint64_t *contradictions)
{
    struct placed_block *blocks = bat_array_new(map->block_count, sizeof(*blocks));
    if (!blocks)
        return BAT_ERR_MEMORY;
    size_t count = 0;
    for (uint32_t i = 0; i < map->hot_count; i++)
        if (concerned[i])
            count += place_blocks(map, i, i, blocks + count);
    for (uint32_t i = 0; i < map->cold_count; i++) {
        uint32_t parent = parent_of(map, form, raw[i].index);
        if (concerned[parent])
            count += place_blocks(map, map->hot_count + i, parent, blocks + count);
    }
    BAT_SORT(blocks, count, BAT_ASCENDING(struct placed_block, function),
             BAT_ASCENDING(struct placed_block, offset), BAT_ASCENDING(struct placed_block, index));
    *contradictions = count_contradictions(map, blocks, count);
    free(blocks);
    return BAT_OK;
}

/* Both readings fit: choose the documented one unless the other has fewer contradictions. */
static enum bat_code choose_reading(struct bat_map *map, const struct bat_raw_hot_index *raw,
                                    enum bat_hot_index *form)
{
    *form = BAT_HOT_INDEX_TABLE;
    uint8_t *concerned = calloc((size_t)map->hot_count + 1, 1);
    if (!concerned)
        return BAT_ERR_MEMORY;
    for (uint32_t i = 0; i < map->cold_count; i++) {
        uint32_t by_table = parent_of(map, BAT_HOT_INDEX_TABLE, raw[i].index);
        uint32_t by_merged = parent_of(map, BAT_HOT_INDEX_MERGED, raw[i].index);
        if (by_table == by_merged)
            continue;
        map->hot_index_ambiguous = true;
        concerned[by_table] = 1;
        concerned[by_merged] = 1;
    }
    enum bat_code code = BAT_OK;
    if (map->hot_index_ambiguous) {
        uint64_t table = 0;
        uint64_t merged = 0;
        code = weigh_reading(map, raw, BAT_HOT_INDEX_TABLE, concerned, &table);
        if (code == BAT_OK && table != 0)
            code = weigh_reading(map, raw, BAT_HOT_INDEX_MERGED, concerned, &merged);
        if (merged < table)
            *form = BAT_HOT_INDEX_MERGED;
    }
    free(concerned);
    return code;
}

bool bat_hot_index_is_open(const struct bat_map *map, const struct bat_raw_hot_index *raw)
{
    bool differ = false;
    for (uint32_t i = 0; i < map->cold_count; i++) {
        uint32_t by_table = parent_of(map, BAT_HOT_INDEX_TABLE, raw[i].index);
        uint32_t by_merged = parent_of(map, BAT_HOT_INDEX_MERGED, raw[i].index);
        if (by_table == BAT_NONE || by_merged == BAT_NONE)
            return false;
        differ |= by_table != by_merged;
    }
    return differ;
}

enum bat_code bat_hot_index_resolve(struct bat_map *map, const struct bat_raw_hot_index *raw,
                                    enum bat_hot_index wanted, uint32_t *misfit)
{
    uint32_t table_misfit = 0;
    uint32_t merged_misfit = 0;
    bool table_fits = reading_fits(map, raw, BAT_HOT_INDEX_TABLE, &table_misfit);
    bool merged_fits = reading_fits(map, raw, BAT_HOT_INDEX_MERGED, &merged_misfit);
    enum bat_hot_index form = wanted;
    if (wanted == BAT_HOT_INDEX_AUTO) {
        form = table_fits ? BAT_HOT_INDEX_TABLE : BAT_HOT_INDEX_MERGED;
        if (table_fits && merged_fits)
            BAT_TRY(choose_reading(map, raw, &form));
    }
    if (!(form == BAT_HOT_INDEX_TABLE ? table_fits : merged_fits)) {
        /* With AUTO and no reading that fits, report the documented one's misfit. */
        *misfit = wanted == BAT_HOT_INDEX_MERGED ? merged_misfit : table_misfit;
        return BAT_ERR_HOT_INDEX;
    }
    apply_reading(map, raw, form);
    return BAT_OK;
}

enum bat_code bat_map_set_hot_index(struct bat_map *map, enum bat_hot_index form,
                                    struct bat_error *error)
{
    if (form != BAT_HOT_INDEX_TABLE && form != BAT_HOT_INDEX_MERGED)
        return bat_fail(error, BAT_ERR_ARGUMENT,
                        "expected hot indices to be read as TABLE or MERGED, found %d", (int)form);
    if (map->version != BAT_VERSION_3)
        return bat_fail(error, BAT_ERR_VERSION,
                        "expected a note of version 3, whose hot indices can be read in two ways, "
                        "found one of version %d",
                        (int)map->version);
    if (form == map->hot_index)
        return BAT_OK;
    struct bat_raw_hot_index *raw = bat_array_new(map->cold_count, sizeof(*raw));
    BAT_TRY_MEMORY(raw, error, "for %u fragments", map->cold_count);
    for (uint32_t i = 0; i < map->cold_count; i++) {
        uint32_t parent = map->tables[map->hot_count + i].parent;
        raw[i].index = map->hot_index == BAT_HOT_INDEX_MERGED ? bat_map_rank(map, parent) : parent;
    }
    uint32_t misfit = 0;
    enum bat_code code = BAT_OK;
    if (reading_fits(map, raw, form, &misfit)) {
        enum bat_hot_index before = map->hot_index;
        apply_reading(map, raw, form);
        code = bat_map_link_fragments(map);
        if (code != BAT_OK) {
            apply_reading(map, raw, before);
            code = bat_fail_memory(error, "for %u fragments", map->cold_count);
        }
    } else {
        code = bat_fail(
            error, BAT_ERR_HOT_INDEX,
            "expected hot index %u of the table at 0x%lx to name a hot function, found none",
            raw[misfit].index, map->tables[map->hot_count + misfit].address);
    }
    free(raw);
    return code;
}
