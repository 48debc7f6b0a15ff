/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared by the decoder and the builder, which both make maps. Internal to the library. */
#pragma once

#include "bat.h"

/*
 * Fill by_address from tables[], whose hot and cold parts must each ascend by address. Fails
 * with BAT_ERR_MEMORY, or with BAT_ERR_ORDER if a hot and a cold table share an address; then
 * *duplicate (may be NULL) gets that address.
 */
enum bat_code bat_map_sort_tables(struct bat_map *map, uint64_t *duplicate);

/*
 * Fill fragment_start and fragments from the parents, which must be hot functions. Fails with
 * BAT_ERR_MEMORY.
 */
enum bat_code bat_map_link_fragments(struct bat_map *map);

/*
 * The position of a table in by_address, which BOLT 19 writes as the hot index. Logarithmic.
 */
uint32_t bat_map_rank(const struct bat_map *map, uint32_t table);

/* The length of the longest equal prefix that a table can have with its skew (BAT.md 6.2). */
uint32_t bat_map_equal_prefix(const struct bat_map *map, const struct bat_table *table);

/* The number of block entries of a hot function and its fragments. */
static inline uint32_t bat_map_count_blocks(const struct bat_map *map, uint32_t hot)
{
    uint32_t count = map->tables[hot].block_count;
    for (uint32_t i = map->fragment_start[hot]; i < map->fragment_start[hot + 1]; i++)
        count += map->tables[map->fragments[i]].block_count;
    return count;
}

/* The number of all their entries. */
static inline size_t bat_map_count_entries(const struct bat_map *map, uint32_t hot)
{
    size_t count = map->tables[hot].entry_count;
    for (uint32_t i = map->fragment_start[hot]; i < map->fragment_start[hot + 1]; i++)
        count += map->tables[map->fragments[i]].entry_count;
    return count;
}

/*
 * True if a block entry is of a block of the input function: the others have hash and index 0
 * (BAT.md 6.3). So may the first block, at input offset 0.
 */
static inline bool bat_is_input_block(uint64_t hash, uint32_t index, uint32_t input_offset)
{
    return hash != 0 || index != 0 || input_offset == 0;
}

/* Build map->index from the map's other members. Fails with BAT_ERR_MEMORY. */
enum bat_code bat_map_build_index(struct bat_map *map);

/* Free an index; NULL is allowed. */
void bat_map_index_free(struct bat_map_index *index);

/*
 * The last block entry of a table at or before one of its entries, both as positions in the map's
 * arrays; BAT_NONE if all of those are branch entries.
 */
uint32_t bat_map_block_before(const struct bat_map *map, const struct bat_table *table,
                              uint32_t entry);

/* The first block entry of a table at or after one of its entries. There must be one. */
uint32_t bat_map_block_from(const struct bat_map *map, const struct bat_table *table,
                            uint32_t entry);

/*
 * The position of the first of a hot function's secondary entry points at an input offset, or
 * BAT_NONE.
 */
uint32_t bat_map_find_secondary(const struct bat_map *map, const struct bat_table *table,
                                uint32_t input_offset);
