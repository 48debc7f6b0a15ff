/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Decoding in two steps, for callers that need the entries of few tables: the first step checks the
 * whole note and reads all tables, the second one keeps the entries of those that are wanted.
 * Internal to the library.
 */
#pragma once

#include "decoding.h"

/* Of a table. */
struct bat_sparse_table {
    uint32_t body;    /* the offset of its entries in the section */
    uint32_t largest; /* their largest input offset; 0 without any, or if it was not wanted */
};

struct bat_sparse_map {
    /* Owned. Without entries, and without an index for look-ups in them, if there are tables. */
    struct bat_map *map;
    struct bat_sparse_table *tables; /* those of map; owned; NULL if map is complete */
    size_t count;                    /* of tables, while they are decoded */
    size_t capacity;
};

/*
 * The first step: like bat_decode_consuming() with BAT_HOT_INDEX_AUTO, with the same errors. The
 * map is complete at once if the note is of an older version, or if entries are needed to tell how
 * its hot indices are read. The caller frees *sparse with bat_sparse_free(); on failure it is
 * empty.
 */
enum bat_code bat_decode_sparse(const void *section, size_t size, bool wants_largest,
                                bat_consumed_fn *consumed, void *consumed_context,
                                struct bat_sparse_map *sparse, struct bat_error *error);

/* Calls run for each of count parts, an array of items of part_size bytes, by several threads. */
typedef void bat_sparse_run_fn(void *(*run)(void *part), void *parts, size_t part_size,
                               unsigned count);

/*
 * The second step, to be called once: decode the entries of the hot functions for which wanted (one
 * byte for each hot table; NULL: all) is not 0, and of their fragments. The other tables have no
 * entries then. section must be the same bytes as before. Nothing is done if the map is complete.
 * Many entries are decoded by run, in parts; NULL: all by the caller's thread. Fails as
 * bat_decode(); then sparse can only be freed.
 */
enum bat_code bat_sparse_load(struct bat_sparse_map *sparse, const void *section, size_t size,
                              const uint8_t *wanted, bat_sparse_run_fn *run,
                              struct bat_error *error);

/*
 * Called by the decoder when it has checked the entries of a table, which begin at an offset of the
 * section: they are forgotten. Fails with BAT_ERR_MEMORY.
 */
enum bat_code bat_sparse_forget(struct bat_decoding *decoding, uint32_t body);

/* The entries of one table. */
struct bat_sparse_entries {
    uint32_t count;
    uint32_t offsets[]; /* count output offsets, then count input sides, as in struct bat_map */
};

/*
 * In place of the second step, for a map that is not complete: decode the entries of one table. The
 * caller frees the result with free(). NULL if there is no memory, or if the section has changed.
 * Threads may call this at the same time.
 */
struct bat_sparse_entries *bat_sparse_entries_of(const struct bat_sparse_map *sparse,
                                                 const void *section, size_t size, uint32_t table);

void bat_sparse_free(struct bat_sparse_map *sparse);
