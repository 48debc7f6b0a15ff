/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Encodes a struct bat_map as the bytes of a BAT note, and builds maps that do not come from a
 * note. No global state; different maps and builders may be used from different threads.
 */
#ifndef BAT_ENCODER_H
#define BAT_ENCODER_H

#include "bat.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Encode map as a note of its version, ELF note header included: the content of .note.bolt_bat. A
 * map from bat_decode() gives the bytes that it was decoded from, merged hot indices included.
 *
 * On success *section is a buffer of *size bytes, which the caller frees with free(). On failure it
 * is NULL and error (may be NULL) names the table that the format cannot represent, and why. Every
 * invariant of struct bat_map that encoding relies on is checked, so a map that a caller has made
 * or changed is safe to pass as long as its arrays have the sizes that it states.
 * Time is linear in the number of entries.
 */
BAT_API enum bat_code bat_encode(const struct bat_map *map, uint8_t **section, size_t *size,
                                 struct bat_error *error);

/*
 * Bring a map into the form that BOLT 22 writes: hot indices become positions in the hot table,
 * every equal prefix gets its greatest length, every skew becomes the fragment's first input
 * offset. Parents and the results of look-ups do not change, nor do maps of versions 1 and 2.
 */
BAT_API void bat_map_canonicalize(struct bat_map *map);

/*
 * Remove the table of a function that BOLT did not emit (bat_map_is_unemitted(); there is one at
 * most), unless it has fragments. *dropped says whether a table was removed. The map's hot_index
 * must be TABLE. The table's entries stay in the map's arrays but belong to no table. Fails with
 * BAT_ERR_MEMORY; the map is unchanged then.
 */
BAT_API enum bat_code bat_map_drop_unemitted(struct bat_map *map, bool *dropped,
                                             struct bat_error *error);

/*
 * Where the blocks of the input function of a hot table start: *count offsets from the function's
 * start, ascending, each once, which stay until the next call; *count 0 if that is not known.
 */
typedef enum bat_code bat_input_blocks_fn(uint32_t table, const uint32_t **offsets, uint32_t *count,
                                          void *context, struct bat_error *error);

/*
 * Make a map of version 1 or 2 one of version 3, in the form that BOLT 22 writes (BAT.md 9.4): all
 * look-ups give what they gave. One of version 3 stays as it is. What the old note lacks:
 * hashes of functions are 0, hashes of blocks have the 16 bits that the offset tells; numbers and
 * indices of blocks are those of input_blocks, which is asked once for each hot table, in their
 * order; where it is NULL or does not know, they are those of the blocks that the note has.
 * Fails with BAT_ERR_MEMORY, or as input_blocks does; the map is unchanged then. Time is n log n
 * in the entries of a function.
 */
BAT_API enum bat_code bat_map_upgrade(struct bat_map *map, bat_input_blocks_fn *input_blocks,
                                      void *context, struct bat_error *error);

/* Collects the tables and entries of a new map. */
struct bat_builder;

/* A new, empty builder, or NULL if out of memory. Free it with bat_builder_free(). */
BAT_API struct bat_builder *bat_builder_new(void);
BAT_API void bat_builder_free(struct bat_builder *builder);

/*
 * Add tables, in any order. *table gets a handle for the calls below.
 * address is in the output binary; hash and input_block_count (number of blocks before BOLT) are
 * those of the input function; parent is the handle of a hot function. Fails with BAT_ERR_MEMORY,
 * with BAT_ERR_RANGE for too many tables, or with BAT_ERR_ARGUMENT if parent is not a hot function.
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
 * an output offset beyond 32 bits or an input offset beyond 31, with BAT_ERR_ARGUMENT for an
 * unknown handle, or with BAT_ERR_MEMORY.
 */
BAT_API enum bat_code bat_builder_add_block(struct bat_builder *builder, uint32_t table,
                                            uint64_t output_offset, uint64_t input_offset,
                                            uint64_t hash, uint32_t index, struct bat_error *error);
BAT_API enum bat_code bat_builder_add_branch(struct bat_builder *builder, uint32_t table,
                                             uint64_t output_offset, uint64_t input_offset,
                                             struct bat_error *error);

/* Add a secondary entry point of a hot function. Their order is kept; it determines their ids. */
BAT_API enum bat_code bat_builder_add_secondary(struct bat_builder *builder, uint32_t table,
                                                uint64_t input_offset, struct bat_error *error);

/* What a map is made for. */
struct bat_builder_options {
    size_t size; /* sizeof(struct bat_builder_options) */

    /* How bat_encode() writes the parents: TABLE, which AUTO stands for; MERGED reproduces notes of
     * BOLT 19 (BAT.md 7.2). */
    enum bat_hot_index hot_index;
};

/*
 * Make the map: sorts tables and entries, computes skews and equal prefixes. options may be NULL.
 * Fails with BAT_ERR_ORDER if two tables have the same address, BAT_ERR_ARGUMENT for options
 * without their size or another hot_index, or BAT_ERR_MEMORY. On success and on failure the builder
 * is empty afterwards and can be used again. The caller frees *map with bat_map_free(); it is NULL
 * on failure.
 */
BAT_API enum bat_code bat_builder_finish(struct bat_builder *builder,
                                         const struct bat_builder_options *options,
                                         struct bat_map **map, struct bat_error *error);

#ifdef __cplusplus
}
#endif

#endif
