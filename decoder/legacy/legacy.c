/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the readers of versions 1 and 2 share. */
#include "legacy.h"

#include "spec/array.h"
#include "spec/map.h"

enum bat_code bat_legacy_allocate(struct bat_decoding *decoding, size_t entries)
{
    struct bat_map *map = decoding->map;
    map->output_offsets = bat_array_new(entries, sizeof(*map->output_offsets));
    map->input_offsets = bat_array_new(entries, sizeof(*map->input_offsets));
    map->secondary_entries = bat_array_new(0, sizeof(*map->secondary_entries));
    if (!map->output_offsets || !map->input_offsets || !map->secondary_entries)
        return bat_fail_memory(decoding->reader.error, "to decode the note");
    return BAT_OK;
}

void bat_legacy_append(struct bat_map *map, struct bat_table *table, uint32_t output,
                       uint32_t input)
{
    bool is_block = !(input & BAT_BRANCH_ENTRY);
    map->output_offsets[map->entry_count] = output;
    map->input_offsets[map->entry_count] = input;
    map->entry_count++;
    map->block_count += is_block;
    table->block_count += is_block;
}

enum bat_code bat_legacy_finish(struct bat_decoding *decoding)
{
    const struct bat_reader *reader = &decoding->reader;
    struct bat_map *map = decoding->map;
    if (bat_reader_left(reader) != 0)
        return bat_reader_fail(reader, BAT_ERR_TRAILING, reader->cursor,
                               "expected the description to end with the last table, found %zu "
                               "more bytes",
                               bat_reader_left(reader));
    map->output_offsets =
        bat_array_shrink(map->output_offsets, map->entry_count, sizeof(*map->output_offsets));
    map->input_offsets =
        bat_array_shrink(map->input_offsets, map->entry_count, sizeof(*map->input_offsets));
    return BAT_OK;
}
