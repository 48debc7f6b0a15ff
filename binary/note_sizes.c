/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Measures a note by kind of field: the steps of the encoder (BAT.md 2 to 7), which add up each
 * field's size where the encoder would write the field.
 */
#include "bat_binary.h"
#include "spec/map.h"

static uint64_t uleb128_size(uint64_t value)
{
    unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1);
    return (bits + 6) / 7;
}

static uint64_t sleb128_size(int64_t value)
{
    /* One more bit than the value needs, for the sign. */
    uint64_t magnitude = (uint64_t)value ^ (uint64_t)(value >> 63);
    unsigned bits = 65 - (unsigned)__builtin_clzll(magnitude | 1);
    return (bits + 6) / 7;
}

/* A map being measured. */
struct measuring {
    const struct bat_map *map;
    uint64_t *bytes;    /* of struct bat_shares */
    uint64_t address;   /* the running output address */
    uint32_t hot_index; /* the previous fragment's, as the note has it */
};

/* Index deltas of a table's blocks. */
static uint64_t measure_indices(const struct bat_map *map, const struct bat_table *table)
{
    uint64_t bytes = 0;
    uint64_t index = 0;
    for (uint32_t i = 0; i < table->block_count; i++) {
        uint64_t next = map->block_indices[table->first_block + i];
        bytes += uleb128_size(next - index);
        index = next;
    }
    return bytes;
}

static void measure_entries(struct measuring *now, const struct bat_table *table)
{
    const struct bat_map *map = now->map;
    uint64_t output_bytes = 0;
    uint64_t input_bytes = 0;
    uint64_t input = 0;
    for (uint32_t i = 0; i < table->entry_count; i++) {
        uint32_t entry = table->first_entry + i;
        uint64_t address = table->address + map->output_offsets[entry];
        output_bytes += uleb128_size(address - now->address);
        now->address = address;
        uint64_t new_input = map->input_offsets[entry];
        if (i >= table->equal_count)
            input_bytes += sleb128_size((int64_t)(new_input - input));
        input = new_input;
    }
    now->bytes[BAT_SHARE_OUTPUT_OFFSETS] += output_bytes;
    now->bytes[BAT_SHARE_INPUT_OFFSETS] += input_bytes;
    if (!bat_map_has_hashes(map))
        return;
    now->bytes[BAT_SHARE_BLOCK_HASHES] += (uint64_t)8 * table->block_count;
    now->bytes[BAT_SHARE_BLOCK_INDICES] += measure_indices(map, table);
}

static void measure_hot_header(struct measuring *now, const struct bat_table *table)
{
    if (!bat_map_has_hashes(now->map))
        return;
    now->bytes[BAT_SHARE_FUNCTION_HASHES] += 8;
    now->bytes[BAT_SHARE_COUNTS] +=
        uleb128_size(table->input_block_count) + uleb128_size(table->secondary_count);
}

static void measure_cold_header(struct measuring *now, const struct bat_table *table)
{
    const struct bat_map *map = now->map;
    uint32_t hot_index = table->parent;
    if (map->hot_index == BAT_HOT_INDEX_MERGED)
        hot_index = bat_map_rank(map, table->parent);
    else if (map->hot_index == BAT_HOT_INDEX_FRAGMENT)
        hot_index = (uint32_t)(table - map->tables) - map->hot_count;
    now->bytes[BAT_SHARE_HOT_INDICES] += uleb128_size((uint64_t)hot_index - now->hot_index);
    now->hot_index = hot_index;
    if (bat_map_has_hashes(map))
        now->bytes[BAT_SHARE_SKEWS] += uleb128_size(table->skew);
}

static void measure_secondary_entries(struct measuring *now, const struct bat_table *table)
{
    const uint32_t *offsets = now->map->secondary_entries + table->first_secondary;
    uint32_t before = 0;
    for (uint32_t i = 0; i < table->secondary_count; i++) {
        /* BAT.md 6.4: deltas are taken in 32 bits. */
        now->bytes[BAT_SHARE_SECONDARY_ENTRIES] += uleb128_size(offsets[i] - before);
        before = offsets[i];
    }
}

static void measure_table(struct measuring *now, uint32_t index)
{
    const struct bat_table *table = &now->map->tables[index];
    now->bytes[BAT_SHARE_ADDRESSES] += uleb128_size(table->address - now->address);
    now->address = table->address;
    bool hot = index < now->map->hot_count;
    if (hot)
        measure_hot_header(now, table);
    else
        measure_cold_header(now, table);
    now->bytes[BAT_SHARE_COUNTS] += uleb128_size(table->entry_count);
    if (bat_map_has_hashes(now->map) || (hot && now->map->has_prefixes))
        now->bytes[BAT_SHARE_COUNTS] += uleb128_size(table->equal_count);
    now->bytes[BAT_SHARE_BRANCH_MASKS] += (table->equal_count + (uint64_t)7) / 8;
    measure_entries(now, table);
    if (hot)
        measure_secondary_entries(now, table);
}

/* BAT.md 10: words of fixed size. */
static void measure_version_1(const struct bat_map *map, uint64_t *bytes)
{
    uint64_t tables = bat_map_tables(map);
    bytes[BAT_SHARE_COUNTS] = 4 + 4 * tables + 4;
    bytes[BAT_SHARE_ADDRESSES] = 8 * tables;
    bytes[BAT_SHARE_HOT_INDICES] = (uint64_t)16 * map->cold_count;
    for (uint32_t i = 0; i < tables; i++) {
        bytes[BAT_SHARE_OUTPUT_OFFSETS] += (uint64_t)4 * map->tables[i].entry_count;
        bytes[BAT_SHARE_INPUT_OFFSETS] += (uint64_t)4 * map->tables[i].entry_count;
    }
}

/* BAT.md 4 to 7, 9. */
static void measure_tables(const struct bat_map *map, uint64_t *bytes)
{
    struct measuring now = {.map = map, .bytes = bytes};
    bytes[BAT_SHARE_COUNTS] = uleb128_size(map->hot_count) + uleb128_size(map->cold_count);
    for (uint32_t i = 0; i < bat_map_tables(map); i++)
        measure_table(&now, i);
}

void bat_map_shares(const struct bat_map *map, struct bat_shares *shares)
{
    *shares = (struct bat_shares){0};
    if (map->version == BAT_VERSION_1)
        measure_version_1(map, shares->bytes);
    else
        measure_tables(map, shares->bytes);
    uint64_t description = bat_shares_sum(shares);
    uint64_t padding = (uint64_t)-description & 3;
    shares->bytes[BAT_SHARE_CONTAINER] = BAT_NOTE_HEADER_SIZE + padding;
}

uint64_t bat_shares_sum(const struct bat_shares *shares)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < BAT_SHARES; i++)
        sum += shares->bytes[i];
    return sum;
}
