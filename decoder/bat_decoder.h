/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Decodes the bytes of a BAT note into a struct bat_map, and looks things up in the map.
 *
 * Everything here is safe on any bytes, prints nothing, holds no global state, and may be called
 * from several threads at once. Look-ups do not change a map, so threads may share one.
 */
#ifndef BAT_DECODER_H
#define BAT_DECODER_H

#include "bat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a note is decoded. */
struct bat_decode_options {
    size_t size; /* sizeof(struct bat_decode_options) */

    /*
     * How to read the cold table's parents (BAT.md 7.2). AUTO decides by the note alone, and sets
     * map->hot_index_ambiguous where both readings fit: bat_binary_open() then asks the symbols.
     */
    enum bat_hot_index hot_index;
};

/*
 * Decode a note: section and size are the content of .note.bolt_bat, ELF note header included.
 * The bytes are only read during the call. options may be NULL. All versions are decoded;
 * map->version says which one it is.
 *
 * On success *map is a new map, which the caller frees with bat_map_free(). On failure *map is NULL
 * and error (may be NULL) has the code, the byte offset in the section, and the sentence. If
 * the note is sound in no version, they are those of version 3. Options without their size, and
 * other values of hot_index, fail with BAT_ERR_ARGUMENT.
 * Time is linear in size. Memory: 1.5 times the finished map, plus 2.5 bytes for each byte of the
 * note, plus 1.5 MB; for notes that BOLT writes, three times the note's size.
 */
BAT_API enum bat_code bat_decode(const void *section, size_t size,
                                 const struct bat_decode_options *options, struct bat_map **map,
                                 struct bat_error *error);

/*
 * Checks the ELF note around the description (BAT.md 2). On success *description points into
 * section. Fails with BAT_ERR_CONTAINER, BAT_ERR_TRUNCATED or BAT_ERR_TRAILING.
 */
BAT_API enum bat_code bat_note_description(const void *section, size_t size,
                                           const uint8_t **description, size_t *description_size,
                                           struct bat_error *error);

/*
 * Set the parents of all fragments again, with the hot indices read as form, TABLE or MERGED
 * (BAT.md 7.2). The indices in the note are recovered from the map. On failure the map is
 * unchanged: BAT_ERR_HOT_INDEX if an index names no hot function when read like that,
 * BAT_ERR_ARGUMENT for another form, BAT_ERR_VERSION for versions 1 and 2, BAT_ERR_MEMORY. No other
 * thread may use the map meanwhile.
 */
BAT_API enum bat_code bat_map_set_hot_index(struct bat_map *map, enum bat_hot_index form,
                                            struct bat_error *error);

/* --- Where an address was -------------------------------------------------------------------
 *
 * Tables are named by their index in map->tables. In the functions below every number that is
 * none, BAT_NONE first of all, stands for a function without a table: it is not an error, and each
 * function says what it answers then.
 */

/* An output address as the input binary has it. */
struct bat_map_place {
    uint32_t table;    /* that holds the address: a function's, or one of its fragments' */
    uint32_t function; /* the function's own (hot) table: bat_map_parent() of table */
    uint64_t offset;   /* bytes from the start of the input function */
};

/*
 * The central question: the input function of an output address, and the offset in it (BAT.md
 * 8.1). is_branch_source is for the address of a branch or call that was taken: the answer is then
 * the branch or call that the note knows there, else the address keeps its distance from the last
 * entry.
 *
 * Returns false for an address below all tables: table and function are BAT_NONE then, and offset
 * is the address. The note does not say where a function ends, so the last table below the address
 * is taken for the one that holds it; bat_binary_input_of() asks the symbols as well, and has
 * names. bat_original_input_of() gives the input address. Logarithmic; no memory is allocated.
 */
BAT_API bool bat_map_input_of(const struct bat_map *map, uint64_t output_address,
                              bool is_branch_source, struct bat_map_place *place);

struct bat_map_query {
    uint64_t output_address;
    bool is_branch_source;
};

/*
 * The same for count addresses, the answers in places[0 .. count). Ascending addresses take less
 * time than single questions: a table that holds several of them is looked for once.
 */
BAT_API void bat_map_inputs_of(const struct bat_map *map, const struct bat_map_query *queries,
                               size_t count, struct bat_map_place *places);

/* --- Tables --------------------------------------------------------------------------------- */

/*
 * True for the table of a function or fragment that BOLT did not emit (BAT.md 6.1): its address is
 * 0, and its entries, if it has any, lie below that, modulo 2^32. It contains no address. False
 * without a table.
 */
BAT_API bool bat_map_is_unemitted(const struct bat_map *map, uint32_t table);

/*
 * The table that starts at exactly this output address, as an index into map->tables, or
 * BAT_NONE. Logarithmic.
 */
BAT_API uint32_t bat_map_table_at(const struct bat_map *map, uint64_t address);

/*
 * The last table that starts at or below this output address, or BAT_NONE. The note does not say
 * where a function ends; only symbols can tell whether the address is still inside. Logarithmic.
 */
BAT_API uint32_t bat_map_table_containing(const struct bat_map *map, uint64_t address);

/*
 * The input offset for an output offset (BAT.md 8.1). output_offset counts bytes from the table's
 * address, the result from the start of the input function. Without a table, and below the first
 * entry, the offset is returned unchanged. Otherwise the last entry at or below the offset decides:
 * a branch source gets that entry's input offset, any other address also keeps its distance past
 * the entry. Logarithmic.
 */
BAT_API uint64_t bat_map_translate(const struct bat_map *map, uint32_t table,
                                   uint64_t output_offset, bool is_branch_source);

/* The function that a table is of, as the index of its hot table: the table itself if it is hot.
 * BAT_NONE without a table. */
BAT_API uint32_t bat_map_parent(const struct bat_map *map, uint32_t table);

/* One fall-through: from the block that starts at `from` into the one that starts at `to`. */
struct bat_fallthrough {
    uint32_t from; /* input offset of a block */
    uint32_t to;   /* input offset of the block that follows it in the output */
};

/* A walk over the fall-throughs of a trace. Members are private. */
struct bat_fallthrough_walk {
    const struct bat_map *map;
    const struct bat_table *table;
    uint32_t entry; /* the block entry to leave next */
    uint32_t last;  /* the block entry that holds the trace's end */
};

/*
 * Start a walk over the fall-throughs of the trace from output offset `from` to output offset
 * `to`, both inside table (BAT.md 8.2). Then call bat_fallthrough_next() until it returns false;
 * each call that returns true has filled *pair. Without a table, and if `to` is not above `from`,
 * there are none. No memory is allocated. Starting is logarithmic, the walk is linear in the
 * fall-throughs. The map must outlive the walk.
 */
BAT_API struct bat_fallthrough_walk bat_map_fallthroughs(const struct bat_map *map, uint32_t table,
                                                         uint64_t from, uint64_t to);
BAT_API bool bat_fallthrough_next(struct bat_fallthrough_walk *walk, struct bat_fallthrough *pair);

/* A block of an input function. */
struct bat_block {
    uint64_t hash;
    uint32_t input_offset; /* bytes from the input function's start */
    uint32_t index;        /* position among the input function's blocks */
};

/*
 * The input blocks of the function that table belongs to: those of its hot table and of all its
 * fragments, ascending by input offset, one for each offset (BAT.md 8.3). Entries that are not a
 * block of the input function (hash and index 0 at an offset that is not 0) are left out.
 * Versions 1 and 2 do not mark those; hashes are 0 and indices BAT_NONE there.
 *
 * Returns the number of blocks written, 0 without a table. If capacity may be too small, returns a
 * number above it that is large enough for a second call; the content of blocks is undefined then.
 * blocks may be NULL if capacity is 0. Time is n log n in the function's blocks, plus linear in its
 * entries.
 */
BAT_API uint32_t bat_map_blocks(const struct bat_map *map, uint32_t table, struct bat_block *blocks,
                                uint32_t capacity);

/*
 * As bat_map_blocks(), but with the blocks that BOLT made (BAT.md 6.3): what perf2bolt takes for
 * the function's blocks. Their indices do not ascend with the input offset.
 */
BAT_API uint32_t bat_map_noted_blocks(const struct bat_map *map, uint32_t table,
                                      struct bat_block *blocks, uint32_t capacity);

/*
 * The last of count blocks (from bat_map_blocks()) that starts at or below input_offset, or
 * BAT_NONE. Logarithmic.
 */
BAT_API uint32_t bat_block_at(const struct bat_block *blocks, uint32_t count,
                              uint64_t input_offset);

/*
 * The id of the secondary entry point at input_offset of the function that table belongs to:
 * 1 for the first, 0 if there is none at that offset (BAT.md 6.4), or no table. Logarithmic.
 */
BAT_API uint32_t bat_map_secondary_id(const struct bat_map *map, uint32_t table,
                                      uint64_t input_offset);

#ifdef __cplusplus
}
#endif

#endif
