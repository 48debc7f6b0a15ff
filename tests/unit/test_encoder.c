/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * encoder/: maps to notes. For maps made by hand the expected bytes were worked out from BAT.md; a
 * decoded map must give the bytes that it was decoded from.
 */
#include "bat_encoder.h"
#include "unit_test.h"
#include "worked_example.h"

/* --- Maps by hand --------------------------------------------------------------------------- */

/*
 * Two hot functions and a fragment of the first, which lies below them. All arrays are in this
 * struct, so that tests can change any element.
 */
struct hand_map {
    struct bat_map map;
    struct bat_table functions[3];
    uint32_t by_address[3];
    uint32_t output_offsets[7];
    uint32_t input_offsets[7];
    uint64_t block_hashes[4];
    uint32_t block_indices[4];
    uint32_t secondary_entries[2];
};

#define BLOCK(offset) ((uint32_t)(offset)*2)
#define BRANCH(offset) ((uint32_t)(offset)*2 + 1)

static const struct hand_map sound_map = {
    .map = {.version = BAT_VERSION_3,
            .hot_index = BAT_HOT_INDEX_TABLE,
            .hot_count = 2,
            .cold_count = 1,
            .entry_count = 7,
            .block_count = 4,
            .secondary_count = 2},
    /* Address, hash; first and number of entries, blocks, secondary entry points; input blocks,
     * equal ones, skew, parent. */
    .functions = {{0x1000, 0x8111111111111111, 0, 4, 0, 2, 0, 2, 3, 2, 0, 0},
                  {0x1020, 0x8444444444444444, 4, 1, 2, 1, 2, 0, 1, 0, 0, 1},
                  {0x800, 0, 5, 2, 3, 1, 2, 0, 0, 1, 0x20, 0}},
    .by_address = {2, 0, 1},
    .output_offsets = {0, 5, 8, 0xc, 0, 0, 6},
    .input_offsets = {BLOCK(0), BRANCH(5), BLOCK(7), BRANCH(4), BLOCK(0), BLOCK(0x20),
                      BRANCH(0x26)},
    .block_hashes = {0x8222222222222222, 0x8333333333333333, 0x8555555555555555,
                     0x8666666666666666},
    .block_indices = {0, 2, 0, 1},
    .secondary_entries = {7, 9},
};

/* The description of sound_map up to the fragment's hot index, and from its skew on. */
#define SOUND_HOT                                                                                  \
    "02"                                                                                           \
    "8020 1111111111111181 03 02 04 02 02"                                                         \
    " 00 2222222222222282 00"    /* 0 -> 0 */                                                      \
    " 05"                        /* 5 -> 5 branch, input side 0xb */                               \
    " 03 03 3333333333333383 02" /* 8 -> 7: 0xe - 0xb */                                           \
    " 04 7b"                     /* 0xc -> 4 branch: 9 - 0xe */                                    \
    " 07 02"                     /* secondary entry points 7, 9 */                                 \
    "14 4444444444444484 01 00 01 00"                                                              \
    " 00 00 5555555555555585 00"                                                                   \
    "01"                                                                                           \
    "e0efffffffffffffff01" /* 0x800 - 0x1020 = -0x820 */
#define SOUND_COLD                                                                                 \
    "20 02 01 00"                                                                                  \
    " 00 6666666666666686 01"                                                                      \
    " 06 0d" /* 6 -> 0x26 branch: 0x4d - 0x40 */

static void connect(struct hand_map *hand)
{
    hand->map.tables = hand->functions;
    hand->map.by_address = hand->by_address;
    hand->map.output_offsets = hand->output_offsets;
    hand->map.input_offsets = hand->input_offsets;
    hand->map.block_hashes = hand->block_hashes;
    hand->map.block_indices = hand->block_indices;
    hand->map.secondary_entries = hand->secondary_entries;
}

static void assert_encodes_to(const struct bat_map *map, const char *description)
{
    struct note_bytes note = note_of(description);
    assert_encodes(map, &note);
}

/* Decode, and encode again: the same bytes. */
static void assert_round_trip(const struct note_bytes *note)
{
    struct bat_map *map = decode_note(note, BAT_HOT_INDEX_AUTO);
    assert_encodes(map, note);
}

TEST(test_no_tables)
{
    const struct bat_map empty = {.version = BAT_VERSION_3, .hot_index = BAT_HOT_INDEX_TABLE};
    assert_encodes_to(&empty, "0000");
    /* BAT.md 2, all of it: header, two bytes, two of padding. */
    static const uint8_t section[] = {5,   0,   0,   0,   2, 0, 0, 0, 1, 0, 0, 0,
                                      'B', 'O', 'L', 'T', 0, 0, 0, 0, 0, 0, 0, 0};
    size_t size;
    uint8_t *bytes = encode_map(&empty, &size);
    assert_int_equal(size, sizeof(section));
    assert_memory_equal(bytes, section, sizeof(section));
}

TEST(test_sound_map)
{
    struct hand_map hand = sound_map;
    connect(&hand);
    assert_encodes_to(&hand.map, SOUND_HOT "00" SOUND_COLD);
}

TEST(test_merged_hot_index)
{
    /* Among all tables by address the parent is number 1 (BAT.md 7.2). */
    struct hand_map hand = sound_map;
    connect(&hand);
    hand.map.hot_index = BAT_HOT_INDEX_MERGED;
    assert_encodes_to(&hand.map, SOUND_HOT "01" SOUND_COLD);
    hand.functions[2].parent = 1;
    assert_encodes_to(&hand.map, SOUND_HOT "02" SOUND_COLD);
    hand.map.hot_index = BAT_HOT_INDEX_TABLE;
    assert_encodes_to(&hand.map, SOUND_HOT "01" SOUND_COLD);
}

/* --- Limits --------------------------------------------------------------------------------- */

/* One hot function at address 0 with these entries; the map borrows the arrays. */
static struct bat_map map_of_arrays(struct bat_table *function, uint32_t *by_address,
                                    uint32_t *output, uint32_t *input, uint32_t entries,
                                    uint64_t *hashes, uint32_t *indices, uint32_t blocks)
{
    *function = (struct bat_table){.entry_count = entries, .block_count = blocks};
    *by_address = 0;
    return (struct bat_map){.version = BAT_VERSION_3,
                            .hot_index = BAT_HOT_INDEX_TABLE,
                            .hot_count = 1,
                            .entry_count = entries,
                            .block_count = blocks,
                            .tables = function,
                            .by_address = by_address,
                            .output_offsets = output,
                            .input_offsets = input,
                            .block_hashes = hashes,
                            .block_indices = indices};
}

TEST(test_largest_numbers)
{
    struct bat_table function;
    uint32_t by_address;
    uint32_t secondary[] = {0xffffffff, 0, 0xfffffffd};
    uint32_t output[] = {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff};
    uint32_t input[] = {0xfffffffe, 0, 0xffffffff, 0};
    uint64_t hashes[] = {UINT64_MAX, 0, 1};
    uint32_t indices[] = {0xffffffff, 0, 0xffffffff};
    struct bat_map map =
        map_of_arrays(&function, &by_address, output, input, 4, hashes, indices, 3);
    map.secondary_count = 3;
    map.secondary_entries = secondary;
    function.address = UINT64_MAX;
    function.hash = UINT64_MAX;
    function.input_block_count = UINT32_MAX;
    function.secondary_count = 3;
    assert_encodes_to(&map, "01 ffffffffffffffffff01 ffffffffffffffff ffffffff0f 03 04 00"
                            /* 2^32 - 2 */
                            " ffffffff0f feffffff0f ffffffffffffffff ffffffff0f"
                            /* -(2^32 - 2); index -(2^32 - 1) modulo 2^64 */
                            " 00 8280808070 0000000000000000 81808080f0ffffffff01"
                            " 00 ffffffff0f"
                            " 00 8180808070 0100000000000000 ffffffff0f"
                            /* 2^32 - 1, 1 and -3 modulo 2^32 */
                            " ffffffff0f 01 fdffffff0f"
                            " 00");
}

/*
 * Every number has its greatest length: the buffer must be large enough. A table can have 15 output
 * deltas of 5 bytes; all indices descend, and every second input side; secondary entry points are
 * 2^31 apart, modulo 2^32.
 */
enum { LONG_TABLES = 64, LONG_ENTRIES = 15, LONG_SECONDARIES = 40 };

struct long_map {
    struct bat_map map;
    struct bat_table functions[2 * LONG_TABLES];
    uint32_t by_address[2 * LONG_TABLES];
    uint32_t output[LONG_ENTRIES];
    uint32_t input[LONG_ENTRIES];
    uint64_t hashes[LONG_ENTRIES];
    uint32_t indices[LONG_ENTRIES];
    uint32_t secondary[LONG_SECONDARIES];
};

/* The tables share the arrays, and each starts below the last entry of the previous table. */
static void fill_long_map(struct long_map *longest)
{
    for (uint32_t i = 0; i < LONG_ENTRIES; i++) {
        longest->output[i] = (i + 1) << 28;
        longest->input[i] = i % 2 ? 0 : 0xfffffffe;
        longest->hashes[i] = UINT64_MAX;
        longest->indices[i] = 0xffffffff - i;
    }
    for (uint32_t i = 0; i < LONG_SECONDARIES; i++)
        longest->secondary[i] = i % 2 ? 0 : 0x80000000;
    for (uint32_t i = 0; i < 2 * LONG_TABLES; i++) {
        struct bat_table *table = &longest->functions[i];
        *table = (struct bat_table){
            .address = i + 1, .entry_count = LONG_ENTRIES, .block_count = LONG_ENTRIES};
        longest->by_address[i] = i;
        if (i < LONG_TABLES) {
            table->secondary_count = LONG_SECONDARIES;
            table->input_block_count = UINT32_MAX;
            table->parent = i;
        } else {
            table->skew = UINT32_MAX;
            table->parent = 2 * LONG_TABLES - 1 - i; /* falls with each */
        }
    }
    longest->map = (struct bat_map){.version = BAT_VERSION_3,
                                    .hot_index = BAT_HOT_INDEX_MERGED,
                                    .hot_count = LONG_TABLES,
                                    .cold_count = LONG_TABLES,
                                    .entry_count = LONG_ENTRIES,
                                    .block_count = LONG_ENTRIES,
                                    .secondary_count = LONG_SECONDARIES,
                                    .tables = longest->functions,
                                    .by_address = longest->by_address,
                                    .output_offsets = longest->output,
                                    .input_offsets = longest->input,
                                    .block_hashes = longest->hashes,
                                    .block_indices = longest->indices,
                                    .secondary_entries = longest->secondary};
}

TEST(test_longest_note)
{
    struct long_map longest;
    fill_long_map(&longest);
    size_t size = 0;
    uint8_t *bytes = encode_map(&longest.map, &size);
    struct bat_map *again = NULL;
    assert_ok(decode_copy(bytes, size, BAT_HOT_INDEX_MERGED, &again, NULL));
    assert_int_equal(again->entry_count, 2 * LONG_TABLES * LONG_ENTRIES);
    for (uint32_t i = 0; i < 2 * LONG_TABLES; i++) {
        const size_t first = (size_t)i * LONG_ENTRIES;
        assert_int_equal(again->tables[i].address, i + 1);
        assert_int_equal(again->tables[i].parent, longest.functions[i].parent);
        assert_int_equal(again->tables[i].skew, longest.functions[i].skew);
        assert_memory_equal(again->output_offsets + first, longest.output, sizeof(longest.output));
        assert_memory_equal(again->input_offsets + first, longest.input, sizeof(longest.input));
        assert_memory_equal(again->block_indices + first, longest.indices, sizeof(longest.indices));
    }
    assert_memory_equal(again->secondary_entries + (LONG_TABLES - 1) * LONG_SECONDARIES,
                        longest.secondary, sizeof(longest.secondary));
    bat_map_free(again);
}

/* A prefix is equal modulo 2^32 (BAT.md 6.2). */
TEST(test_prefix_modulo)
{
    struct note_bytes note = note_from_file(STRAY_ENTRY_NOTE);
    struct bat_map *map = decode_note(&note, BAT_HOT_INDEX_AUTO);
    assert_encodes(map, &note);
    bat_map_canonicalize(map);
    assert_int_equal(map->tables[3].equal_count, 4);
    assert_encodes(map, &note);
}

/* Maps without elements may have no arrays for them. */
TEST(test_no_arrays)
{
    struct bat_table function;
    uint32_t by_address;
    struct bat_map map = map_of_arrays(&function, &by_address, NULL, NULL, 0, NULL, NULL, 0);
    assert_encodes_to(&map, "01 00 0000000000000000 00 00 00 00 00");
    uint32_t output = 3;
    uint32_t input = BRANCH(3);
    map = map_of_arrays(&function, &by_address, &output, &input, 1, NULL, NULL, 0);
    assert_encodes_to(&map, "01 00 0000000000000000 00 00 01 00 03 07 00");
}

/* --- Unsound maps --------------------------------------------------------------------------- */

static void assert_encoding_fails(const struct bat_map *map, enum bat_code code)
{
    uint8_t *bytes = (uint8_t *)"";
    size_t size;
    struct bat_error error = {0};
    enum bat_code got = bat_encode(map, &bytes, &size, &error);
    if (got == BAT_OK)
        free(bytes);
    if (got != code)
        fail_msg("expected %s, got %s: %s", bat_code_name(code), bat_code_name(got), error.message);
    assert_null(bytes);
    assert_int_equal(error.code, code);
    assert_int_equal(error.place, BAT_PLACE_NONE);
    assert_non_null(strstr(error.message, "expected "));
    assert_non_null(strstr(error.message, "found "));
    assert_int_equal(bat_encode(map, &bytes, &size, NULL), code);
}

/* Change one number of sound_map, and check that encoding fails like this. */
#define ASSERT_REFUSED(code, place, value)                                                         \
    do {                                                                                           \
        struct hand_map changed = sound_map;                                                       \
        connect(&changed);                                                                         \
        changed.place = (value);                                                                   \
        assert_encoding_fails(&changed.map, code);                                                 \
    } while (0)

TEST(test_map_itself)
{
    ASSERT_REFUSED(BAT_ERR_VERSION, map.version, BAT_VERSION_1);
    ASSERT_REFUSED(BAT_ERR_VERSION, map.version, BAT_VERSION_2);
    ASSERT_REFUSED(BAT_ERR_VERSION, map.version, (enum bat_version)4);
    ASSERT_REFUSED(BAT_ERR_ARGUMENT, map.hot_index, BAT_HOT_INDEX_AUTO);
    ASSERT_REFUSED(BAT_ERR_ARGUMENT, map.hot_index, BAT_HOT_INDEX_FRAGMENT);
    ASSERT_REFUSED(BAT_ERR_ARGUMENT, map.hot_index, (enum bat_hot_index)4);
    /* More tables than indices of 32 bits; their sum must not wrap. */
    ASSERT_REFUSED(BAT_ERR_RANGE, map.hot_count, UINT32_MAX);
    ASSERT_REFUSED(BAT_ERR_RANGE, map.cold_count, UINT32_MAX - 1);
    ASSERT_REFUSED(BAT_ERR_RANGE, map.cold_count, UINT32_MAX - 2);
}

TEST(test_order_of_tables)
{
    ASSERT_REFUSED(BAT_ERR_ORDER, functions[1].address, 0x1000);
    ASSERT_REFUSED(BAT_ERR_ORDER, functions[1].address, 0xfff);
    /* A hot function and a fragment at one address, with by_address either way. */
    struct hand_map hand = sound_map;
    connect(&hand);
    hand.functions[2].address = 0x1000;
    assert_encoding_fails(&hand.map, BAT_ERR_ORDER);
    hand.by_address[0] = 0;
    hand.by_address[1] = 2;
    assert_encoding_fails(&hand.map, BAT_ERR_ORDER);
    /* Two fragments. */
    struct bat_table functions[] = {{.address = 1}, {.address = 5}, {.address = 5}};
    uint32_t by_address[] = {0, 1, 2};
    const struct bat_map map = {.version = BAT_VERSION_3,
                                .hot_index = BAT_HOT_INDEX_TABLE,
                                .hot_count = 1,
                                .cold_count = 2,
                                .tables = functions,
                                .by_address = by_address};
    assert_encoding_fails(&map, BAT_ERR_ORDER);
    functions[2].address = 4;
    assert_encoding_fails(&map, BAT_ERR_ORDER);
}

/* by_address, which merged hot indices are taken from, must list each table once, in order. */
TEST(test_by_address)
{
    ASSERT_REFUSED(BAT_ERR_ORDER, by_address[0], 3);
    ASSERT_REFUSED(BAT_ERR_ORDER, by_address[2], UINT32_MAX);
    ASSERT_REFUSED(BAT_ERR_ORDER, by_address[1], 2);
    ASSERT_REFUSED(BAT_ERR_ORDER, by_address[0], 1);
    /* Stale: the fragment was moved above the others, or between them. */
    ASSERT_REFUSED(BAT_ERR_ORDER, functions[2].address, 0x2000);
    ASSERT_REFUSED(BAT_ERR_ORDER, functions[2].address, 0x1010);
}

TEST(test_parents)
{
    ASSERT_REFUSED(BAT_ERR_HOT_INDEX, functions[0].parent, 1);
    ASSERT_REFUSED(BAT_ERR_HOT_INDEX, functions[1].parent, 0);
    ASSERT_REFUSED(BAT_ERR_HOT_INDEX, functions[1].parent, BAT_NONE);
    ASSERT_REFUSED(BAT_ERR_HOT_INDEX, functions[2].parent, 2);
    ASSERT_REFUSED(BAT_ERR_HOT_INDEX, functions[2].parent, BAT_NONE);
}

/* The format cannot hold these fields, so they would be lost. */
TEST(test_what_a_fragment_has_not)
{
    struct hand_map hand = sound_map;
    connect(&hand);
    hand.functions[0].secondary_count = 1;
    hand.functions[2].first_secondary = 1;
    hand.functions[2].secondary_count = 1;
    assert_encoding_fails(&hand.map, BAT_ERR_COUNT);
    ASSERT_REFUSED(BAT_ERR_ARGUMENT, functions[2].hash, 1);
    ASSERT_REFUSED(BAT_ERR_ARGUMENT, functions[2].input_block_count, 1);
    /* A hot function's skew cannot be written either. */
    ASSERT_REFUSED(BAT_ERR_PREFIX, functions[1].skew, 1);
}

TEST(test_ranges)
{
    ASSERT_REFUSED(BAT_ERR_RANGE, functions[2].first_entry, 6);
    ASSERT_REFUSED(BAT_ERR_RANGE, functions[2].first_entry, 8);
    ASSERT_REFUSED(BAT_ERR_RANGE, functions[2].first_entry, UINT32_MAX); /* + 2 wraps to 1 */
    ASSERT_REFUSED(BAT_ERR_RANGE, functions[2].entry_count, 3);
    ASSERT_REFUSED(BAT_ERR_RANGE, functions[2].entry_count, UINT32_MAX);
    ASSERT_REFUSED(BAT_ERR_RANGE, functions[2].first_block, 4);
    ASSERT_REFUSED(BAT_ERR_RANGE, functions[2].first_block, UINT32_MAX);
    ASSERT_REFUSED(BAT_ERR_RANGE, functions[2].block_count, 2);
    ASSERT_REFUSED(BAT_ERR_RANGE, functions[2].first_secondary, 3);
    ASSERT_REFUSED(BAT_ERR_RANGE, functions[0].first_secondary, 1);
    ASSERT_REFUSED(BAT_ERR_RANGE, functions[0].secondary_count, UINT32_MAX);
}

TEST(test_entries)
{
    ASSERT_REFUSED(BAT_ERR_ORDER, output_offsets[3], 7); /* behind 8 */
    ASSERT_REFUSED(BAT_ERR_PREFIX, functions[0].equal_count, 3);
    ASSERT_REFUSED(BAT_ERR_PREFIX, functions[0].equal_count, 5);
    ASSERT_REFUSED(BAT_ERR_PREFIX, functions[0].equal_count, UINT32_MAX);
    ASSERT_REFUSED(BAT_ERR_PREFIX, input_offsets[1], BRANCH(6));
    ASSERT_REFUSED(BAT_ERR_PREFIX, functions[2].skew, 0x21);
    /* More block entries than blocks, and fewer: by the table's count; the array has enough. */
    ASSERT_REFUSED(BAT_ERR_COUNT, functions[0].block_count, 1);
    ASSERT_REFUSED(BAT_ERR_COUNT, functions[0].block_count, 0);
    ASSERT_REFUSED(BAT_ERR_COUNT, functions[0].block_count, 3);
    ASSERT_REFUSED(BAT_ERR_COUNT, input_offsets[3], BLOCK(4));
    ASSERT_REFUSED(BAT_ERR_COUNT, input_offsets[4], BRANCH(0));
}

/* Blocks that the map does not have are not read. */
TEST(test_blocks_missing)
{
    uint32_t output[64] = {0};
    uint32_t input[64] = {0};
    struct bat_table function;
    uint32_t by_address;
    const struct bat_map map =
        map_of_arrays(&function, &by_address, output, input, 64, NULL, NULL, 0);
    assert_encoding_fails(&map, BAT_ERR_COUNT);
}

/* The message names the table, and the entry within it. */
TEST(test_message)
{
    struct hand_map hand = sound_map;
    connect(&hand);
    hand.output_offsets[3] = 7;
    uint8_t *bytes;
    size_t size;
    struct bat_error error;
    assert_int_equal(bat_encode(&hand.map, &bytes, &size, &error), BAT_ERR_ORDER);
    assert_non_null(strstr(error.message, "table at 0x1000"));
    assert_non_null(strstr(error.message, "entry 3"));
}

/* --- Round trips ---------------------------------------------------------------------------- */

TEST(test_worked_example)
{
    struct note_bytes note = note_from_file(EXAMPLE_NOTE);
    assert_round_trip(&note);
    struct note_bytes by_bolt_19 = note_from_file(EXAMPLE_NOTE_BOLT_19);
    assert_round_trip(&by_bolt_19);

    /* BAT.md 13.4: the two notes differ only in how hot indices are written. */
    struct bat_map *map = decode_note(&by_bolt_19, BAT_HOT_INDEX_AUTO);
    assert_true(map->hot_index_ambiguous);
    bat_map_canonicalize(map);
    assert_int_equal(map->hot_index, BAT_HOT_INDEX_TABLE);
    assert_false(map->hot_index_ambiguous);
    assert_encodes(map, &note);
    map->hot_index = BAT_HOT_INDEX_MERGED;
    assert_encodes(map, &by_bolt_19);
    /* Hot indices read in the other way are encoded to the same bytes. */
    assert_ok(bat_map_set_hot_index(map, BAT_HOT_INDEX_TABLE, NULL));
    assert_int_equal(map->tables[WORK_COLD].parent, START);
    assert_encodes(map, &by_bolt_19);
}

/* Forms that BOLT does not write but that a note may have (BAT.md 12) are kept. */
TEST(test_unusual_forms_are_kept)
{
#define H "0000000000000000"
    static const char *const descriptions[] = {
        /* A prefix of 0, 1 and 2 where 3 entries are equal. */
        "01 00" H "00 00 03 00 01 03 01 02 01 02 00",
        "01 00" H "00 00 03 01 01 01 01 02 01 02 00",
        "01 00" H "00 00 03 02 03 01 01 01 02 00",
        /* A fragment whose skew is not an entry's offset, with and without a prefix. */
        "01 00" H "00 00 00 00 01 10 00 07 02 00 01 05 01 02",
        "01 00" H "00 00 00 00 01 10 00 07 02 01 01 01 01 02",
        "01 00" H "00 00 00 00 01 10 00 ffffffff0f 00 00",
        /* Secondary entry points that fall and repeat; entries that repeat. */
        "01 00" H "00 04 00 00 05 00 fdffffff0f 01 00",
        "01 00" H "07 00 02 00 05 01 00 00 00",
        /* The running address wraps at the end of the address space. */
        "01 80feffffffffffffff01" H "00 00 01 00 8004 01 01 10 00 00 00 00",
    };
    for (size_t i = 0; i < COUNT(descriptions); i++) {
        struct note_bytes note = note_of(descriptions[i]);
        assert_round_trip(&note);
    }
}

/* --- Canonical form ------------------------------------------------------------------------- */

TEST(test_canonicalize)
{
    /*
     * Equal entries that are not in the prefix, skews that are not an entry's offset, and merged
     * indices: by address the tables are fragment, fragment, hot function.
     */
    struct note_bytes note = note_of("01 8020" H "00 00 03 01 01 01 01 02 02 06"
                                     "02 fdefffffffffffffff01 02 07 02 00 01 0b 01 06"
                                     "   10 00 09 00 00");
    struct bat_map *map = decode_note(&note, BAT_HOT_INDEX_AUTO);
    assert_int_equal(map->hot_index, BAT_HOT_INDEX_MERGED);
    assert_encodes(map, &note);
    /* 1 -> 1, 2 -> 2, then 4 -> 5; a prefix of two. 1 -> 5, 2 -> 8: skew 5, no prefix. */
    bat_map_canonicalize(map);
    assert_int_equal(map->tables[0].equal_count, 2);
    assert_int_equal(map->tables[0].skew, 0);
    assert_int_equal(map->tables[1].skew, 5);
    assert_int_equal(map->tables[1].equal_count, 0);
    assert_int_equal(map->tables[2].skew, 0);
    assert_int_equal(map->tables[1].parent, 0);
    assert_encodes_to(map, "01 8020" H "00 00 03 02 03 01 01 02 06"
                           "02 fdefffffffffffffff01 00 05 02 00 01 0b 01 06"
                           "   10 00 00 00 00");
    /* A second call changes nothing. */
    bat_map_canonicalize(map);
    assert_int_equal(map->tables[0].equal_count, 2);
}
