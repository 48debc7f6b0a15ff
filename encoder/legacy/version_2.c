/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Version 2: version 3 without hashes and indices (BAT.md 9). */
#include <inttypes.h>

#include "encoder/writer.h"
#include "legacy.h"

static void encode_address(struct bat_encoding *encoding, const struct bat_table *table)
{
    encoding->at = bat_write_uleb(encoding->at, table->address - encoding->address);
    encoding->address = table->address;
}

/* BAT.md 9.2 */
static void encode_hot_index(struct bat_encoding *encoding, uint32_t fragment, uint64_t *hot_index)
{
    const struct bat_map *map = encoding->map;
    uint64_t index = map->hot_index == BAT_HOT_INDEX_FRAGMENT
                         ? fragment
                         : map->tables[map->hot_count + fragment].parent;
    encoding->at = bat_write_uleb(encoding->at, index - *hot_index);
    *hot_index = index;
}

static enum bat_code encode_prefix(struct bat_encoding *encoding, const struct bat_table *table)
{
    const struct bat_map *map = encoding->map;
    uint8_t *at = bat_write_uleb(encoding->at, table->equal_count);
    unsigned bits = 0;
    for (uint32_t i = 0; i < table->equal_count; i++) {
        uint32_t input = map->input_offsets[table->first_entry + i];
        if (map->output_offsets[table->first_entry + i] != input >> 1)
            return bat_fail(encoding->error, BAT_ERR_PREFIX,
                            "table at 0x%" PRIx64
                            ": expected equal offsets all through the equal prefix, found "
                            "otherwise at entry %" PRIu32,
                            table->address, i);
        bits |= (input & BAT_BRANCH_ENTRY) << (i % 8);
        if (i % 8 == 7 || i + 1 == table->equal_count) {
            *at++ = (uint8_t)bits;
            bits = 0;
        }
    }
    encoding->at = at;
    return BAT_OK;
}

static void encode_entries(struct bat_encoding *encoding, const struct bat_table *table)
{
    const struct bat_map *map = encoding->map;
    uint8_t *at = encoding->at;
    uint32_t output = 0;
    uint32_t input = 0;
    for (uint32_t i = 0; i < table->entry_count; i++) {
        uint32_t next_output = map->output_offsets[table->first_entry + i];
        uint32_t next_input = map->input_offsets[table->first_entry + i];
        at = bat_write_uleb(at, next_output - output);
        if (i >= table->equal_count)
            at = bat_write_sleb(at, (int64_t)next_input - (int64_t)input);
        output = next_output;
        input = next_input;
    }
    encoding->at = at;
    encoding->address = table->address + output;
}

static enum bat_code encode_table_body(struct bat_encoding *encoding, const struct bat_table *table,
                                       bool has_prefix)
{
    enum bat_code code = bat_legacy_check_entries(encoding, table);
    encoding->at = bat_write_uleb(encoding->at, table->entry_count);
    if (code == BAT_OK && has_prefix)
        code = encode_prefix(encoding, table);
    if (code == BAT_OK)
        encode_entries(encoding, table);
    return code;
}

enum bat_code bat_encode_version_2(struct bat_encoding *encoding)
{
    const struct bat_map *map = encoding->map;
    enum bat_code code = BAT_OK;
    encoding->at = bat_write_uleb(encoding->at, map->hot_count);
    for (uint32_t i = 0; code == BAT_OK && i < map->hot_count; i++) {
        encode_address(encoding, &map->tables[i]);
        code = encode_table_body(encoding, &map->tables[i], map->has_prefixes);
    }
    encoding->at = bat_write_uleb(encoding->at, map->cold_count);
    uint64_t hot_index = 0;
    for (uint32_t i = 0; code == BAT_OK && i < map->cold_count; i++) {
        const struct bat_table *table = &map->tables[map->hot_count + i];
        encode_address(encoding, table);
        encode_hot_index(encoding, i, &hot_index);
        code = encode_table_body(encoding, table, false);
    }
    return code;
}
