/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Finds each table's offset in the note. The decoder does not keep it, and only findings need it,
 * so the bytes are read a second time when there is a finding. The steps are those of
 * decoder/decode.c, but counts come from the map instead of the note.
 */
#include <stdlib.h>

#include "bat_decoder.h"
#include "checking.h"
#include "decoder/reader.h"

static bool skip_numbers(struct bat_reader *reader, uint32_t count)
{
    uint64_t ignored;
    for (uint32_t i = 0; i < count; i++)
        if (bat_reader_uleb(reader, "number", &ignored) != BAT_OK)
            return false;
    return true;
}

static bool skip_bytes(struct bat_reader *reader, size_t size)
{
    const uint8_t *ignored;
    return bat_reader_bytes(reader, "bytes", size, &ignored) == BAT_OK;
}

static bool skip_entries(struct bat_reader *reader, const struct bat_map *map,
                         const struct bat_table *table)
{
    const uint32_t *inputs = map->input_offsets + table->first_entry;
    if (!skip_bytes(reader, ((size_t)table->equal_count + 7) / 8))
        return false;
    for (uint32_t i = 0; i < table->entry_count; i++) {
        int64_t ignored;
        if (!skip_numbers(reader, 1))
            return false;
        if (i >= table->equal_count && bat_reader_sleb(reader, "number", &ignored) != BAT_OK)
            return false;
        bool is_block = bat_map_has_hashes(map) && !(inputs[i] & BAT_BRANCH_ENTRY);
        if (is_block && !(skip_bytes(reader, 8) && skip_numbers(reader, 1)))
            return false;
    }
    return true;
}

/* What stands before the entries of a table in version 2 (BAT.md 9). */
static bool skip_version_2_header(struct bat_reader *reader, const struct bat_map *map,
                                  uint32_t table)
{
    bool is_hot = table < map->hot_count;
    /* Address, hot index, entries, equal ones. */
    return skip_numbers(reader, is_hot ? 2 + map->has_prefixes : 3);
}

static bool skip_table(struct bat_reader *reader, const struct bat_map *map, uint32_t table)
{
    const struct bat_table *function = &map->tables[table];
    bool is_hot = table < map->hot_count;
    if (map->version == BAT_VERSION_2)
        return skip_version_2_header(reader, map, table) && skip_entries(reader, map, function);
    /* Address; hash, blocks, secondary entry points, or hot index, skew; entries, equal prefix. */
    bool header =
        skip_numbers(reader, 1) &&
        (is_hot ? skip_bytes(reader, 8) && skip_numbers(reader, 2) : skip_numbers(reader, 2)) &&
        skip_numbers(reader, 2);
    return header && skip_entries(reader, map, function) &&
           skip_numbers(reader, function->secondary_count);
}

/* Hot and cold tables; false if the map is not the one that these bytes decode to. */
static bool walk_tables(struct bat_reader *reader, const struct bat_map *map, uint64_t *offsets)
{
    uint32_t tables = bat_map_tables(map);
    bool fits = skip_numbers(reader, 1);
    for (uint32_t i = 0; fits && i < tables; i++) {
        if (i == map->hot_count)
            fits = skip_numbers(reader, 1);
        offsets[i] = (uint64_t)(reader->cursor - reader->start);
        fits = fits && skip_table(reader, map, i);
    }
    return fits;
}

/* Words of fixed size, hot and cold tables by address (BAT.md 10). */
static bool walk_version_1(const struct bat_reader *reader, const struct bat_map *map,
                           uint64_t *offsets)
{
    uint64_t offset = (uint64_t)(reader->cursor - reader->start) + 4;
    for (uint32_t i = 0; i < bat_map_tables(map); i++) {
        uint32_t table = map->by_address[i];
        offsets[table] = offset;
        offset += 12 + (uint64_t)8 * map->tables[table].entry_count;
    }
    return offset <= (uint64_t)(reader->end - reader->start);
}

static bool walk(struct bat_reader *reader, const struct bat_map *map, uint64_t *offsets)
{
    return map->version == BAT_VERSION_1 ? walk_version_1(reader, map, offsets)
                                         : walk_tables(reader, map, offsets);
}

void bat_checking_locate(struct bat_checking *checking)
{
    if (checking->is_located)
        return;
    checking->is_located = true;
    const struct bat_binary *binary = checking->binary;
    struct bat_reader reader = {.start = binary->note};
    size_t size = 0;
    if (!binary->note || bat_note_description(binary->note, binary->note_size, &reader.cursor,
                                              &size, NULL) != BAT_OK)
        return;
    reader.end = reader.cursor + size;
    uint64_t *offsets = malloc(((size_t)bat_map_tables(checking->map) + 1) * sizeof(*offsets));
    /* If out of memory, findings have no offset. */
    if (offsets && walk(&reader, checking->map, offsets))
        checking->table_offsets = offsets;
    else
        free(offsets);
}
