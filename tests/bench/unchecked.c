/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "unchecked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/array.h"

static void *allocate(size_t count, size_t size)
{
    void *array = bat_array_new(count, size);
    if (!array) {
        fputs("bat_bench: out of memory\n", stderr);
        exit(1);
    }
    return array;
}

struct bat_map *unchecked_allocate(const struct bat_map *like)
{
    struct bat_map *map = allocate(1, sizeof(*map));
    *map = (struct bat_map){
        .tables = allocate(bat_map_tables(like), sizeof(*map->tables)),
        .output_offsets = allocate(like->entry_count, sizeof(*map->output_offsets)),
        .input_offsets = allocate(like->entry_count, sizeof(*map->input_offsets)),
        .block_hashes = allocate(like->block_count, sizeof(*map->block_hashes)),
        .block_indices = allocate(like->block_count, sizeof(*map->block_indices)),
        .secondary_entries = allocate(like->secondary_count, sizeof(*map->secondary_entries)),
    };
    return map;
}

static inline uint64_t read_uleb(const uint8_t **cursor)
{
    const uint8_t *at = *cursor;
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = *at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    *cursor = at;
    return value;
}

static inline int64_t read_sleb(const uint8_t **cursor)
{
    const uint8_t *at = *cursor;
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = *at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if ((byte & 0x40) && shift < 64)
        value |= UINT64_MAX << shift;
    *cursor = at;
    return (int64_t)value;
}

static inline uint64_t read_u64(const uint8_t **cursor)
{
    uint64_t value;
    memcpy(&value, *cursor, sizeof(value));
    *cursor += sizeof(value);
    return value;
}

/* The entries of one table; returns the last output offset. */
static inline uint64_t read_entries(const uint8_t **cursor, struct bat_map *map,
                                    const struct bat_table *table)
{
    const uint8_t *at = *cursor;
    const uint8_t *bits = at;
    at += (table->equal_count + 7) / 8;
    uint32_t *outputs = map->output_offsets + table->first_entry;
    uint32_t *inputs = map->input_offsets + table->first_entry;
    uint32_t block = table->first_block;
    uint64_t output = 0;
    uint64_t input = 0;
    uint64_t index = 0;
    for (uint32_t i = 0; i < table->entry_count; i++) {
        output += read_uleb(&at);
        if (i < table->equal_count)
            input = (output + table->skew) << 1 | ((bits[i / 8] >> (i % 8)) & 1);
        else
            input += (uint64_t)read_sleb(&at);
        outputs[i] = (uint32_t)output;
        inputs[i] = (uint32_t)input;
        if (input & BAT_BRANCH_ENTRY)
            continue;
        map->block_hashes[block] = read_u64(&at);
        index += read_uleb(&at);
        map->block_indices[block] = (uint32_t)index;
        block++;
    }
    map->entry_count += table->entry_count;
    map->block_count = block;
    *cursor = at;
    return output;
}

/* Read a table from its number of entries on; the fields before it are read already. */
static uint64_t read_body(const uint8_t **cursor, struct bat_map *map, struct bat_table *table)
{
    table->entry_count = (uint32_t)read_uleb(cursor);
    table->equal_count = (uint32_t)read_uleb(cursor);
    table->first_entry = map->entry_count;
    table->first_block = map->block_count;
    uint64_t last = read_entries(cursor, map, table);
    table->block_count = map->block_count - table->first_block;
    return table->address + last;
}

static void read_secondary(const uint8_t **cursor, struct bat_map *map, struct bat_table *table)
{
    uint32_t offset = 0;
    table->first_secondary = map->secondary_count;
    for (uint32_t i = 0; i < table->secondary_count; i++) {
        offset += (uint32_t)read_uleb(cursor);
        map->secondary_entries[map->secondary_count++] = offset;
    }
}

void unchecked_decode(const uint8_t *section, struct bat_map *map)
{
    const uint8_t *at = section + BAT_NOTE_HEADER_SIZE;
    uint64_t address = 0;
    map->entry_count = 0;
    map->block_count = 0;
    map->secondary_count = 0;
    map->hot_count = (uint32_t)read_uleb(&at);
    for (uint32_t i = 0; i < map->hot_count; i++) {
        struct bat_table *table = &map->tables[i];
        *table = (struct bat_table){.address = address + read_uleb(&at), .parent = i};
        table->hash = read_u64(&at);
        table->input_block_count = (uint32_t)read_uleb(&at);
        table->secondary_count = (uint32_t)read_uleb(&at);
        address = read_body(&at, map, table);
        read_secondary(&at, map, table);
    }
    map->cold_count = (uint32_t)read_uleb(&at);
    uint64_t hot_index = 0;
    for (uint32_t i = 0; i < map->cold_count; i++) {
        struct bat_table *table = &map->tables[map->hot_count + i];
        *table = (struct bat_table){.address = address + read_uleb(&at)};
        hot_index += read_uleb(&at);
        table->parent = (uint32_t)hot_index;
        table->skew = (uint32_t)read_uleb(&at);
        address = read_body(&at, map, table);
    }
}
