/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared by the decoder and the builder, which both make maps. Internal to the library. */
#ifndef BAT_SPEC_MAP_H
#define BAT_SPEC_MAP_H

#include "bat.h"

/*
 * Allocates count elements of size bytes, not cleared; at least one byte, so that NULL always means
 * out of memory. Large arrays use huge pages where the system has them: a map is written once from
 * end to end, and the page faults would cost as much as the decoding.
 */
void *bat_array_new(size_t count, size_t size);

/*
 * Enlarges an array from bat_array_new() (NULL: a new one) to count elements of size bytes; the
 * content stays. Returns NULL if out of memory; the array is unchanged then.
 */
void *bat_array_grow(void *array, size_t count, size_t size);

/*
 * Cut an array from bat_array_new() down to count elements of size bytes; the content stays. Never
 * fails: if memory cannot be given back, the larger array stays.
 */
void *bat_array_shrink(void *array, size_t count, size_t size);

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
