/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What decoder and builder share when they make a map. Internal to the library. */
#ifndef BAT_SPEC_MAP_H
#define BAT_SPEC_MAP_H

#include "bat.h"

/*
 * Memory for count elements of size bytes, not cleared; at least one byte, so that NULL always
 * means that there is no memory. Large arrays are laid out for huge pages where the system has
 * them: a map is written once from end to end, and the page faults would cost as much as the
 * decoding.
 */
void *bat_array_new(size_t count, size_t size);

/*
 * An array from bat_array_new() (NULL: a new one) with room for count elements of size bytes; the
 * content stays. NULL without memory, the array as it was.
 */
void *bat_array_grow(void *array, size_t count, size_t size);

/*
 * Cut an array from bat_array_new() down to count elements of size bytes; the content stays. Never
 * fails: where memory cannot be given back, the larger array stays.
 */
void *bat_array_shrink(void *array, size_t count, size_t size);

/*
 * Fill by_address from functions[], whose hot and cold part must each ascend by address. Fails
 * with BAT_ERR_MEMORY, or with BAT_ERR_ORDER if a hot and a cold table share an address; then
 * *duplicate (may be NULL) gets that address.
 */
enum bat_code bat_map_sort_tables(struct bat_map *map, uint64_t *duplicate);

/* Fill fragment_start and fragments from the parents, which must be hot. BAT_ERR_MEMORY. */
enum bat_code bat_map_link_fragments(struct bat_map *map);

/*
 * The position of a table in by_address: what BOLT 19 writes as hot index. Logarithmic.
 */
uint32_t bat_map_rank(const struct bat_map *map, uint32_t table);

#endif
