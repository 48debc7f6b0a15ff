/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What only version 2 has (BAT.md 9): the rest is in decoder/decode.c. */

#include "legacy.h"

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
enum bat_code bat_decode_parents_2(struct bat_decoding *decoding)
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
            return bat_fail_at(decoding->reader.error, BAT_ERR_HOT_INDEX, BAT_PLACE_SECTION,
                               raw->offset,
                               "table at 0x%lx: expected the index of a hot function, found %u of "
                               "%u hot functions",
                               table->address, raw->index, map->hot_count);
        table->parent = map->hot_count - 1;
    }
    return BAT_OK;
}
