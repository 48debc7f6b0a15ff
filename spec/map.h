/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared by the decoder and the builder, which both make maps. Internal to the library. */
#ifndef BAT_SPEC_MAP_H
#define BAT_SPEC_MAP_H

#include "bat.h"

/*
 * Fill by_address from functions[], whose hot and cold parts must each ascend by address. Fails
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

#endif
