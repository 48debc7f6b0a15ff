/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Checks what a function's tables say about the input function's blocks (BAT.md 8.3). */
#include <stdio.h>
#include <stdlib.h>

#include "checking.h"
#include "spec/map.h"
#include "spec/order.h"
#include "support/key_sort.h"

/* The faults of one function. */
struct faults {
    struct bat_fault offset;
    struct bat_fault hash;
    struct bat_fault index;
    struct bat_fault order;
    struct bat_fault count;
    struct bat_fault secondary;
};

/*
 * The block entries of a function's tables, by input offset: keys, whose values are the blocks'
 * positions in the map. Entries with the same offset keep the map's order.
 */
struct function_blocks {
    const struct bat_map *map;
    uint32_t hot;
    uint32_t count;
    const struct bat_sort_key *sorted;
    struct faults *faults;
};

static uint32_t offset_of(struct bat_sort_key block)
{
    return (uint32_t)block.key;
}

static uint32_t index_of(const struct bat_map *map, struct bat_sort_key block)
{
    return map->block_indices[block.value];
}

static uint64_t hash_of(const struct bat_map *map, struct bat_sort_key block)
{
    return map->block_hashes[block.value];
}

static bool is_input_block(const struct bat_map *map, struct bat_sort_key block)
{
    return bat_is_input_block(hash_of(map, block), index_of(map, block), offset_of(block));
}

/* --- In the order of input offsets ---------------------------------------------------------- */

/* Append the block entries of a table to count others; returns the new count. */
static uint32_t append_table(const struct bat_map *map, uint32_t table, struct bat_sort_key *blocks,
                             uint32_t count)
{
    const struct bat_table *from = &map->tables[table];
    const uint32_t *inputs = map->input_offsets + from->first_entry;
    uint32_t end = count + from->block_count;
    uint32_t position = from->first_block - count;
    /* Processors cannot predict which entries are blocks: every entry is written, and the next one
     * overwrites it unless it is a block. */
    for (uint32_t i = 0; i < from->entry_count && count < end; i++) {
        blocks[count] = (struct bat_sort_key){inputs[i] >> 1, position + count};
        count += ~inputs[i] & BAT_BRANCH_ENTRY;
    }
    return count;
}

static void collect_blocks(struct function_blocks *function, struct bat_sort_key *blocks,
                           struct bat_sort_key *spare)
{
    const struct bat_map *map = function->map;
    uint32_t hot = function->hot;
    uint32_t count = append_table(map, hot, blocks, 0);
    for (uint32_t i = map->fragment_start[hot]; i < map->fragment_start[hot + 1]; i++)
        count = append_table(map, map->fragments[i], blocks, count);
    function->count = count;
    function->sorted = bat_sort_keys(blocks, spare, count);
}

/* --- Faults --------------------------------------------------------------------------------- */

/* The entry of a block; searched only for a fault. */
struct block_entry {
    uint32_t table;
    uint32_t entry;
    uint64_t address; /* of the table */
};

/* The table that has the block at this position in the map, among those of a function. */
static uint32_t table_of(const struct bat_map *map, uint32_t hot, uint32_t position)
{
    uint32_t table = hot;
    uint32_t next = map->fragment_start[hot];
    while (position - map->tables[table].first_block >= map->tables[table].block_count &&
           next < map->fragment_start[hot + 1])
        table = map->fragments[next++];
    return table;
}

static struct block_entry find_entry(const struct function_blocks *function,
                                     struct bat_sort_key block)
{
    const struct bat_map *map = function->map;
    uint32_t position = (uint32_t)block.value;
    uint32_t table = table_of(map, function->hot, position);
    const struct bat_table *of = &map->tables[table];
    uint32_t entry = of->first_entry;
    for (uint32_t blocks = position - of->first_block + 1; blocks > 0; entry++)
        blocks -= ~map->input_offsets[entry] & BAT_BRANCH_ENTRY;
    return (struct block_entry){.table = table, .entry = entry - 1, .address = of->address};
}

/* If the function has had such a fault before, count this one and return true: only the first is
 * reported in full. */
static bool count_repeated(struct bat_fault *fault)
{
    if (fault->count == 0)
        return false;
    fault->count++;
    return true;
}

/* Two entries for the same input offset differ; expected and found are their values as text. */
static void add_difference(struct function_blocks *function, struct bat_fault *fault,
                           struct bat_sort_key first, struct bat_sort_key again,
                           const char *expected, const char *found)
{
    struct block_entry at = find_entry(function, again);
    bat_fault_add(fault, at.table, at.entry,
                  "table at 0x%lx: expected %s for the block at input offset 0x%x (as in the table "
                  "at 0x%lx), found %s",
                  at.address, expected, offset_of(again), find_entry(function, first).address,
                  found);
}

static void add_offset_fault(struct function_blocks *function, struct bat_sort_key block)
{
    struct bat_fault *fault = &function->faults->offset;
    if (count_repeated(fault))
        return;
    struct block_entry at = find_entry(function, block);
    bat_fault_add(fault, at.table, at.entry,
                  "table at 0x%lx: expected a hash that ends in %04x for the block at input offset "
                  "0x%x, found 0x%lx",
                  at.address, (unsigned)(uint16_t)offset_of(block), offset_of(block),
                  hash_of(function->map, block));
}

static void add_order_fault(struct function_blocks *function, struct bat_sort_key before,
                            struct bat_sort_key block)
{
    struct bat_fault *fault = &function->faults->order;
    if (count_repeated(fault))
        return;
    struct block_entry at = find_entry(function, block);
    bat_fault_add(fault, at.table, at.entry,
                  "table at 0x%lx: expected an index above %u for the block at input offset 0x%x "
                  "(that of the block before it, at 0x%x), found %u",
                  at.address, index_of(function->map, before), offset_of(block), offset_of(before),
                  index_of(function->map, block));
}

static void add_count_fault(struct function_blocks *function, struct bat_sort_key block)
{
    struct bat_fault *fault = &function->faults->count;
    if (count_repeated(fault))
        return;
    const struct bat_table *hot = &function->map->tables[function->hot];
    struct block_entry at = find_entry(function, block);
    bat_fault_add(fault, at.table, at.entry,
                  "table at 0x%lx: expected an index below %u (number of blocks of the function at "
                  "0x%lx) for the block at input offset 0x%x, found %u",
                  at.address, hot->input_block_count, hot->address, offset_of(block),
                  index_of(function->map, block));
}

/* --- The checks ----------------------------------------------------------------------------- */

/* Compare two entries for the same input offset. */
static void check_same(struct function_blocks *function, struct bat_sort_key first,
                       struct bat_sort_key again)
{
    const struct bat_map *map = function->map;
    struct faults *faults = function->faults;
    char expected[32];
    char found[32];
    if (hash_of(map, again) != hash_of(map, first) && !count_repeated(&faults->hash)) {
        snprintf(expected, sizeof(expected), "hash 0x%lx", hash_of(map, first));
        snprintf(found, sizeof(found), "0x%lx", hash_of(map, again));
        add_difference(function, &faults->hash, first, again, expected, found);
    }
    if (index_of(map, again) != index_of(map, first) && !count_repeated(&faults->index)) {
        snprintf(expected, sizeof(expected), "index %u", index_of(map, first));
        snprintf(found, sizeof(found), "%u", index_of(map, again));
        add_difference(function, &faults->index, first, again, expected, found);
    }
}

/* The lowest 16 bits of BOLT's hash of a block are those of its offset; it uses them to match
 * profiles. */
static void check_hash_offset(struct function_blocks *function, struct bat_sort_key block)
{
    uint64_t hash = hash_of(function->map, block);
    if (hash != 0 && (uint16_t)hash != (uint16_t)offset_of(block))
        add_offset_fault(function, block);
}

static void check_sorted_blocks(struct function_blocks *function)
{
    const struct bat_map *map = function->map;
    const uint32_t number = map->tables[function->hot].input_block_count;
    const struct bat_sort_key *end = function->sorted + function->count;
    const struct bat_sort_key *before = NULL; /* the last input block */
    const struct bat_sort_key *first = NULL;  /* the first entry with this offset */
    for (const struct bat_sort_key *block = function->sorted; block < end; block++) {
        check_hash_offset(function, *block);
        if (first && offset_of(*first) == offset_of(*block)) {
            check_same(function, *first, *block);
            continue;
        }
        first = block;
        if (!is_input_block(map, *block))
            continue;
        if (index_of(map, *block) >= number)
            add_count_fault(function, *block);
        if (before && index_of(map, *block) <= index_of(map, *before))
            add_order_fault(function, *before, *block);
        before = block;
    }
}

/* True if the first entry for an offset is an input block. */
static bool has_block(const struct function_blocks *function, uint32_t offset)
{
    struct bat_search search = {.high = function->count};
    while (bat_search_next(&search))
        bat_search_go(&search, offset_of(function->sorted[search.middle]) < offset);
    if (search.low == function->count)
        return false;
    struct bat_sort_key found = function->sorted[search.low];
    return offset_of(found) == offset && is_input_block(function->map, found);
}

static void check_secondary(struct function_blocks *function)
{
    const struct bat_map *map = function->map;
    const struct bat_table *hot = &map->tables[function->hot];
    for (uint32_t i = 0; i < hot->secondary_count; i++) {
        uint32_t offset = map->secondary_entries[hot->first_secondary + i];
        if (!has_block(function, offset))
            bat_fault_add(&function->faults->secondary, function->hot, BAT_NONE,
                          "table at 0x%lx: expected a block at the secondary entry point 0x%x "
                          "(number %u), found none",
                          hot->address, offset, i + 1);
    }
}

/* Report the faults of one kind, and start again for the next function. */
static void report(struct bat_checking *checking, struct bat_fault *fault, const char *thing)
{
    bat_fault_report(checking, fault, thing);
    fault->count = 0;
}

static void check_function_blocks(struct bat_checking *checking, uint32_t hot,
                                  struct bat_sort_key *blocks, uint32_t most, struct faults *faults)
{
    struct function_blocks function = {.map = checking->map, .hot = hot, .faults = faults};
    collect_blocks(&function, blocks, blocks + most);
    check_sorted_blocks(&function);
    check_secondary(&function);
    report(checking, &faults->offset, "blocks");
    report(checking, &faults->hash, "entries");
    report(checking, &faults->index, "entries");
    report(checking, &faults->order, "blocks");
    report(checking, &faults->count, "blocks");
    report(checking, &faults->secondary, "entry points");
}

/* --- All functions -------------------------------------------------------------------------- */

/* The greatest number of block entries of a function; at least 1. */
static uint32_t most_blocks(const struct bat_map *map)
{
    uint32_t most = 1;
    for (uint32_t hot = 0; hot < map->hot_count; hot++) {
        uint32_t count = bat_map_count_blocks(map, hot);
        if (count > most)
            most = count;
    }
    return most;
}

enum bat_code bat_check_blocks(struct bat_checking *checking)
{
    if (!bat_map_has_hashes(checking->map))
        return BAT_OK;
    uint32_t most = most_blocks(checking->map);
    struct bat_sort_key *blocks = malloc(2 * (size_t)most * sizeof(*blocks)); /* of a function */
    /* One for all functions: clearing it for each would take longer than the checks. */
    struct faults faults = {
        .offset = bat_fault_none(CHECK_HASH_OFFSET),
        .hash = bat_fault_none(CHECK_BLOCK_HASH),
        .index = bat_fault_none(CHECK_BLOCK_INDEX),
        .order = bat_fault_none(CHECK_BLOCK_ORDER),
        .count = bat_fault_none(CHECK_BLOCK_COUNT),
        .secondary = bat_fault_none(CHECK_SECONDARY),
    };
    enum bat_code code = BAT_OK;
    if (!blocks)
        code = bat_fail_memory(checking->error, "for %u blocks", most);
    for (uint32_t hot = 0; hot < checking->map->hot_count && code == BAT_OK; hot++)
        check_function_blocks(checking, hot, blocks, most, &faults);
    free(blocks);
    return code;
}
