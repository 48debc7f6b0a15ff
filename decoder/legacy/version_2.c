/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Version 2: version 3 without hashes and indices (BAT.md 9). */
#include <inttypes.h>

#include "legacy.h"
#include "spec/array.h"
#include "spec/map.h"

/* The fewest bytes that a table can take. */
#define TABLE_MIN 2u

/* The equal prefix of a table (BAT.md 6.2); branch_bits is NULL where there is none. */
struct prefix {
    const uint8_t *branch_bits;
    uint32_t count;
};

static enum bat_code decode_address(struct bat_decoding *decoding, struct bat_table *table,
                                    bool is_first)
{
    struct bat_reader *reader = &decoding->reader;
    const uint8_t *at = reader->cursor;
    uint64_t delta = 0;
    enum bat_code code = bat_reader_uleb(reader, "table's address delta", &delta);
    if (code != BAT_OK)
        return code;
    decoding->address += delta;
    table->address = decoding->address;
    if (!is_first && table->address <= table[-1].address)
        return bat_reader_fail(reader, BAT_ERR_ORDER, at,
                               "expected a table above 0x%" PRIx64 ", found one at 0x%" PRIx64,
                               table[-1].address, table->address);
    reader->table = &table->address;
    return BAT_OK;
}

static enum bat_code decode_prefix(struct bat_reader *reader, struct bat_table *table,
                                   struct prefix *prefix)
{
    const uint8_t *at = reader->cursor;
    enum bat_code code =
        bat_reader_uleb32(reader, "length of the equal prefix", &table->equal_count);
    if (code != BAT_OK)
        return code;
    if (table->equal_count > table->entry_count)
        return bat_reader_fail(reader, BAT_ERR_PREFIX, at,
                               "expected an equal prefix of at most %" PRIu32
                               " entries (all of the table), found %" PRIu32,
                               table->entry_count, table->equal_count);
    size_t size = ((size_t)table->equal_count + 7) / 8;
    prefix->count = table->equal_count;
    code = bat_reader_bytes(reader, "branch bits of the equal prefix", size, &prefix->branch_bits);
    if (code != BAT_OK || table->equal_count % 8 == 0)
        return code;
    const uint8_t *last = prefix->branch_bits + size - 1;
    if (*last >> (table->equal_count % 8) != 0)
        return bat_reader_fail(reader, BAT_ERR_PREFIX, last,
                               "expected no branch bits beyond the equal prefix's %" PRIu32
                               " entries, found 0x%02x in their last byte",
                               table->equal_count, *last);
    return BAT_OK;
}

/* The input side of entry i, which adds to that of the entry before. */
static enum bat_code decode_input(struct bat_reader *reader, const struct prefix *prefix,
                                  uint32_t i, uint64_t output, uint64_t *input)
{
    if (i < prefix->count) {
        *input = output << 1 | ((unsigned)prefix->branch_bits[i / 8] >> (i % 8) & 1u);
        return BAT_OK;
    }
    int64_t step = 0;
    enum bat_code code = bat_reader_sleb(reader, "input offset's delta", &step);
    *input += (uint64_t)step;
    return code;
}

static enum bat_code decode_entries(struct bat_decoding *decoding, struct bat_table *table,
                                    const struct prefix *prefix)
{
    struct bat_reader *reader = &decoding->reader;
    uint64_t output = 0;
    uint64_t input = 0;
    for (uint32_t i = 0; i < table->entry_count; i++) {
        const uint8_t *at = reader->cursor;
        uint64_t delta = 0;
        enum bat_code code = bat_reader_uleb(reader, "output offset's delta", &delta);
        if (code == BAT_OK && delta > UINT32_MAX - output)
            code =
                bat_reader_fail(reader, BAT_ERR_RANGE, at,
                                "expected the output offset of entry %" PRIu32 " between 0x%" PRIx64
                                " and 32 bits, found 0x%" PRIx64 " beyond it",
                                i, output, delta);
        if (code == BAT_OK && delta == 0 && i != 0)
            code = bat_reader_fail(reader, BAT_ERR_ORDER, at,
                                   "expected the output offset of entry %" PRIu32
                                   " above 0x%" PRIx64 ", found the same",
                                   i, output);
        output += delta;
        if (code == BAT_OK)
            code = decode_input(reader, prefix, i, output, &input);
        if (code == BAT_OK && input > UINT32_MAX)
            code = bat_reader_fail(reader, BAT_ERR_RANGE, at,
                                   "expected the input offset of entry %" PRIu32
                                   " to fit 31 bits, found 0x%" PRIx64,
                                   i, input >> 1);
        if (code != BAT_OK)
            return code;
        bat_legacy_append(decoding->map, table, (uint32_t)output, (uint32_t)input);
    }
    decoding->address = table->address + output;
    return BAT_OK;
}

/* The fewest bytes that an entry can take: in an equal prefix it has no input side. */
static size_t entry_min(const struct bat_map *map)
{
    return map->has_prefixes ? 1 : 2;
}

/* The number of entries, the prefix, and the entries: what follows a table's header. */
static enum bat_code decode_table_body(struct bat_decoding *decoding, struct bat_table *table,
                                       bool has_prefix)
{
    struct prefix prefix = {0};
    enum bat_code code = bat_reader_count(&decoding->reader, "number of entries",
                                          entry_min(decoding->map), &table->entry_count);
    table->first_entry = decoding->map->entry_count;
    table->first_block = decoding->map->block_count;
    if (code == BAT_OK && has_prefix)
        code = decode_prefix(&decoding->reader, table, &prefix);
    if (code == BAT_OK)
        code = decode_entries(decoding, table, &prefix);
    decoding->reader.table = NULL;
    return code;
}

static enum bat_code fail_memory(const struct bat_decoding *decoding, uint32_t tables)
{
    return bat_fail_memory(decoding->reader.error, "for %" PRIu32 " tables", tables);
}

static enum bat_code decode_hot_tables(struct bat_decoding *decoding)
{
    struct bat_map *map = decoding->map;
    enum bat_code code =
        bat_reader_count(&decoding->reader, "number of hot functions", TABLE_MIN, &map->hot_count);
    if (code != BAT_OK)
        return code;
    map->tables = bat_array_new(map->hot_count, sizeof(*map->tables));
    if (!map->tables)
        return fail_memory(decoding, map->hot_count);
    for (uint32_t i = 0; code == BAT_OK && i < map->hot_count; i++) {
        struct bat_table *table = &map->tables[i];
        *table = (struct bat_table){.parent = i};
        code = decode_address(decoding, table, i == 0);
        if (code == BAT_OK)
            code = decode_table_body(decoding, table, map->has_prefixes);
    }
    return code;
}

static enum bat_code allocate_cold_tables(struct bat_decoding *decoding)
{
    struct bat_map *map = decoding->map;
    struct bat_table *grown =
        bat_array_grow(map->tables, bat_map_tables(map), sizeof(*map->tables));
    if (!grown)
        return fail_memory(decoding, bat_map_tables(map));
    map->tables = grown;
    decoding->hot_indices = bat_array_new(map->cold_count, sizeof(*decoding->hot_indices));
    return decoding->hot_indices ? BAT_OK : fail_memory(decoding, map->cold_count);
}

static enum bat_code decode_cold_tables(struct bat_decoding *decoding)
{
    struct bat_map *map = decoding->map;
    enum bat_code code = bat_reader_count(&decoding->reader, "number of cold fragments", TABLE_MIN,
                                          &map->cold_count);
    if (code == BAT_OK)
        code = allocate_cold_tables(decoding);
    uint64_t hot_index = 0;
    for (uint32_t i = 0; code == BAT_OK && i < map->cold_count; i++) {
        struct bat_table *table = &map->tables[map->hot_count + i];
        *table = (struct bat_table){.parent = BAT_NONE};
        code = decode_address(decoding, table, i == 0);
        if (code == BAT_OK)
            code = bat_decode_hot_index(decoding, i, &hot_index);
        if (code == BAT_OK)
            code = decode_table_body(decoding, table, false);
    }
    return code;
}

/* True if each fragment's index is its own number: BOLT 18's defect. */
static bool count_fragments(const struct bat_decoding *decoding)
{
    for (uint32_t i = 0; i < decoding->map->cold_count; i++)
        if (decoding->hot_indices[i].index != i)
            return false;
    return true;
}

/*
 * BAT.md 9.2: where indices count the fragments themselves, the note does not know the parents.
 * They are taken as BOLT 18's reader takes them until somebody knows better.
 */
static enum bat_code set_parents(struct bat_decoding *decoding)
{
    struct bat_map *map = decoding->map;
    bool is_defect = map->cold_count != 0 && map->hot_count != 0 && count_fragments(decoding);
    map->hot_index = is_defect ? BAT_HOT_INDEX_FRAGMENT : BAT_HOT_INDEX_TABLE;
    map->hot_index_ambiguous = is_defect;
    for (uint32_t i = 0; i < map->cold_count; i++) {
        const struct bat_raw_hot_index *raw = &decoding->hot_indices[i];
        struct bat_table *table = &map->tables[map->hot_count + i];
        table->parent = raw->index;
        if (raw->index < map->hot_count)
            continue;
        if (!is_defect)
            return bat_fail_at(
                decoding->reader.error, BAT_ERR_HOT_INDEX, BAT_PLACE_SECTION, raw->offset,
                "table at 0x%" PRIx64 ": expected the index of a hot function, found %" PRIu32
                " of %" PRIu32 " hot functions",
                table->address, raw->index, map->hot_count);
        table->parent = map->hot_count - 1;
    }
    return BAT_OK;
}

enum bat_code bat_decode_version_2(struct bat_decoding *decoding, bool with_prefixes)
{
    struct bat_map *map = decoding->map;
    map->version = BAT_VERSION_2;
    map->has_prefixes = with_prefixes;
    enum bat_code code =
        bat_legacy_allocate(decoding, bat_reader_left(&decoding->reader) / entry_min(map));
    if (code == BAT_OK)
        code = decode_hot_tables(decoding);
    if (code == BAT_OK)
        code = decode_cold_tables(decoding);
    if (code == BAT_OK)
        code = bat_legacy_finish(decoding);
    if (code == BAT_OK)
        code = set_parents(decoding);
    return code;
}
