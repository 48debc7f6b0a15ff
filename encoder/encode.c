/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Notes of versions 2 and 3, tables and headers: BAT.md 4, 5, 7 and 9. decoder/decode.c has the
 * same steps in the same order.
 */
#include "bat_encoder.h"

#include <stdlib.h>
#include <string.h>

#include "bat_decoder.h"
#include "encoder/legacy/legacy.h"
#include "encoding.h"
#include "spec/array.h"
#include "spec/map.h"
#include "writer.h"

/* BAT.md 6.4: deltas are taken in 32 bits. */
static void encode_secondary_entries(struct bat_encoding *encoding, const struct bat_table *table)
{
    uint32_t offset = 0;
    for (uint32_t i = 0; i < table->secondary_count; i++) {
        uint32_t entry = encoding->map->secondary_entries[table->first_secondary + i];
        encoding->at = bat_write_uleb(encoding->at, entry - offset);
        offset = entry;
    }
}

static void encode_address(struct bat_encoding *encoding, const struct bat_table *table)
{
    bat_encoding_report(encoding, table);
    encoding->at = bat_write_uleb(encoding->at, table->address - encoding->address);
    encoding->address = table->address;
}

/* BAT.md 5: the fields that only a hot function's header has. */
static void encode_hot_header(struct bat_encoding *encoding, const struct bat_table *table)
{
    if (!bat_map_has_hashes(encoding->map))
        return;
    encoding->at = bat_write_u64(encoding->at, table->hash);
    encoding->at = bat_write_uleb(encoding->at, table->input_block_count);
    encoding->at = bat_write_uleb(encoding->at, table->secondary_count);
}

/* BAT.md 7 and 9.2: the fields that only a cold fragment's header has. */
static void encode_cold_header(struct bat_encoding *encoding, const struct bat_table *table,
                               uint64_t *hot_index)
{
    const struct bat_map *map = encoding->map;
    uint64_t index = table->parent;
    if (map->hot_index == BAT_HOT_INDEX_MERGED)
        index = bat_map_rank(map, table->parent);
    else if (map->hot_index == BAT_HOT_INDEX_FRAGMENT)
        index = (uint64_t)(table - map->tables) - map->hot_count;
    encoding->at = bat_write_uleb(encoding->at, index - *hot_index);
    *hot_index = index;
    if (bat_map_has_hashes(map))
        encoding->at = bat_write_uleb(encoding->at, table->skew);
}

/* The rest of a table: number of entries, length of the equal prefix, entries. */
static enum bat_code encode_table_body(struct bat_encoding *encoding, const struct bat_table *table,
                                       bool has_prefix)
{
    const bool is_old = !bat_map_has_hashes(encoding->map);
    BAT_TRY(is_old ? bat_legacy_check_entries(encoding, table) : BAT_OK);
    encoding->at = bat_write_uleb(encoding->at, table->entry_count);
    if (!is_old || has_prefix)
        encoding->at = bat_write_uleb(encoding->at, table->equal_count);
    return bat_encode_entries(encoding, table);
}

static enum bat_code encode_hot_tables(struct bat_encoding *encoding)
{
    const struct bat_map *map = encoding->map;
    encoding->at = bat_write_uleb(encoding->at, map->hot_count);
    for (uint32_t i = 0; i < map->hot_count; i++) {
        const struct bat_table *table = &map->tables[i];
        encode_address(encoding, table);
        encode_hot_header(encoding, table);
        BAT_TRY(encode_table_body(encoding, table, map->has_prefixes));
        encode_secondary_entries(encoding, table);
    }
    return BAT_OK;
}

static enum bat_code encode_cold_tables(struct bat_encoding *encoding)
{
    const struct bat_map *map = encoding->map;
    encoding->at = bat_write_uleb(encoding->at, map->cold_count);
    uint64_t hot_index = 0;
    for (uint32_t i = 0; i < map->cold_count; i++) {
        const struct bat_table *table = &map->tables[map->hot_count + i];
        encode_address(encoding, table);
        encode_cold_header(encoding, table, &hot_index);
        BAT_TRY(encode_table_body(encoding, table, false));
    }
    return BAT_OK;
}

/*
 * An upper bound of the note's size. Numbers of 32 bits take 5 bytes, differences of 33 bits too;
 * only deltas of table addresses and of indices take all 10. The tables are added up and not the
 * arrays, because ranges of tables may overlap in a map that a caller has made.
 */
static uint64_t upper_bound(const struct bat_map *map)
{
    uint64_t bytes = BAT_NOTE_HEADER_SIZE + 2 * 5 + 3 + BAT_WRITER_SLACK;
    for (uint32_t i = 0; i < bat_map_tables(map); i++) {
        const struct bat_table *table = &map->tables[i];
        bytes += 2 * BAT_LEB128_MAX + 8 + 4 * 5;
        bytes += (uint64_t)table->entry_count * (5 + 5) + table->equal_count / 8 + 1;
        bytes += (uint64_t)table->block_count * (8 + BAT_LEB128_MAX);
        bytes += (uint64_t)table->secondary_count * 5;
    }
    return bytes;
}

/*
 * Write the ELF note header in front of the description that ends at `end`, and the padding behind
 * it (BAT.md 2). The header's bytes are the first of section, and there is room for the padding.
 */
static enum bat_code encode_container(uint8_t *section, uint8_t *end, size_t *size,
                                      struct bat_error *error)
{
    uint64_t description = (uint64_t)(end - section) - BAT_NOTE_HEADER_SIZE;
    if (description > UINT32_MAX)
        return bat_fail(error, BAT_ERR_RANGE,
                        "expected a description of less than 2^32 bytes, found %lu", description);
    static const uint8_t owner[8] = BAT_NOTE_OWNER;
    uint8_t *at = bat_write_u32(section, BAT_NOTE_OWNER_SIZE);
    at = bat_write_u32(at, (uint32_t)description);
    at = bat_write_u32(at, BAT_NOTE_TYPE);
    memcpy(at, owner, sizeof(owner));
    while ((end - section) % 4 != 0)
        *end++ = 0;
    *size = (size_t)(end - section);
    return BAT_OK;
}

static enum bat_code encode_description(struct bat_encoding *encoding)
{
    if (encoding->map->version == BAT_VERSION_1)
        return bat_encode_version_1(encoding);
    BAT_TRY(encode_hot_tables(encoding));
    return encode_cold_tables(encoding);
}

enum bat_code bat_encode_places(const struct bat_map *map, uint64_t *places, uint8_t **section,
                                size_t *size, struct bat_error *error)
{
    *section = NULL;
    BAT_TRY(bat_map_check(map, error));
    uint64_t bound = upper_bound(map);
    uint8_t *bytes = bound <= SIZE_MAX ? bat_array_new((size_t)bound, 1) : NULL;
    BAT_TRY_MEMORY(bytes, error, "for a note of up to %lu bytes", bound);

    struct bat_encoding encoding = {.map = map,
                                    .error = error,
                                    .start = bytes,
                                    .at = bytes + BAT_NOTE_HEADER_SIZE,
                                    .places = places};
    enum bat_code code = encode_description(&encoding);
    code = code ? code : encode_container(bytes, encoding.at, size, error);
    if (code != BAT_OK) {
        free(bytes);
        return code;
    }
    BAT_SHRINK(bytes, *size);
    *section = bytes;
    return BAT_OK;
}

enum bat_code bat_encode(const struct bat_map *map, uint8_t **section, size_t *size,
                         struct bat_error *error)
{
    return bat_encode_places(map, NULL, section, size, error);
}

void bat_map_canonicalize(struct bat_map *map)
{
    if (map->version != BAT_VERSION_3)
        return;
    map->hot_index = BAT_HOT_INDEX_TABLE;
    map->hot_index_ambiguous = false;
    for (uint32_t i = 0; i < bat_map_tables(map); i++) {
        struct bat_table *table = &map->tables[i];
        table->skew = bat_skew(map, table, i >= map->hot_count);
        table->equal_count = bat_map_equal_prefix(map, table);
    }
}

/* Remove a table and renumber those after it. */
static void remove_table(struct bat_map *map, uint32_t table)
{
    uint32_t tables = bat_map_tables(map);
    bool is_hot = table < map->hot_count;
    for (uint32_t i = table; i + 1 < tables; i++)
        map->tables[i] = map->tables[i + 1];
    map->hot_count -= is_hot;
    map->cold_count -= !is_hot;
    for (uint32_t i = 0; i + 1 < tables; i++)
        if (map->tables[i].parent > table)
            map->tables[i].parent--;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < tables; i++)
        if (map->by_address[i] != table)
            map->by_address[kept++] = map->by_address[i] - (map->by_address[i] > table);
}

enum bat_code bat_map_drop_unemitted(struct bat_map *map, bool *dropped, struct bat_error *error)
{
    *dropped = false;
    if (bat_map_tables(map) == 0 || !bat_map_is_unemitted(map, map->by_address[0]))
        return BAT_OK;
    uint32_t table = map->by_address[0];
    if (table < map->hot_count && map->fragment_start[table] != map->fragment_start[table + 1])
        return BAT_OK;
    struct bat_map without = *map;
    uint32_t tables = bat_map_tables(map);
    without.tables = bat_array_new(tables, sizeof(*without.tables));
    without.by_address = bat_array_new(tables, sizeof(*without.by_address));
    without.fragment_start = NULL;
    without.fragments = NULL;
    enum bat_code code = BAT_ERR_MEMORY;
    if (without.tables && without.by_address) {
        memcpy(without.tables, map->tables, tables * sizeof(*without.tables));
        memcpy(without.by_address, map->by_address, tables * sizeof(*without.by_address));
        remove_table(&without, table);
        code = bat_map_link_fragments(&without);
    }
    /* Free the arrays that *map does not have in the end. */
    struct bat_map spare = code == BAT_OK ? *map : without;
    BAT_FREE_ALL(spare.tables, spare.by_address);
    if (code != BAT_OK)
        return bat_fail_memory(error, "for %u tables", tables);
    BAT_FREE_ALL(spare.fragment_start, spare.fragments);
    *map = without;
    *dropped = true;
    return BAT_OK;
}
