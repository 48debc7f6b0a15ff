/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Notes of versions 1 and 2: BAT.md 9 and 10, their bytes written down here. */
#include "bat_binary.h"
#include "bat_decoder.h"
#include "bat_encoder.h"
#include "note_bytes.h"
#include "unit_test.h"
#include "worked_example.h"

/*
 * One program in all forms: functions at 0x1000 (blocks 0 and 4, moved to 0 and 6, with a branch)
 * and 0x1040 (one block), and 0x2000, a fragment of the second: its block 0x20 and a branch.
 */
#define VERSION_1_HOT                                                                              \
    "0010000000000000 03000000 00000000 00000000  02000000 02000080  06000000 04000000 "           \
    "4010000000000000 01000000 00000000 00000000 "
#define VERSION_1_COLD "0020000000000000 02000000 00000000 20000000  05000000 25000080 "
#define VERSION_1                                                                                  \
    "03000000 " VERSION_1_HOT VERSION_1_COLD "01000000 0020000000000000 4010000000000000"

/* Running address: 0x1000, + 2, + 4, + 0x3a = 0x1040, + 0xfc0 = 0x2000. */
#define VERSION_2_HOT "02  8020 03  00 00 02 05 04 03  3a 01 00 00  "
#define VERSION_2_COLD(index) "01  c01f " index " 02  00 c000 05 0b"
#define VERSION_2 VERSION_2_HOT VERSION_2_COLD("00")

/* Hot tables have prefixes: of 2 entries, the second a branch; of 1. */
#define VERSION_2_PREFIXES                                                                         \
    "02  8020 03 02 02  00 02 04 03  3a 01 01 00 00  01  c01f 00 02  00 c000 05 0b"

static void assert_program_entries(const struct bat_map *map, uint32_t table,
                                   const uint32_t *wanted)
{
    const struct bat_table *function = &map->tables[table];
    for (uint32_t i = 0; i < function->entry_count; i++) {
        assert_int_equal(map->output_offsets[function->first_entry + i], wanted[2 * i]);
        assert_int_equal(map->input_offsets[function->first_entry + i], wanted[2 * i + 1]);
    }
}

/* What all forms of the program hold, but for the fragment's parent. */
static void assert_program(const struct bat_map *map)
{
    static const uint32_t first[] = {0, 0, 2, 2 << 1 | 1, 6, 4 << 1};
    static const uint32_t second[] = {0, 0};
    static const uint32_t cold[] = {0, 0x20 << 1, 5, 0x25 << 1 | 1};
    assert_int_equal(map->hot_count, 2);
    assert_int_equal(map->cold_count, 1);
    assert_int_equal(map->entry_count, 6);
    assert_int_equal(map->block_count, 4);
    assert_int_equal(map->secondary_count, 0);
    assert_int_equal(map->tables[0].address, 0x1000);
    assert_int_equal(map->tables[1].address, 0x1040);
    assert_int_equal(map->tables[2].address, 0x2000);
    assert_int_equal(map->tables[0].entry_count, 3);
    assert_int_equal(map->tables[0].block_count, 2);
    assert_program_entries(map, 0, first);
    assert_program_entries(map, 1, second);
    assert_program_entries(map, 2, cold);
    assert_int_equal(bat_map_table_at(map, 0x2000), 2);
    assert_int_equal(bat_map_translate(map, 0, 9, false), 7);
    assert_int_equal(bat_map_translate(map, 2, 5, true), 0x25);
}

/* What old notes do not know. */
static void assert_nothing_else(const struct bat_map *map)
{
    assert_false(bat_map_has_hashes(map));
    assert_false(bat_map_has_function_hashes(map));
    assert_null(map->block_hashes);
    assert_null(map->block_indices);
    for (uint32_t i = 0; i < bat_map_tables(map); i++) {
        assert_int_equal(map->tables[i].hash, 0);
        assert_int_equal(map->tables[i].input_block_count, 0);
        assert_int_equal(map->tables[i].skew, 0);
    }
    /* The fragment's block is the function's that is taken for its parent. */
    struct bat_block blocks[3];
    uint32_t fragments = map->tables[2].parent == 0;
    assert_int_equal(bat_map_blocks(map, 0, blocks, COUNT(blocks)), 2 + fragments);
    assert_int_equal(blocks[1].input_offset, 4);
    assert_int_equal(blocks[1].hash, 0);
    assert_int_equal(blocks[1].index, BAT_NONE);
    assert_int_equal(bat_map_secondary_id(map, 0, 4), 0);
}

TEST(test_version_1)
{
    struct note_bytes note = note_of(VERSION_1);
    struct bat_map *map = decode_note(&note, BAT_HOT_INDEX_AUTO);
    assert_int_equal(map->version, BAT_VERSION_1);
    assert_program(map);
    assert_nothing_else(map);
    assert_int_equal(map->tables[2].parent, 1);
    assert_int_equal(map->hot_index, BAT_HOT_INDEX_TABLE);
    assert_false(map->hot_index_ambiguous);
    assert_encodes(map, &note);
}

TEST(test_version_2)
{
    struct note_bytes note = note_of(VERSION_2);
    struct bat_map *map = decode_note(&note, BAT_HOT_INDEX_AUTO);
    assert_int_equal(map->version, BAT_VERSION_2);
    assert_false(map->has_prefixes);
    assert_program(map);
    assert_nothing_else(map);
    assert_encodes(map, &note);
    /* Fragment 0 has index 0, whosever it is: that is no more than BOLT 18's guess. */
    assert_int_equal(map->hot_index, BAT_HOT_INDEX_FRAGMENT);
    assert_true(map->hot_index_ambiguous);
    assert_int_equal(map->tables[2].parent, 0);
}

TEST(test_version_2_with_prefixes)
{
    struct note_bytes note = note_of(VERSION_2_PREFIXES);
    struct bat_map *map = decode_note(&note, BAT_HOT_INDEX_AUTO);
    assert_int_equal(map->version, BAT_VERSION_2);
    assert_true(map->has_prefixes);
    assert_program(map);
    assert_nothing_else(map);
    assert_int_equal(map->tables[0].equal_count, 2);
    assert_encodes(map, &note);
}

/* An index that is not the fragment's own number names the parent. */
TEST(test_hot_index_of_version_2)
{
    struct note_bytes note = note_of(VERSION_2_HOT VERSION_2_COLD("01"));
    struct bat_map *map = decode_note(&note, BAT_HOT_INDEX_AUTO);
    assert_int_equal(map->hot_index, BAT_HOT_INDEX_TABLE);
    assert_false(map->hot_index_ambiguous);
    assert_int_equal(map->tables[2].parent, 1);
    assert_encodes(map, &note);
    struct bat_error error;
    assert_int_equal(bat_map_set_hot_index(map, BAT_HOT_INDEX_MERGED, &error), BAT_ERR_VERSION);
    note = note_of(VERSION_2_HOT VERSION_2_COLD("02")); /* the fragment itself */
    assert_true(decode_copy(note.bytes, note.size, BAT_HOT_INDEX_AUTO, &map, NULL) != BAT_OK);
    /* Of two fragments of one function BOLT 18 writes 0 and 1: more than there are functions. */
    note = note_of("01 8020 01 00 00  02 801f 00 01 00 c000  4001 01 00 c000");
    map = decode_note(&note, BAT_HOT_INDEX_AUTO);
    assert_int_equal(map->hot_index, BAT_HOT_INDEX_FRAGMENT);
    assert_int_equal(map->tables[2].parent, 0);
    assert_encodes(map, &note);
}

/* The real note and two forms of it that oldnote.py made. */
TEST(test_shipped_notes)
{
    static const struct {
        const char *path;
        enum bat_version version;
    } notes[] = {
        {TEST_DATA "/legacy/version-1.note", BAT_VERSION_1},
        {TEST_DATA "/legacy/version-2.note", BAT_VERSION_2},
        {TEST_DATA "/legacy/version-2-prefixes.note", BAT_VERSION_2},
        {VERSION_1_NOTE, BAT_VERSION_1},
    };
    for (size_t i = 0; i < COUNT(notes); i++) {
        struct note_bytes note = note_from_file(notes[i].path);
        struct bat_map *map = decode_note(&note, BAT_HOT_INDEX_AUTO);
        assert_int_equal(map->version, notes[i].version);
        assert_encodes(map, &note);
        struct bat_shares shares;
        bat_map_shares(map, &shares);
        assert_int_equal(bat_shares_sum(&shares), note.size);
    }
}

TEST(test_wrong_version_1)
{
    static const char *const notes[] = {
        /* tables that do not ascend, entries that do not */
        "02000000 0010000000000000 00000000 0010000000000000 00000000 00000000",
        "01000000 0010000000000000 02000000 0100000000000000 0000000001000000 00000000",
        /* a fragment without a table, one that is its own parent, a parent that is none */
        "01000000 0010000000000000 00000000 01000000 0020000000000000 0010000000000000",
        "01000000 0010000000000000 00000000 01000000 0010000000000000 0010000000000000",
        "01000000 0010000000000000 00000000 01000000 0010000000000000 0020000000000000",
        /* a fragment of a fragment */
        "03000000 0010000000000000 00000000 0020000000000000 00000000 0030000000000000 00000000 "
        "02000000 0020000000000000 0010000000000000 0030000000000000 0020000000000000",
        /* the same fragment twice */
        "02000000 0010000000000000 00000000 0020000000000000 00000000 "
        "02000000 0020000000000000 0010000000000000 0020000000000000 0010000000000000",
    };
    for (size_t i = 0; i < COUNT(notes); i++) {
        struct note_bytes note = note_of(notes[i]);
        struct bat_map *map;
        enum bat_code code = decode_copy(note.bytes, note.size, BAT_HOT_INDEX_AUTO, &map, NULL);
        if (code == BAT_OK)
            fail_msg("note %zu was decoded", i);
    }
}

/* --- Upgrading -------------------------------------------------------------------------------- */

static void assert_upgraded(const struct bat_map *map)
{
    assert_int_equal(map->version, BAT_VERSION_3);
    assert_int_equal(map->hot_index, BAT_HOT_INDEX_TABLE);
    assert_program(map);
    assert_false(bat_map_has_function_hashes(map));
    assert_int_equal(map->tables[2].skew, 0x20);
    assert_int_equal(map->tables[2].equal_count, 2);
    assert_int_equal(map->tables[0].equal_count, 2);
}

/* What is upgraded encodes and decodes. */
static void assert_again(const struct bat_map *map)
{
    size_t size;
    uint8_t *bytes = encode_map(map, &size);
    struct bat_map *again;
    assert_ok(bat_decode(bytes, size, NULL, &again, NULL));
    assert_upgraded(again);
    assert_memory_equal(again->block_indices, map->block_indices,
                        map->block_count * sizeof(*map->block_indices));
    bat_map_free(again);
}

TEST(test_upgrade)
{
    struct bat_map *map = decode_description(VERSION_1);
    assert_ok(bat_map_upgrade(map, NULL, NULL, NULL));
    assert_upgraded(map);
    assert_int_equal(map->tables[2].parent, 1);
    struct bat_block blocks[3];
    assert_int_equal(bat_map_blocks(map, 1, blocks, COUNT(blocks)), 2);
    assert_int_equal(blocks[1].index, 1);
    assert_int_equal(blocks[1].hash, 0x20);
    assert_int_equal(map->tables[0].input_block_count, 2);
    assert_int_equal(map->tables[1].input_block_count, 2);
    assert_again(map);
    /* Once more changes nothing. */
    assert_ok(bat_map_upgrade(map, NULL, NULL, NULL));
    assert_again(map);
}

/* A function whose first block the note lacks: what is there cannot be block 0. */
TEST(test_upgrade_without_first_block)
{
    struct bat_map *map =
        decode_description("01000000 0010000000000000 01000000 00000000 04000000 00000000");
    assert_ok(bat_map_upgrade(map, NULL, NULL, NULL));
    assert_int_equal(map->block_indices[0], 1);
    assert_int_equal(map->tables[0].input_block_count, 2);
}

/* The code has blocks that the note lacks, and lacks one that the note has. */
static enum bat_code code_blocks(uint32_t table, const uint32_t **offsets, uint32_t *count,
                                 void *context, struct bat_error *error)
{
    static const uint32_t first[] = {0, 2, 3, 4};
    static const uint32_t second[] = {0, 0x10};
    uint32_t *asked = context;
    if (*asked == BAT_NONE)
        return bat_fail(error, BAT_ERR_IO, "no code");
    assert_int_equal(table, (*asked)++);
    *offsets = table == 0 ? first : second;
    *count = table == 0 ? 4 : 2;
    return BAT_OK;
}

TEST(test_upgrade_by_code)
{
    struct bat_map *map = decode_description(VERSION_1);
    uint32_t asked = 0;
    assert_ok(bat_map_upgrade(map, code_blocks, &asked, NULL));
    assert_int_equal(asked, 2);
    assert_upgraded(map);
    assert_int_equal(map->tables[0].input_block_count, 4);
    assert_int_equal(map->tables[1].input_block_count, 2);
    struct bat_block blocks[3];
    assert_int_equal(bat_map_blocks(map, 0, blocks, COUNT(blocks)), 2);
    assert_int_equal(blocks[1].index, 3);
    /* No block of the code starts at 0x20. */
    assert_int_equal(bat_map_blocks(map, 1, blocks, COUNT(blocks)), 1);
    assert_again(map);
}

TEST(test_upgrade_that_fails)
{
    struct note_bytes note = note_of(VERSION_2);
    struct bat_map *map = decode_note(&note, BAT_HOT_INDEX_AUTO);
    uint32_t asked = BAT_NONE;
    struct bat_error error;
    assert_int_equal(bat_map_upgrade(map, code_blocks, &asked, &error), BAT_ERR_IO);
    assert_string_equal(error.message, "no code");
    assert_nothing_else(map);
    assert_encodes(map, &note);
}
