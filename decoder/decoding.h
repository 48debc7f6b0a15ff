/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The decoder's parts and what they hand to each other. Internal to the decoder. */
#ifndef BAT_DECODER_DECODING_H
#define BAT_DECODER_DECODING_H

#include "bat.h"
#include "reader.h"

/* A hot index as it stands in the note. */
struct bat_raw_hot_index {
    uint64_t offset; /* of the field, in the section */
    uint32_t index;
};

/* Told of bytes that will only be read again if the note turns out to be wrong. */
typedef void bat_passed_fn(const uint8_t *bytes, size_t size, void *context);

/* A note being decoded. */
struct bat_decoding {
    bat_passed_fn *passed; /* or NULL */
    void *passed_context;
    const uint8_t *kept; /* passed() was told of all before this */
    struct bat_reader reader;
    struct bat_map *map;
    uint64_t address;      /* the running output address (BAT.md 4) */
    size_t entry_capacity; /* elements that the map's arrays have room for */
    size_t block_capacity;
    uint32_t secondary_capacity;
    struct bat_raw_hot_index *hot_indices; /* one a cold fragment */
};

/*
 * Have room in the map's arrays for so many entries more, each of which may be a block. The
 * arrays may move. BAT_ERR_MEMORY.
 */
enum bat_code bat_decode_make_room(struct bat_decoding *decoding, uint32_t more);

/* The entries of one table, whose header has been read (BAT.md 6). */
enum bat_code bat_decode_entries(struct bat_decoding *decoding, struct bat_function *table);

/*
 * Decide what the hot indices count in, and set the fragments' parents (BAT.md 7.2). The tables
 * must have been sorted. Fails with BAT_ERR_HOT_INDEX, *misfit being the first fragment (from 0)
 * whose index fits no reading that was allowed; or with BAT_ERR_MEMORY.
 */
enum bat_code bat_hot_index_resolve(struct bat_map *map, const struct bat_raw_hot_index *raw,
                                    enum bat_hot_index wanted, uint32_t *misfit);

/*
 * The version of a description that is no sound version 3: BAT_VERSION_1 or _2 if its bytes,
 * read as that version, come out even to the last one; else BAT_VERSION_3 (BAT.md 11).
 */
enum bat_version bat_legacy_recognise(const uint8_t *description, size_t size);

/* bat_decode() with passed() called now and then, for a note that is mapped from a file. */
enum bat_code bat_decode_passing(const void *section, size_t size, enum bat_hot_index hot_index,
                                 bat_passed_fn *passed, void *passed_context, struct bat_map **map,
                                 struct bat_error *error);

#endif
