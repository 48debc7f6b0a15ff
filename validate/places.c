/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "checking.h"

#include "bat_decoder.h"
#include "spec/order.h"

uint32_t bat_first_beyond(const struct bat_map *map, const struct bat_table *table, uint64_t size)
{
    const uint32_t *outputs = map->output_offsets + table->first_entry;
    return BAT_NUMBERS_UP_TO(outputs, table->entry_count, size);
}

/* True if the address is in another table of the function that table belongs to. */
static bool is_in_sibling(const struct bat_map *map, uint32_t table, uint64_t address)
{
    uint32_t other = bat_map_table_containing(map, address);
    return other != BAT_NONE && other != table &&
           bat_map_parent(map, other) == bat_map_parent(map, table);
}

/* Modulo 2^32, because offsets have 32 bits. */
bool bat_is_at_address_0(const struct bat_map *map, uint32_t table, uint32_t entry)
{
    return (uint32_t)(map->tables[table].address + map->output_offsets[entry]) == 0;
}

bool bat_is_stray(const struct bat_map *map, uint32_t table, uint32_t entry)
{
    if (bat_is_at_address_0(map, table, entry))
        return true;
    if (!(map->input_offsets[entry] & BAT_BRANCH_ENTRY))
        return false;
    /* The offset is signed: branches reach less than 2^31 bytes, so parts of a function do too. */
    int64_t distance = (int32_t)map->output_offsets[entry];
    uint64_t start = map->tables[table].address;
    uint64_t address = start + (uint64_t)distance;
    bool wraps = distance < 0 ? address > start : address < start;
    return !wraps && is_in_sibling(map, table, address);
}
