/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Version 1: little-endian words (BAT.md 10). */
#include "encoder/writer.h"
#include "legacy.h"

/* Bit of an input offset that says that the entry is a branch. */
#define BRANCH_BIT 0x80000000u

static enum bat_code encode_table(struct bat_encoding *encoding, const struct bat_table *table)
{
    const struct bat_map *map = encoding->map;
    BAT_TRY(bat_legacy_check_entries(encoding, table));
    bat_encoding_report(encoding, table);
    uint8_t *at = bat_write_u64(encoding->at, table->address);
    at = bat_write_u32(at, table->entry_count);
    for (uint32_t i = 0; i < table->entry_count; i++) {
        uint32_t input = map->input_offsets[table->first_entry + i];
        at = bat_write_u32(at, map->output_offsets[table->first_entry + i]);
        at = bat_write_u32(at, input >> 1 | (input & BAT_BRANCH_ENTRY ? BRANCH_BIT : 0));
    }
    encoding->at = at;
    return BAT_OK;
}

static void encode_parents(struct bat_encoding *encoding)
{
    const struct bat_map *map = encoding->map;
    uint8_t *at = bat_write_u32(encoding->at, map->cold_count);
    for (uint32_t i = map->hot_count; i < bat_map_tables(map); i++) {
        const struct bat_table *fragment = &map->tables[i];
        at = bat_write_u64(at, fragment->address);
        at = bat_write_u64(at, map->tables[fragment->parent].address);
    }
    encoding->at = at;
}

enum bat_code bat_encode_version_1(struct bat_encoding *encoding)
{
    const struct bat_map *map = encoding->map;
    encoding->at = bat_write_u32(encoding->at, bat_map_tables(map));
    for (uint32_t i = 0; i < bat_map_tables(map); i++)
        BAT_TRY(encode_table(encoding, &map->tables[map->by_address[i]]));
    encode_parents(encoding);
    return BAT_OK;
}
