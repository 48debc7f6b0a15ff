/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * From struct bat_map to the bytes of a BAT note, and a builder for maps that do not come from a
 * note. No global state; different maps and builders may be used from different threads.
 */
#ifndef BAT_ENCODER_H
#define BAT_ENCODER_H

#include "bat.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Encode map as a version 3 note, ELF note header included: the content of .note.bolt_bat. A map
 * that bat_decode() made gives the bytes that it was made from, merged hot indices too.
 *
 * On success *section is a buffer of *size bytes, to be freed with free(). On failure it is NULL
 * and error (may be NULL) says which table holds what the format cannot. Every invariant of
 * struct bat_map is checked, so a map that was put together or changed by hand is safe to pass
 * as long as its arrays have the sizes that it states.
 * Time is linear in the number of entries.
 */
BAT_API enum bat_code bat_encode(const struct bat_map *map, uint8_t **section, size_t *size,
                                 struct bat_error *error);

/*
 * Bring a map into the form that BOLT 22 writes: hot indices become positions in the hot table,
 * every equal prefix as long as it can be, every skew the fragment's first input offset. Parents
 * and look-ups stay as they are.
 */
BAT_API void bat_map_canonicalize(struct bat_map *map);

/*
 * Take out the table of a function that BOLT did not emit (bat_is_unemitted(); there is one at
 * most), unless it has fragments. *dropped tells whether there was one. The map's hot_index must be
 * TABLE. Its entries stay in the map's arrays, where no table has them. BAT_ERR_MEMORY, the map
 * unchanged.
 */
BAT_API enum bat_code bat_map_drop_unemitted(struct bat_map *map, bool *dropped,
                                             struct bat_error *error);

/* A map in the making. */
struct bat_builder;

/* A new, empty builder, or NULL if there is no memory. Free it with bat_builder_free(). */
BAT_API struct bat_builder *bat_builder_new(void);
BAT_API void bat_builder_free(struct bat_builder *builder);

/*
 * Add tables, in any order. *table gets a handle for the calls below.
 * address: in the output binary; hash: of the input function; input_block_count: number of its
 * blocks before BOLT. parent: handle of a hot function. Fails with BAT_ERR_MEMORY, or with
 * BAT_ERR_ARGUMENT for a parent that is no hot function.
 */
BAT_API enum bat_code bat_builder_add_function(struct bat_builder *builder, uint64_t address,
                                               uint64_t hash, uint32_t input_block_count,
                                               uint32_t *table, struct bat_error *error);
BAT_API enum bat_code bat_builder_add_fragment(struct bat_builder *builder, uint64_t address,
                                               uint32_t parent, uint32_t *table,
                                               struct bat_error *error);

/*
 * Add an entry to a table, in any order; entries of equal output offset keep the order in which
 * they were added. Offsets are bytes: output ones from the table's address, input ones from the
 * input function's start. hash and index are the input block's. Fails with BAT_ERR_RANGE for
 * an output offset beyond 32 bits or an input offset beyond 31.
 */
BAT_API enum bat_code bat_builder_add_block(struct bat_builder *builder, uint32_t table,
                                            uint64_t output_offset, uint64_t input_offset,
                                            uint64_t hash, uint32_t index, struct bat_error *error);
BAT_API enum bat_code bat_builder_add_branch(struct bat_builder *builder, uint32_t table,
                                             uint64_t output_offset, uint64_t input_offset,
                                             struct bat_error *error);

/* Add a secondary entry point of a hot function; their order is kept and gives the ids. */
BAT_API enum bat_code bat_builder_add_secondary(struct bat_builder *builder, uint32_t table,
                                                uint64_t input_offset, struct bat_error *error);

/*
 * Make the map: tables and entries sorted, skews and equal prefixes computed. hot_index is how
 * bat_encode() shall write the parents: TABLE, unless a note of BOLT 19 is to be reproduced.
 * Fails if two tables have the same address. The builder is empty afterwards, whatever comes
 * back, and can be used again. *map is to be freed with bat_map_free().
 */
BAT_API enum bat_code bat_builder_finish(struct bat_builder *builder, enum bat_hot_index hot_index,
                                         struct bat_map **map, struct bat_error *error);

#ifdef __cplusplus
}
#endif

#endif
