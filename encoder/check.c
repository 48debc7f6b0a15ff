/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Checks a map before it is encoded, so that encoding a map from any caller is safe. */

#include "encoding.h"

/* True if [first, first + count) lies in an array of total elements. */
static bool in_array(uint32_t first, uint32_t count, uint32_t total)
{
    return first <= total && count <= total - first;
}

static enum bat_code check_ranges(const struct bat_map *map, const struct bat_table *table,
                                  struct bat_error *error)
{
    const char *what = NULL;
    if (!in_array(table->first_entry, table->entry_count, map->entry_count))
        what = "entries";
    else if (!in_array(table->first_block, table->block_count, map->block_count))
        what = "blocks";
    else if (!in_array(table->first_secondary, table->secondary_count, map->secondary_count))
        what = "secondary entry points";
    if (!what)
        return BAT_OK;
    return bat_fail(
        error, BAT_ERR_RANGE,
        "table at 0x%lx: expected its %s inside the map's array, found them beyond its end",
        table->address, what);
}

/* A fragment has a hot parent, and no fields that only hot functions have. */
static enum bat_code check_fragment(const struct bat_map *map, const struct bat_table *fragment,
                                    struct bat_error *error)
{
    if (fragment->parent >= map->hot_count)
        return bat_fail(error, BAT_ERR_HOT_INDEX,
                        "table at 0x%lx: expected a hot function as parent, found table %u",
                        fragment->address, fragment->parent);
    if (fragment->secondary_count != 0)
        return bat_fail(
            error, BAT_ERR_COUNT,
            "table at 0x%lx: expected no secondary entry points in a fragment, found %u",
            fragment->address, fragment->secondary_count);
    if (fragment->hash != 0 || fragment->input_block_count != 0)
        return bat_fail(error, BAT_ERR_ARGUMENT,
                        "table at 0x%lx: expected neither a function's hash nor its number of "
                        "blocks in a fragment, found 0x%lx and %u",
                        fragment->address, fragment->hash, fragment->input_block_count);
    return BAT_OK;
}

/* A hot function is its own parent and has no skew. */
static enum bat_code check_hot(const struct bat_table *function, uint32_t table,
                               struct bat_error *error)
{
    if (function->parent != table)
        return bat_fail(error, BAT_ERR_HOT_INDEX,
                        "table at 0x%lx: expected itself as parent, found table %u",
                        function->address, function->parent);
    if (function->skew != 0)
        return bat_fail(error, BAT_ERR_PREFIX,
                        "table at 0x%lx: expected a hot function to have no skew, found 0x%x",
                        function->address, function->skew);
    return BAT_OK;
}

/* Nothing that versions 1 and 2 cannot say (BAT.md 9 and 10). */
static enum bat_code check_older(const struct bat_map *map, uint32_t table, struct bat_error *error)
{
    const struct bat_table *function = &map->tables[table];
    bool can_have_prefix = map->has_prefixes && table < map->hot_count;
    const char *what = NULL;
    if (function->hash != 0 || function->input_block_count != 0)
        what = "a hash or a number of blocks";
    else if (function->secondary_count != 0)
        what = "secondary entry points";
    else if (function->skew != 0 || (function->equal_count != 0 && !can_have_prefix))
        what = "a skew or an equal prefix";
    if (!what)
        return BAT_OK;
    return bat_fail(error, BAT_ERR_VERSION,
                    "table at 0x%lx: expected nothing that version %d cannot say, found %s",
                    function->address, (int)map->version, what);
}

static enum bat_code check_table(const struct bat_map *map, uint32_t table, struct bat_error *error)
{
    const struct bat_table *function = &map->tables[table];
    bool is_first = table == 0 || table == map->hot_count;
    if (!is_first && function->address <= function[-1].address)
        return bat_fail(error, BAT_ERR_ORDER, "expected a table above 0x%lx, found one at 0x%lx",
                        function[-1].address, function->address);
    enum bat_code code = table < map->hot_count ? check_hot(function, table, error)
                                                : check_fragment(map, function, error);
    if (code != BAT_OK)
        return code;
    if (map->version != BAT_VERSION_3)
        code = check_older(map, table, error);
    if (code != BAT_OK)
        return code;
    if (function->equal_count > function->entry_count)
        return bat_fail(error, BAT_ERR_PREFIX,
                        "table at 0x%lx: expected an equal prefix of at most %u entries, found %u",
                        function->address, function->entry_count, function->equal_count);
    return check_ranges(map, function, error);
}

/* by_address holds each table once, by address: merged hot indices are positions in this list. */
static enum bat_code check_by_address(const struct bat_map *map, struct bat_error *error)
{
    for (uint32_t i = 0; i < bat_map_tables(map); i++) {
        uint32_t table = map->by_address[i];
        uint32_t before = i != 0 ? map->by_address[i - 1] : 0;
        if (table >= bat_map_tables(map) ||
            (i != 0 && map->tables[before].address > map->tables[table].address))
            return bat_fail(error, BAT_ERR_ORDER,
                            "expected by_address to hold all tables, ascending by address, found "
                            "otherwise at position %u",
                            i);
        if (i != 0 && map->tables[before].address == map->tables[table].address)
            return bat_fail(error, BAT_ERR_ORDER, "expected one table at 0x%lx, found two",
                            map->tables[table].address);
    }
    return BAT_OK;
}

/* True if hot indices of that form can be written (BAT.md 7.2, 9.2). */
static bool has_form(const struct bat_map *map)
{
    switch (map->hot_index) {
    case BAT_HOT_INDEX_TABLE:
        return true;
    case BAT_HOT_INDEX_MERGED:
        return map->version == BAT_VERSION_3;
    case BAT_HOT_INDEX_FRAGMENT:
        return map->version == BAT_VERSION_2;
    default:
        return false;
    }
}

enum bat_code bat_map_check(const struct bat_map *map, struct bat_error *error)
{
    if ((unsigned)map->version < BAT_VERSION_1 || (unsigned)map->version > BAT_VERSION_3)
        return bat_fail(error, BAT_ERR_VERSION, "expected a map of version 1, 2 or 3, found %d",
                        (int)map->version);
    if (!has_form(map))
        return bat_fail(error, BAT_ERR_ARGUMENT,
                        "expected hot indices in a form that version %d has, found %d",
                        (int)map->version, (int)map->hot_index);
    if ((uint64_t)map->hot_count + map->cold_count >= BAT_NONE)
        return bat_fail(error, BAT_ERR_RANGE, "expected fewer than %u tables, found %lu", BAT_NONE,
                        (uint64_t)map->hot_count + map->cold_count);
    for (uint32_t i = 0; i < bat_map_tables(map); i++)
        BAT_TRY(check_table(map, i, error));
    return check_by_address(map, error);
}
