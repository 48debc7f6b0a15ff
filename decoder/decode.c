/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Notes of versions 2 and 3, tables and headers: BAT.md 4, 5, 7 and 9. encoder/encode.c has the
 * same steps in the same order.
 */
#include "bat_decoder.h"

#include <stdlib.h>

#include "decoder/legacy/legacy.h"
#include "decoding.h"
#include "sparse.h"
#include "spec/array.h"
#include "spec/map.h"
#include "spec/options.h"

/* The fewest bytes that a table can take. */
#define HOT_TABLE_MIN 13u
#define COLD_TABLE_MIN 5u
#define OLD_TABLE_MIN 2u

/*
 * Bytes of note assumed for each entry and each block when the arrays are allocated. BOLT's notes
 * have a few more; for a note that has fewer the arrays grow.
 */
#define ENTRY_USUAL 6u
#define BLOCK_USUAL 12u

/* A sparse map has space for the entries of one table: for the largest, the arrays grow. */
#define SPARSE_BYTES 65536u

/* Allocates for a usual note. Unused memory is never touched and is given back at the end. */
static enum bat_code allocate_arrays(struct bat_decoding *decoding)
{
    struct bat_map *map = decoding->map;
    size_t left = bat_reader_left(&decoding->reader);
    if (decoding->sparse && left > SPARSE_BYTES)
        left = SPARSE_BYTES;
    decoding->entry_capacity = left / ENTRY_USUAL;
    decoding->block_capacity = left / BLOCK_USUAL;
    map->output_offsets = bat_array_new(decoding->entry_capacity, sizeof(*map->output_offsets));
    map->input_offsets = bat_array_new(decoding->entry_capacity, sizeof(*map->input_offsets));
    map->block_hashes = bat_array_new(decoding->block_capacity, sizeof(*map->block_hashes));
    map->block_indices = bat_array_new(decoding->block_capacity, sizeof(*map->block_indices));
    if (!map->output_offsets || !map->input_offsets || !map->block_hashes || !map->block_indices)
        return bat_decode_fail_memory(decoding->reader.error);
    return BAT_OK;
}

/* Secondary entry points are few, so their array starts empty. */
static enum bat_code reserve_secondary(struct bat_decoding *decoding, uint32_t more)
{
    struct bat_map *map = decoding->map;
    /* Both are bounded by the note's size, which is below 2^33. */
    if ((uint64_t)map->secondary_count + more > UINT32_MAX ||
        !BAT_RESERVE(map->secondary_entries, map->secondary_count, decoding->secondary_capacity,
                     more))
        return bat_decode_fail_memory(decoding->reader.error);
    return BAT_OK;
}

/* BAT.md 6.4: deltas are taken in 32 bits. */
static enum bat_code decode_secondary_entries(struct bat_decoding *decoding,
                                              struct bat_table *table)
{
    struct bat_map *map = decoding->map;
    enum bat_code code = reserve_secondary(decoding, table->secondary_count);
    table->first_secondary = map->secondary_count;
    uint32_t offset = 0;
    for (uint32_t i = 0; code == BAT_OK && i < table->secondary_count; i++) {
        uint32_t delta = 0;
        code = bat_reader_uleb32(&decoding->reader, "secondary entry point's delta", &delta);
        offset += delta;
        if (code == BAT_OK)
            map->secondary_entries[map->secondary_count++] = offset;
    }
    return code;
}

/* The address of the next table; tables of one kind must ascend (BAT.md 4). */
static enum bat_code decode_address(struct bat_decoding *decoding, struct bat_table *table,
                                    bool is_first)
{
    struct bat_reader *reader = &decoding->reader;
    const uint8_t *at = reader->cursor;
    uint64_t delta;
    BAT_TRY(bat_reader_uleb(reader, "table's address delta", &delta));
    table->address = decoding->address + delta;
    decoding->address = table->address;
    if (!is_first && table->address <= table[-1].address)
        return bat_reader_fail(reader, BAT_ERR_ORDER, at,
                               "expected a table above 0x%lx, found one at 0x%lx",
                               table[-1].address, table->address);
    reader->table = &table->address;
    return BAT_OK;
}

/* BAT.md 5: the fields that only a hot function's header has. */
static enum bat_code decode_hot_header(struct bat_decoding *decoding, struct bat_table *table)
{
    struct bat_reader *reader = &decoding->reader;
    if (!bat_map_has_hashes(decoding->map))
        return BAT_OK;
    enum bat_code code = bat_reader_u64(reader, "function hash", &table->hash);
    code = code ? code : bat_reader_uleb32(reader, "number of blocks", &table->input_block_count);
    BAT_TRY(code);
    return bat_reader_count(reader, "number of secondary entry points", 1, &table->secondary_count);
}

/*
 * The hot index of a cold fragment (BAT.md 7). What it counts in is seen when all are there.
 * *hot_index is that of the fragment before.
 */
static enum bat_code decode_hot_index(struct bat_decoding *decoding, uint32_t fragment,
                                      uint64_t *hot_index)
{
    struct bat_reader *reader = &decoding->reader;
    const uint8_t *at = reader->cursor;
    uint64_t delta = 0;
    BAT_TRY(bat_reader_uleb(reader, "hot index's delta", &delta));
    *hot_index += delta;
    /* Both readings of the index are positions among tables. */
    if (*hot_index >= bat_map_tables(decoding->map))
        return bat_reader_fail(reader, BAT_ERR_HOT_INDEX, at,
                               "expected a hot index below %u (the number of tables), found %lu",
                               bat_map_tables(decoding->map), *hot_index);
    decoding->hot_indices[fragment] = (struct bat_raw_hot_index){
        .offset = (uint64_t)(at - reader->start), .index = (uint32_t)*hot_index};
    return BAT_OK;
}

/* BAT.md 7: the fields that only a cold fragment's header has. */
static enum bat_code decode_cold_header(struct bat_decoding *decoding, struct bat_table *table,
                                        uint64_t *hot_index)
{
    uint32_t fragment = (uint32_t)(table - decoding->map->tables) - decoding->map->hot_count;
    enum bat_code code = decode_hot_index(decoding, fragment, hot_index);
    if (code == BAT_OK && bat_map_has_hashes(decoding->map))
        code = bat_reader_uleb32(&decoding->reader, "skew", &table->skew);
    return code;
}

/* The rest of a table: number of entries, length of the equal prefix, entries. */
static enum bat_code decode_table_body(struct bat_decoding *decoding, struct bat_table *table,
                                       bool has_prefix)
{
    struct bat_reader *reader = &decoding->reader;
    BAT_TRY(bat_reader_count(reader, "number of entries", 1, &table->entry_count));
    const uint8_t *at = reader->cursor;
    if (has_prefix || bat_map_has_hashes(decoding->map))
        BAT_TRY(bat_reader_uleb32(reader, "length of the equal prefix", &table->equal_count));
    if (table->equal_count > table->entry_count)
        return bat_reader_fail(
            reader, BAT_ERR_PREFIX, at,
            "expected an equal prefix of at most %u entries (all of the table), found %u",
            table->entry_count, table->equal_count);
    const uint32_t body = (uint32_t)(reader->cursor - reader->start);
    BAT_TRY(bat_decode_entries(decoding, table));
    return decoding->sparse ? bat_sparse_forget(decoding, body) : BAT_OK;
}

/*
 * Space is made for one cold fragment for this many functions. There are seldom more, and unused
 * memory is not touched.
 */
#define COLD_USUAL 4u

/* consumed() is called after at least this many bytes. */
#define CONSUMED_MIN ((ptrdiff_t)4 << 20)

static void report_consumed(struct bat_decoding *decoding)
{
    const uint8_t *cursor = decoding->reader.cursor;
    if (!decoding->consumed || cursor - decoding->reported < CONSUMED_MIN)
        return;
    decoding->consumed(decoding->reported, (size_t)(cursor - decoding->reported),
                       decoding->consumed_context);
    decoding->reported = cursor;
}

static enum bat_code decode_hot_tables(struct bat_decoding *decoding)
{
    struct bat_map *map = decoding->map;
    BAT_TRY(bat_reader_count(&decoding->reader, "number of hot functions",
                             bat_map_has_hashes(map) ? HOT_TABLE_MIN : OLD_TABLE_MIN,
                             &map->hot_count));
    decoding->table_capacity = (size_t)map->hot_count + map->hot_count / COLD_USUAL;
    map->tables = bat_array_new(decoding->table_capacity, sizeof(*map->tables));
    if (!map->tables)
        return bat_decode_fail_memory(decoding->reader.error);
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < map->hot_count; i++) {
        struct bat_table *table = &map->tables[i];
        *table = (struct bat_table){.parent = i};
        code = decode_address(decoding, table, i == 0);
        code = code ? code : decode_hot_header(decoding, table);
        code = code ? code : decode_table_body(decoding, table, map->has_prefixes);
        code = code ? code : decode_secondary_entries(decoding, table);
        decoding->reader.table = NULL;
        if (code != BAT_OK)
            return code;
        report_consumed(decoding);
    }
    return BAT_OK;
}

static enum bat_code allocate_cold_tables(struct bat_decoding *decoding)
{
    struct bat_map *map = decoding->map;
    size_t bytes = (size_t)bat_map_tables(map) * sizeof(*map->tables);
    if (bat_map_tables(map) > decoding->table_capacity) {
        struct bat_table *grown = realloc(map->tables, bytes ? bytes : 1);
        if (!grown)
            return bat_decode_fail_memory(decoding->reader.error);
        map->tables = grown;
    }
    decoding->hot_indices = bat_array_new(map->cold_count, sizeof(*decoding->hot_indices));
    if (!decoding->hot_indices)
        return bat_decode_fail_memory(decoding->reader.error);
    return BAT_OK;
}

static enum bat_code decode_cold_tables(struct bat_decoding *decoding)
{
    struct bat_map *map = decoding->map;
    enum bat_code code = bat_reader_count(&decoding->reader, "number of cold fragments",
                                          bat_map_has_hashes(map) ? COLD_TABLE_MIN : OLD_TABLE_MIN,
                                          &map->cold_count);
    code = code ? code : allocate_cold_tables(decoding);
    uint64_t hot_index = 0;
    for (uint32_t i = 0; code == BAT_OK && i < map->cold_count; i++) {
        struct bat_table *table = &map->tables[map->hot_count + i];
        *table = (struct bat_table){.parent = BAT_NONE};
        code = decode_address(decoding, table, i == 0);
        code = code ? code : decode_cold_header(decoding, table, &hot_index);
        code = code ? code : decode_table_body(decoding, table, false);
        decoding->reader.table = NULL;
    }
    return code;
}

/* The order of all tables. */
static enum bat_code sort_tables(struct bat_decoding *decoding)
{
    struct bat_error *error = decoding->reader.error;
    uint64_t duplicate = 0;
    enum bat_code code = bat_map_sort_tables(decoding->map, &duplicate);
    if (code == BAT_ERR_ORDER)
        return bat_fail_at(error, code, BAT_PLACE_SECTION, BAT_NO_OFFSET,
                           "expected one table at 0x%lx, found it in the hot and in the cold table",
                           duplicate);
    return code == BAT_OK ? BAT_OK : bat_decode_fail_memory(error);
}

/* What look-ups need beside the tables, once the parents are known. */
static enum bat_code link_tables(struct bat_decoding *decoding)
{
    enum bat_code code = bat_map_link_fragments(decoding->map);
    if (code == BAT_OK && !decoding->sparse)
        code = bat_map_build_index(decoding->map);
    return code == BAT_OK ? BAT_OK : bat_decode_fail_memory(decoding->reader.error);
}

static enum bat_code resolve_parents(struct bat_decoding *decoding, enum bat_hot_index wanted)
{
    const struct bat_map *map = decoding->map;
    if (!bat_map_has_hashes(map))
        return bat_decode_parents_2(decoding);
    struct bat_error *error = decoding->reader.error;
    uint32_t misfit = 0;
    enum bat_code code =
        bat_hot_index_resolve(decoding->map, decoding->hot_indices, wanted, &misfit);
    if (code == BAT_ERR_HOT_INDEX)
        return bat_fail_at(
            error, code, BAT_PLACE_SECTION, decoding->hot_indices[misfit].offset,
            "table at 0x%lx: expected the index of a hot function, found %u of %u hot functions",
            map->tables[map->hot_count + misfit].address, decoding->hot_indices[misfit].index,
            map->hot_count);
    return code == BAT_OK ? BAT_OK : bat_decode_fail_memory(error);
}

static enum bat_code decode_description(struct bat_decoding *decoding, enum bat_hot_index wanted)
{
    enum bat_code code = allocate_arrays(decoding);
    code = code ? code : decode_hot_tables(decoding);
    BAT_TRY(code);
    BAT_TRY(decode_cold_tables(decoding));
    code = bat_decode_finish(decoding);
    code = code ? code : sort_tables(decoding);
    if (code == BAT_OK && decoding->sparse)
        decoding->needs_entries = bat_hot_index_is_open(decoding->map, decoding->hot_indices);
    if (code == BAT_OK && !decoding->needs_entries)
        code = resolve_parents(decoding, wanted);
    if (decoding->needs_entries)
        return code;
    return code ? code : link_tables(decoding);
}

/* --- All versions ----------------------------------------------------------------------------- */

/* A form of notes. */
struct form {
    enum bat_version version;
    bool has_prefixes; /* as LLVM's main branch wrote notes between BOLT 18 and 19 */
};

/* The parents are known, and only the order of the tables is missing. */
static enum bat_code decode_version_1(struct bat_decoding *decoding)
{
    enum bat_code code = bat_decode_version_1(decoding);
    code = code ? code : sort_tables(decoding);
    return code ? code : link_tables(decoding);
}

/* Read the note as one version; decoding has no map afterwards if it is not of that version. */
static enum bat_code try_version(struct bat_decoding *decoding, const uint8_t *description,
                                 struct form form, enum bat_hot_index hot_index)
{
    decoding->reader.cursor = description;
    decoding->reader.table = NULL;
    decoding->address = 0;
    decoding->hot_indices = NULL;
    decoding->secondary_capacity = 0;
    decoding->map = calloc(1, sizeof(struct bat_map));
    if (!decoding->map)
        return bat_decode_fail_memory(decoding->reader.error);
    decoding->map->version = form.version;
    decoding->map->has_prefixes = form.has_prefixes;
    enum bat_code code = form.version == BAT_VERSION_1 ? decode_version_1(decoding)
                                                       : decode_description(decoding, hot_index);
    free(decoding->hot_indices);
    if (code != BAT_OK) {
        bat_map_free(decoding->map);
        decoding->map = NULL;
    }
    return code;
}

/*
 * BAT.md 11: a note that is no sound version 3 may be a sound older one. If it is not, what is
 * wrong with it as version 3 is what to tell.
 */
static enum bat_code try_versions(struct bat_decoding *decoding, const uint8_t *description,
                                  enum bat_hot_index hot_index, struct bat_error *error)
{
    static const struct form older[] = {
        {BAT_VERSION_1, false}, {BAT_VERSION_2, false}, {BAT_VERSION_2, true}};
    struct bat_error first;
    struct bat_error ignored;
    decoding->reader.error = &first;
    enum bat_code code =
        try_version(decoding, description, (struct form){BAT_VERSION_3, false}, hot_index);
    decoding->reader.error = &ignored;
    decoding->consumed = NULL;
    for (size_t i = 0; i < sizeof(older) / sizeof(older[0]); i++) {
        if (code == BAT_OK || code == BAT_ERR_MEMORY)
            break;
        decoding->sparse = NULL;
        enum bat_code older_code = try_version(decoding, description, older[i], hot_index);
        if (older_code == BAT_OK || older_code == BAT_ERR_MEMORY) {
            first = ignored;
            code = older_code;
        }
    }
    decoding->reader.error = NULL;
    if (code != BAT_OK && error)
        *error = first;
    return code;
}

/* Decode into decoding->map, which is NULL on failure. The caller has set consumed(). */
static enum bat_code decode_note(struct bat_decoding *decoding, const void *section, size_t size,
                                 enum bat_hot_index hot_index, struct bat_error *error)
{
    if ((unsigned)hot_index > BAT_HOT_INDEX_MERGED)
        return bat_fail(error, BAT_ERR_ARGUMENT,
                        "expected hot indices to be read as AUTO, TABLE or MERGED, found %d",
                        (int)hot_index);
    const uint8_t *description;
    size_t description_size;
    BAT_TRY(bat_note_description(section, size, &description, &description_size, error));
    decoding->reported = section;
    decoding->reader = (struct bat_reader){.start = section, .end = description + description_size};
    return try_versions(decoding, description, hot_index, error);
}

enum bat_code bat_decode_consuming(const void *section, size_t size, enum bat_hot_index hot_index,
                                   bat_consumed_fn *consumed, void *consumed_context,
                                   struct bat_map **map, struct bat_error *error)
{
    struct bat_decoding decoding = {.consumed = consumed, .consumed_context = consumed_context};
    enum bat_code code = decode_note(&decoding, section, size, hot_index, error);
    *map = decoding.map;
    return code;
}

enum bat_code bat_decode_sparse(const void *section, size_t size, bool wants_largest,
                                bat_consumed_fn *consumed, void *consumed_context,
                                struct bat_sparse_map *sparse, struct bat_error *error)
{
    struct bat_decoding decoding = {.consumed = consumed,
                                    .consumed_context = consumed_context,
                                    .sparse = sparse,
                                    .wants_largest = wants_largest};
    *sparse = (struct bat_sparse_map){0};
    enum bat_code code = decode_note(&decoding, section, size, BAT_HOT_INDEX_AUTO, error);
    if (code != BAT_OK || !decoding.sparse || decoding.needs_entries)
        bat_sparse_free(sparse); /* its tables are not those of the map */
    sparse->map = decoding.map;
    if (code != BAT_OK || !decoding.needs_entries)
        return code;
    bat_map_free(sparse->map);
    return bat_decode_consuming(section, size, BAT_HOT_INDEX_AUTO, consumed, consumed_context,
                                &sparse->map, error);
}

enum bat_code bat_decode(const void *section, size_t size, const struct bat_decode_options *options,
                         struct bat_map **map, struct bat_error *error)
{
    *map = NULL;
    struct bat_decode_options own;
    BAT_TRY(bat_options_copy(&own, sizeof(own), options, "bat_decode_options", error));
    return bat_decode_consuming(section, size, own.hot_index, NULL, NULL, map, error);
}
