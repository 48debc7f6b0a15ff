/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared by the files of the decoder. bat_decode_consuming() is for the rest of the library. */
#pragma once

#include "bat.h"
#include "reader.h"

/* A hot index as read from the note. */
struct bat_raw_hot_index {
    uint64_t offset; /* of the field, in the section */
    uint32_t index;
};

/* Called with bytes that have been decoded. They are read again only if the note is damaged. */
typedef void bat_consumed_fn(const uint8_t *bytes, size_t size, void *context);

struct bat_sparse_map;

/* A note being decoded. */
struct bat_decoding {
    bat_consumed_fn *consumed; /* or NULL */
    void *consumed_context;
    const uint8_t *reported; /* consumed() has been called for all bytes before this */
    struct bat_reader reader;
    struct bat_map *map;
    uint64_t address;      /* the running output address (BAT.md 4) */
    size_t entry_capacity; /* elements allocated in the map's arrays */
    size_t block_capacity;
    size_t table_capacity;
    size_t secondary_capacity;
    struct bat_raw_hot_index *hot_indices; /* cold_count */

    /* Not NULL: the entries of each table are forgotten as soon as they are checked (sparse.h). */
    struct bat_sparse_map *sparse;
    bool wants_largest;    /* for sparse, the largest input offset of each table */
    bool needs_entries;    /* to tell how hot indices are read: decode again, not sparse */
    bool has_fixed_arrays; /* they have room for what was counted before, and are not to grow */
};

/*
 * Make room in the map's arrays for this many more entries, each of which may be a block. The
 * arrays may move. Fails with BAT_ERR_MEMORY, or with BAT_ERR_IO if they have a fixed size.
 */
enum bat_code bat_decode_make_room(struct bat_decoding *decoding, uint32_t more);

/* Fails with BAT_ERR_MEMORY. */
enum bat_code bat_decode_fail_memory(struct bat_error *error);

/* Fails with BAT_ERR_IO: the bytes of a note that is mapped are not what they were before. */
enum bat_code bat_decode_fail_changed(struct bat_error *error);

/* Fails with BAT_ERR_TRAILING if bytes are left; else gives back the room that no entry took. */
enum bat_code bat_decode_finish(struct bat_decoding *decoding);

/* Decode the entries of one table, whose header has been read (BAT.md 6). */
enum bat_code bat_decode_entries(struct bat_decoding *decoding, struct bat_table *table);

/*
 * Decide how the hot indices are read, and set the fragments' parents (BAT.md 7.2). by_address must
 * have been filled. Fails with BAT_ERR_MEMORY, or with BAT_ERR_HOT_INDEX; then *misfit is the first
 * fragment (from 0) whose index names no hot function.
 */
enum bat_code bat_hot_index_resolve(struct bat_map *map, const struct bat_raw_hot_index *raw,
                                    enum bat_hot_index wanted, uint32_t *misfit);

/*
 * True if bat_hot_index_resolve() with BAT_HOT_INDEX_AUTO has to compare entries: both readings
 * fit, and they differ.
 */
bool bat_hot_index_is_open(const struct bat_map *map, const struct bat_raw_hot_index *raw);

/* bat_decode() that calls consumed() from time to time, for a note that is mapped from a file. */
enum bat_code bat_decode_consuming(const void *section, size_t size, enum bat_hot_index hot_index,
                                   bat_consumed_fn *consumed, void *consumed_context,
                                   struct bat_map **map, struct bat_error *error);
