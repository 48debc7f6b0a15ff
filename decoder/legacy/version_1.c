/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Version 1: little-endian words (BAT.md 10). */

#include "legacy.h"
#include "spec/array.h"
#include "spec/little_endian.h"
#include "spec/order.h"

/* Bytes of a table without entries, of an entry, and of a cold fragment in the list of parents. */
#define TABLE_SIZE 12u
#define ENTRY_SIZE 8u
#define PARENT_SIZE 16u

/* Bit of an input offset that says that the entry is a branch. */
#define BRANCH_BIT 0x80000000u

/* A note's tables as they come, hot and cold together, and the parents of the cold ones. */
struct tables {
    struct bat_table *all;
    uint64_t *parents; /* address; of hot functions their own */
    uint32_t count;
    uint32_t cold_count;
};

static enum bat_code read_u32(struct bat_reader *reader, const char *what, uint32_t *value)
{
    const uint8_t *bytes = NULL;
    enum bat_code code = bat_reader_bytes(reader, what, 4, &bytes);
    if (bytes)
        *value = bat_load32(bytes);
    return code;
}

/* A count of things of unit_size bytes each. */
static enum bat_code read_count(struct bat_reader *reader, const char *what, size_t unit_size,
                                uint32_t *value)
{
    const uint8_t *at = reader->cursor;
    enum bat_code code = read_u32(reader, what, value);
    if (code != BAT_OK || *value <= bat_reader_left(reader) / unit_size)
        return code;
    return bat_reader_fail(reader, BAT_ERR_COUNT, at,
                           "expected a %s of at most %zu (what the bytes left can hold), found %u",
                           what, bat_reader_left(reader) / unit_size, *value);
}

/* Append an entry to the last table, whose first_entry is set. There must be room. */
static void append(struct bat_map *map, struct bat_table *table, uint32_t output, uint32_t input)
{
    bool is_block = !(input & BAT_BRANCH_ENTRY);
    map->output_offsets[map->entry_count] = output;
    map->input_offsets[map->entry_count] = input;
    map->entry_count++;
    map->block_count += is_block;
    table->block_count += is_block;
}

static enum bat_code decode_entries(struct bat_decoding *decoding, struct bat_table *table)
{
    struct bat_reader *reader = &decoding->reader;
    uint32_t before = 0;
    table->first_entry = decoding->map->entry_count;
    table->first_block = decoding->map->block_count;
    for (uint32_t i = 0; i < table->entry_count; i++) {
        const uint8_t *bytes = NULL;
        BAT_TRY(bat_reader_bytes(reader, "entry", ENTRY_SIZE, &bytes));
        uint32_t output = bat_load32(bytes);
        uint32_t input = bat_load32(bytes + 4);
        if (i != 0 && output <= before)
            return bat_reader_fail(reader, BAT_ERR_ORDER, bytes,
                                   "expected the output offset of entry %u above 0x%x, found 0x%x",
                                   i, before, output);
        before = output;
        append(decoding->map, table, output, input << 1 | (input & BRANCH_BIT) >> 31);
    }
    return BAT_OK;
}

static enum bat_code decode_table(struct bat_decoding *decoding, struct tables *tables, uint32_t i)
{
    struct bat_reader *reader = &decoding->reader;
    struct bat_table *table = &tables->all[i];
    const uint8_t *at = reader->cursor;
    *table = (struct bat_table){0};
    BAT_TRY(bat_reader_u64(reader, "table's address", &table->address));
    if (i != 0 && table->address <= table[-1].address)
        return bat_reader_fail(reader, BAT_ERR_ORDER, at,
                               "expected a table above 0x%lx, found one at 0x%lx",
                               table[-1].address, table->address);
    tables->parents[i] = table->address;
    reader->table = &table->address;
    enum bat_code code = read_count(reader, "number of entries", ENTRY_SIZE, &table->entry_count);
    code = code ? code : decode_entries(decoding, table);
    reader->table = NULL;
    return code;
}

/* The table at this address, or BAT_NONE. */
static uint32_t find_table(const struct tables *tables, uint64_t address)
{
    uint32_t found = BAT_COUNT_BELOW(tables->all, tables->count, address, address);
    return found < tables->count && tables->all[found].address == address ? found : BAT_NONE;
}

/* One pair of the list of parents; the fragments ascend, the last one was at *before. */
static enum bat_code decode_parent(struct bat_reader *reader, struct tables *tables, bool is_first,
                                   uint64_t *before)
{
    const uint8_t *at = reader->cursor;
    uint64_t fragment = 0;
    uint64_t parent = 0;
    BAT_TRY(bat_reader_u64(reader, "fragment's address", &fragment));
    BAT_TRY(bat_reader_u64(reader, "parent's address", &parent));
    if (!is_first && fragment <= *before)
        return bat_reader_fail(reader, BAT_ERR_ORDER, at,
                               "expected a fragment above 0x%lx, found 0x%lx", *before, fragment);
    uint32_t table = find_table(tables, fragment);
    if (table == BAT_NONE || parent == fragment)
        return bat_reader_fail(reader, BAT_ERR_HOT_INDEX, at,
                               "expected a fragment's table at 0x%lx, found %s", fragment,
                               table == BAT_NONE ? "none" : "it named as its own parent");
    tables->parents[table] = parent;
    *before = fragment;
    return BAT_OK;
}

static enum bat_code decode_parents(struct bat_reader *reader, struct tables *tables)
{
    enum bat_code code =
        read_count(reader, "number of cold fragments", PARENT_SIZE, &tables->cold_count);
    uint64_t before = 0;
    for (uint32_t i = 0; code == BAT_OK && i < tables->cold_count; i++)
        code = decode_parent(reader, tables, i == 0, &before);
    return code;
}

static bool is_hot(const struct tables *tables, uint32_t i)
{
    return tables->parents[i] == tables->all[i].address;
}

/* The hot function at this address, or BAT_NONE. */
static uint32_t find_hot(const struct bat_map *map, uint64_t address)
{
    struct tables hot = {.all = map->tables, .count = map->hot_count};
    return find_table(&hot, address);
}

static enum bat_code set_parents(struct bat_decoding *decoding, const struct tables *tables)
{
    struct bat_map *map = decoding->map;
    uint32_t hot = 0;
    uint32_t cold = map->hot_count;
    for (uint32_t i = 0; i < tables->count; i++) {
        if (is_hot(tables, i)) {
            map->tables[hot].parent = hot;
            hot++;
            continue;
        }
        uint32_t parent = find_hot(map, tables->parents[i]);
        if (parent == BAT_NONE)
            return bat_fail_at(
                decoding->reader.error, BAT_ERR_HOT_INDEX, BAT_PLACE_SECTION, BAT_NO_OFFSET,
                "table at 0x%lx: expected the address of a hot function as parent, found 0x%lx",
                tables->all[i].address, tables->parents[i]);
        map->tables[cold++].parent = parent;
    }
    return BAT_OK;
}

static enum bat_code decode_tables(struct bat_decoding *decoding, struct tables *tables)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; code == BAT_OK && i < tables->count; i++)
        code = decode_table(decoding, tables, i);
    BAT_TRY(code);
    BAT_TRY(decode_parents(&decoding->reader, tables));
    BAT_TRY(bat_decode_finish(decoding));
    struct bat_map *map = decoding->map;
    map->cold_count = tables->cold_count;
    map->hot_count = tables->count - tables->cold_count;
    /* Hot functions first, then fragments, as a map has them; both keep their order. */
    uint32_t hot = 0;
    uint32_t cold = map->hot_count;
    for (uint32_t i = 0; i < tables->count; i++)
        map->tables[is_hot(tables, i) ? hot++ : cold++] = tables->all[i];
    return set_parents(decoding, tables);
}

/* Room in the map's arrays for so many entries; blocks have neither hash nor index. */
static enum bat_code allocate(struct bat_decoding *decoding, size_t entries)
{
    struct bat_map *map = decoding->map;
    map->output_offsets = bat_array_new(entries, sizeof(*map->output_offsets));
    map->input_offsets = bat_array_new(entries, sizeof(*map->input_offsets));
    map->secondary_entries = bat_array_new(0, sizeof(*map->secondary_entries));
    if (!map->output_offsets || !map->input_offsets || !map->secondary_entries)
        return bat_fail_memory(decoding->reader.error, "to decode the note");
    return BAT_OK;
}

enum bat_code bat_decode_version_1(struct bat_decoding *decoding)
{
    struct bat_reader *reader = &decoding->reader;
    struct bat_map *map = decoding->map;
    struct tables tables = {0};
    map->version = BAT_VERSION_1;
    map->hot_index = BAT_HOT_INDEX_TABLE;
    enum bat_code code = read_count(reader, "number of tables", TABLE_SIZE, &tables.count);
    BAT_TRY(code);
    BAT_TRY(allocate(decoding, bat_reader_left(reader) / ENTRY_SIZE));
    tables.all = bat_array_new(tables.count, sizeof(*tables.all));
    tables.parents = bat_array_new(tables.count, sizeof(*tables.parents));
    map->tables = bat_array_new(tables.count, sizeof(*map->tables));
    if (tables.all && tables.parents && map->tables)
        code = decode_tables(decoding, &tables);
    else
        code = bat_fail_memory(reader->error, "for %u tables", tables.count);
    BAT_FREE_ALL(tables.all, tables.parents);
    return code;
}
