/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "hot_index_reading.h"

#include "bat_decoder.h"
#include "names.h"
#include "parents.h"

/* True if a symbol at the fragment is named after one at its parent. */
static bool named_after_parent(const struct bat_names *names, uint64_t fragment, uint64_t parent)
{
    size_t first = 0;
    size_t count = bat_names_at(names, fragment, &first);
    return bat_names_after_parent(names, first, count, parent);
}

/* The number of fragments that are named after their current parents. */
static uint32_t count_named_after_parent(const struct bat_map *map, const struct bat_names *names)
{
    uint32_t agreeing = 0;
    uint32_t tables = bat_map_tables(map);
    for (uint32_t i = map->hot_count; i < tables; i++) {
        const struct bat_table *fragment = &map->tables[i];
        uint64_t parent = map->tables[fragment->parent].address;
        agreeing += named_after_parent(names, fragment->address, parent);
    }
    return agreeing;
}

enum bat_code bat_binary_choose_reading(struct bat_binary *binary, struct bat_error *error)
{
    struct bat_map *map = binary->map;
    struct bat_names names;
    enum bat_code code = bat_names_collect(binary, &names, NULL);
    /* A damaged symbol table is not a fault of the note: it just cannot decide. */
    if (code == BAT_ERR_MEMORY)
        return bat_fail_memory(error, "for the symbols");
    if (code != BAT_OK || names.count == 0) {
        bat_names_free(&names);
        return BAT_OK;
    }
    if (map->hot_index == BAT_HOT_INDEX_FRAGMENT) {
        code = bat_binary_find_parents(map, &names, error);
        bat_names_free(&names);
        return code;
    }

    enum bat_hot_index first = map->hot_index;
    enum bat_hot_index second =
        first == BAT_HOT_INDEX_TABLE ? BAT_HOT_INDEX_MERGED : BAT_HOT_INDEX_TABLE;
    uint32_t for_first = count_named_after_parent(map, &names);
    code = bat_map_set_hot_index(map, second, error);
    if (code == BAT_OK) {
        uint32_t for_second = count_named_after_parent(map, &names);
        map->hot_index_ambiguous = for_first == for_second;
        if (for_second <= for_first)
            code = bat_map_set_hot_index(map, first, error);
    }
    bat_names_free(&names);
    return code;
}
