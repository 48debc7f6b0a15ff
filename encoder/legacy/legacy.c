/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the writers of versions 1 and 2 share. */
#include "legacy.h"

enum bat_code bat_legacy_check_entries(const struct bat_encoding *encoding,
                                       const struct bat_table *table)
{
    const struct bat_map *map = encoding->map;
    uint32_t before = 0;
    uint32_t blocks = 0;
    for (uint32_t i = 0; i < table->entry_count; i++) {
        uint32_t output = map->output_offsets[table->first_entry + i];
        if (i != 0 && output <= before)
            return bat_fail(
                encoding->error, BAT_ERR_ORDER,
                "table at 0x%lx: expected output offsets that ascend, found otherwise at entry %u",
                table->address, i);
        before = output;
        blocks += !(map->input_offsets[table->first_entry + i] & BAT_BRANCH_ENTRY);
    }
    if (blocks != table->block_count)
        return bat_fail(encoding->error, BAT_ERR_COUNT,
                        "table at 0x%lx: expected %u block entries, found %u", table->address,
                        table->block_count, blocks);
    return BAT_OK;
}
