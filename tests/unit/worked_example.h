/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The content of the notes of BAT.md 13, row by row of its tables.
 */
#pragma once

#include "note_bytes.h"
#include "unit_test.h"

#define EXAMPLE_NOTE TEST_DATA "/spec/version-3.note"
#define EXAMPLE_NOTE_BOLT_19 TEST_DATA "/spec/version-3-bolt-19.note"
#define STRAY_ENTRY_NOTE TEST_DATA "/spec/stray-entry.note"
#define VERSION_1_NOTE TEST_DATA "/spec/version-1.note"

/* The tables of version-3.note as indices into bat_map.functions. */
enum example_table { LEAF, WORK, START, WORK_COLD };

/* An entry of a table. */
struct expected_entry {
    uint32_t output;
    uint32_t input;
    bool is_branch;
    uint64_t hash; /* of a block */
    uint32_t index;
};

/* Check all values of a table's entries, and that its blocks are in its range. */
static inline void assert_entries(const struct bat_map *map, uint32_t table,
                                  const struct expected_entry *expected, uint32_t count)
{
    const struct bat_table *function = &map->tables[table];
    assert_int_equal(function->entry_count, count);
    assert_true(count <= map->entry_count && function->first_entry <= map->entry_count - count);
    uint32_t block = function->first_block;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = function->first_entry + i;
        assert_int_equal(map->output_offsets[at], expected[i].output);
        assert_int_equal(map->input_offsets[at] / 2, expected[i].input);
        assert_int_equal(map->input_offsets[at] % 2, expected[i].is_branch);
        if (expected[i].is_branch)
            continue;
        assert_true(block < map->block_count);
        assert_int_equal(map->block_hashes[block], expected[i].hash);
        assert_int_equal(map->block_indices[block], expected[i].index);
        block++;
    }
    assert_int_equal(function->block_count, block - function->first_block);
}

/* A table's entries, from NumEntries on, without an equal prefix (BAT.md 6). */
static inline void put_entries(struct note_bytes *note, const struct expected_entry *entries,
                               uint32_t count)
{
    put_uleb(note, count);
    put_uleb(note, 0);
    for (uint32_t i = 0, output = 0, input = 0, index = 0; i < count; i++) {
        uint32_t side = entries[i].input * 2 + entries[i].is_branch;
        put_uleb(note, entries[i].output - output);
        put_sleb(note, (int64_t)side - input);
        output = entries[i].output;
        input = side;
        if (entries[i].is_branch)
            continue;
        put_word(note, entries[i].hash, 8);
        put_uleb(note, (uint64_t)entries[i].index - index);
        index = entries[i].index;
    }
}

/* BAT.md 13.2, the rows "entry 0" and on of each table. */
static const struct expected_entry leaf_entries[] = {
    {0x0, 0x0, false, 0xbd78ee300000, 0},
    {0x2, 0x2, true, 0, 0},
};

static const struct expected_entry work_entries[] = {
    {0x00, 0x00, false, 0x6c001431ea2d0000, 0},
    {0x02, 0x02, true, 0, 0},
    {0x08, 0x04, false, 0x0d4ce23152370004, 1},
    {0x0a, 0x06, false, 0xdffec8401d920006, 2},
    {0x0e, 0x0a, true, 0, 0},
    {0x10, 0x0c, false, 0x7e0d06e88b7e000c, 3},
    {0x15, 0x11, true, 0, 0},
    {0x17, 0x18, false, 0xee977982580a0018, 5},
    {0x19, 0x1a, false, 0x161164be0f48001a, 6},
    {0x1b, 0x23, true, 0, 0},
    {0x1d, 0x1e, false, 0x4beee7150f48001e, 7},
    {0x1f, 0x25, true, 0, 0},
    {0x21, 0x22, false, 0x00ee16f5f3af0022, 8},
    {0x22, 0x13, false, 0xee97bcee4d0a0013, 4},
    {0x27, 0x23, false, 0x00ee3623240f0023, 9},
    {0x27, 0x25, false, 0x00ee3623240f0025, 10},
};

static const struct expected_entry start_entries[] = {
    {0x00, 0x00, false, 0x6e007fae5fc00000, 0},
    {0x05, 0x05, false, 0x7a45e906bc850005, 1},
    {0x07, 0x07, true, 0, 0},
    {0x0e, 0x0e, true, 0, 0},
    {0x15, 0x15, true, 0, 0},
    {0x1a, 0x1a, true, 0, 0},
    {0x1f, 0x1f, true, 0, 0},
    {0x26, 0x26, true, 0, 0},
    {0x28, 0x28, false, 0x006e3787a9cf0028, 2},
};

static const struct expected_entry work_cold_entries[] = {
    {0x0, 0x27, false, 0x004cf6804b9e0027, 11},
    {0x5, 0x2c, true, 0, 0},
    {0xa, 0x31, true, 0, 0},
};

/* Check what must hold in every decoded or built map (spec/bat.h). */
static inline void assert_map_is_sound(const struct bat_map *map)
{
    uint32_t tables = bat_map_tables(map);
    uint32_t entries = 0;
    uint32_t blocks = 0;
    uint32_t secondaries = 0;
    for (uint32_t i = 0; i < tables; i++) {
        const struct bat_table *table = &map->tables[i];
        bool is_hot = i < map->hot_count;
        assert_int_equal(table->first_entry, entries);
        assert_int_equal(table->first_block, blocks);
        entries += table->entry_count;
        blocks += table->block_count;
        assert_true(table->equal_count <= table->entry_count);
        if (is_hot) {
            assert_int_equal(table->parent, i);
            assert_int_equal(table->first_secondary, secondaries);
            assert_int_equal(table->skew, 0);
            secondaries += table->secondary_count;
        } else {
            assert_true(table->parent < map->hot_count);
            assert_int_equal(table->hash, 0);
            assert_int_equal(table->input_block_count, 0);
            assert_int_equal(table->secondary_count, 0);
        }
        if (i != 0 && i != map->hot_count)
            assert_true(table[-1].address < table->address);
    }
    assert_int_equal(map->entry_count, entries);
    assert_int_equal(map->block_count, blocks);
    assert_int_equal(map->secondary_count, secondaries);
    for (uint32_t i = 1; i < tables; i++)
        assert_true(map->tables[map->by_address[i - 1]].address <
                    map->tables[map->by_address[i]].address);
    assert_int_equal(map->fragment_start[0], 0);
    assert_int_equal(map->fragment_start[map->hot_count], map->cold_count);
    for (uint32_t hot = 0; hot < map->hot_count; hot++)
        for (uint32_t i = map->fragment_start[hot]; i < map->fragment_start[hot + 1]; i++)
            assert_int_equal(map->tables[map->fragments[i]].parent, hot);
}
