/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * An index for look-ups in large tables: the block entries next to an entry, and the secondary
 * entry points by offset. Internal to the library.
 */
#pragma once

#include "bat.h"

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
