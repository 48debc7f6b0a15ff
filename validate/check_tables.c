/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Checks each table alone, and against the table that follows it in memory. */

#include "bat_decoder.h"
#include "checking.h"
#include "spec/map.h"

static void check_prefix(struct bat_checking *checking, uint32_t index)
{
    const struct bat_map *map = checking->map;
    const struct bat_table *table = &map->tables[index];
    uint32_t longest = bat_map_equal_prefix(map, table);
    if (table->equal_count < longest)
        bat_checking_find(
            checking, CHECK_PREFIX_SHORT, index, table->first_entry + longest - 1,
            "table at 0x%lx: expected an equal prefix of %u entries (that many qualify), found %u",
            table->address, longest, table->equal_count);
}

static void check_skew(struct bat_checking *checking, uint32_t index)
{
    const struct bat_map *map = checking->map;
    const struct bat_table *table = &map->tables[index];
    uint32_t expected = 0;
    if (table->entry_count != 0)
        expected = map->input_offsets[table->first_entry] >> 1;
    if (table->skew != expected)
        bat_checking_find(
            checking, CHECK_SKEW, index, table->entry_count ? table->first_entry : BAT_NONE,
            "table at 0x%lx: expected a skew of 0x%x (input offset of the first entry), found 0x%x",
            table->address, expected, table->skew);
}

/* Report entries more than size bytes above the table's start. */
static void check_overlap(struct bat_checking *checking, uint32_t index, uint64_t size)
{
    const struct bat_map *map = checking->map;
    const struct bat_table *table = &map->tables[index];
    struct bat_fault fault = bat_fault_none(CHECK_OVERLAP);
    for (uint32_t i = bat_first_beyond(map, table, size); i < table->entry_count; i++) {
        uint32_t entry = table->first_entry + i;
        if (!bat_is_stray(map, index, entry))
            bat_fault_add(&fault, index, entry,
                          "table at 0x%lx: expected entries within 0x%lx bytes (where the next "
                          "table starts), found one at 0x%x",
                          table->address, size, map->output_offsets[entry]);
    }
    bat_fault_report(checking, &fault, "entries");
}

/* Report entries beyond the start of the next table by address. */
static void check_next(struct bat_checking *checking, uint32_t rank)
{
    const struct bat_map *map = checking->map;
    uint32_t table = map->by_address[rank];
    if (rank + 1 >= bat_map_tables(map) || bat_map_is_unemitted(map, table))
        return;
    uint32_t next = map->by_address[rank + 1];
    check_overlap(checking, table, map->tables[next].address - map->tables[table].address);
}

/* Report tables and entries of code that BOLT did not emit. */
static void check_emitted(struct bat_checking *checking, uint32_t index)
{
    const struct bat_map *map = checking->map;
    const struct bat_table *table = &map->tables[index];
    if (bat_map_is_unemitted(map, index)) {
        bat_checking_find(
            checking, CHECK_NOT_EMITTED, index, BAT_NONE,
            "table at 0x%lx: expected a function of the binary, found one that BOLT did not emit; "
            "no address is in it, and \"batinject --repair\" drops its table",
            table->address);
        return;
    }
    struct bat_fault fault = bat_fault_none(CHECK_NOT_EMITTED);
    for (uint32_t i = bat_first_beyond(map, table, INT32_MAX); i < table->entry_count; i++)
        if (bat_is_at_address_0(map, index, table->first_entry + i))
            bat_fault_add(&fault, index, table->first_entry + i,
                          "table at 0x%lx: expected entries of code that BOLT emitted, found one "
                          "at address 0 (output offset 0x%x)",
                          table->address, map->output_offsets[table->first_entry + i]);
    bat_fault_report(checking, &fault, "entries");
}

static void check_alone(struct bat_checking *checking, uint32_t table)
{
    const struct bat_map *map = checking->map;
    bool is_hot = table < map->hot_count;
    bool is_version_3 = map->version == BAT_VERSION_3;
    check_emitted(checking, table);
    if (is_version_3 || (is_hot && map->has_prefixes))
        check_prefix(checking, table);
    if (is_version_3 && !is_hot)
        check_skew(checking, table);
}

enum bat_code bat_check_tables(struct bat_checking *checking)
{
    uint32_t tables = bat_map_tables(checking->map);
    for (uint32_t i = 0; i < tables; i++)
        check_alone(checking, i);
    for (uint32_t rank = 0; rank < tables; rank++)
        check_next(checking, rank);
    return BAT_OK;
}
