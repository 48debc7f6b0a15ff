/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * decoder/lookup.c and blocks.c: look-ups in a map (BAT.md 8). The expected results are those of
 * the tables in BAT.md 13.3, or were worked out by hand from 8.1 to 8.3.
 */
#include "unit_test.h"
#include "worked_example.h"

/* --- Maps to ask ------------------------------------------------------------------------------ */

static struct bat_map *worked_example(void)
{
    struct note_bytes note = note_from_file(EXAMPLE_NOTE);
    return decode_note(&note, BAT_HOT_INDEX_TABLE);
}

/* A map of one hot function at address 0 with these entries. */
static struct bat_map *map_of_entries(const struct expected_entry *entries, uint32_t count)
{
    struct note_bytes note = note_begun("01 00 0000000000000000 00 00");
    put_entries(&note, entries, count);
    put_hex(&note, "00");
    finish_note(&note);
    return decode_note(&note, BAT_HOT_INDEX_TABLE);
}

/* --- Tables by address ------------------------------------------------------------------------ */

TEST(test_tables_by_address)
{
    struct bat_map *map = worked_example();
    static const struct {
        uint64_t address;
        uint32_t at;
        uint32_t containing;
    } cases[] = {
        {0, BAT_NONE, BAT_NONE},          {0x6001bf, BAT_NONE, BAT_NONE},
        {0x6001c0, WORK_COLD, WORK_COLD}, {0x6001c1, BAT_NONE, WORK_COLD},
        {0x7fffff, BAT_NONE, WORK_COLD},  {0x800000, LEAF, LEAF},
        {0x800003, BAT_NONE, LEAF},       {0x800004, WORK, WORK},
        {0x80003f, BAT_NONE, WORK},       {0x800040, START, START},
        {0x800041, BAT_NONE, START},      {UINT64_MAX, BAT_NONE, START},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(bat_map_table_at(map, cases[i].address), cases[i].at);
        assert_int_equal(bat_map_table_containing(map, cases[i].address), cases[i].containing);
    }
}

TEST(test_tables_at_the_extremes)
{
    struct bat_map *map = decode_description("0000");
    assert_int_equal(bat_map_table_at(map, 0), BAT_NONE);
    assert_int_equal(bat_map_table_containing(map, UINT64_MAX), BAT_NONE);

    /* Tables at 0 (which has an entry, as BOLT emitted it) and at 2^64 - 1. */
    map = decode_description("02 00 0000000000000000 00 00 01 00 00 00 0000000000000000 00"
                             "ffffffffffffffffff01 0000000000000000 00 00 00 00 00");
    assert_int_equal(bat_map_table_at(map, 0), 0);
    assert_int_equal(bat_map_table_containing(map, UINT64_MAX - 1), 0);
    assert_int_equal(bat_map_table_at(map, UINT64_MAX - 1), BAT_NONE);
    assert_int_equal(bat_map_table_at(map, UINT64_MAX), 1);
    assert_int_equal(bat_map_table_containing(map, UINT64_MAX), 1);
}

TEST(test_parent)
{
    struct bat_map *map = worked_example();
    assert_int_equal(bat_map_parent(map, LEAF), LEAF);
    assert_int_equal(bat_map_parent(map, WORK), WORK);
    assert_int_equal(bat_map_parent(map, WORK_COLD), WORK);
}

/* --- Where an address was: BAT.md 8.1 ------------------------------------------------------- */

/* The table of 13.3 by address, and what is outside of all tables. */
static const struct {
    struct bat_map_query query;
    bool found;
    struct bat_map_place place;
} places[] = {
    {{0x800004 + 0x15, true}, true, {WORK, WORK, 0x11}},
    {{0x800004 + 0x1a, false}, true, {WORK, WORK, 0x1b}},
    {{0x800004 + 0x26, true}, true, {WORK, WORK, 0x13}},
    {{0x800004 + 0x26, false}, true, {WORK, WORK, 0x17}},
    {{0x6001c0 + 0x5, true}, true, {WORK_COLD, WORK, 0x2c}},
    {{0x6001c0 + 0x7, false}, true, {WORK_COLD, WORK, 0x2e}},
    {{0x6001bf, false}, false, {BAT_NONE, BAT_NONE, 0x6001bf}},
    {{0, true}, false, {BAT_NONE, BAT_NONE, 0}},
    /* Nothing in the note says where the last table ends. */
    {{0x800040, false}, true, {START, START, 0}},
    {{0x800004, false}, true, {WORK, WORK, 0}},
    {{0x800000, false}, true, {LEAF, LEAF, 0}},
};

static void assert_place(const struct bat_map_place *found, const struct bat_map_place *expected)
{
    assert_int_equal(found->table, expected->table);
    assert_int_equal(found->function, expected->function);
    assert_int_equal(found->offset, expected->offset);
}

TEST(test_input_of)
{
    struct bat_map *map = worked_example();
    struct bat_map_query queries[COUNT(places)];
    struct bat_map_place found[COUNT(places)];
    for (size_t i = 0; i < COUNT(places); i++) {
        queries[i] = places[i].query;
        assert_int_equal(bat_map_input_of(map, queries[i].output_address,
                                          queries[i].is_branch_source, &found[i]),
                         places[i].found);
        assert_place(&found[i], &places[i].place);
    }
    /* All at once, from any of them on: what came before must not matter. */
    for (size_t i = 0; i < COUNT(places); i++) {
        bat_map_inputs_of(map, queries + i, COUNT(places) - i, found + i);
        for (size_t j = i; j < COUNT(places); j++)
            assert_place(&found[j], &places[j].place);
    }
    bat_map_inputs_of(map, NULL, 0, NULL);

    map = decode_description("0000");
    struct bat_map_query query = {.output_address = 5};
    assert_false(bat_map_input_of(map, 5, false, &found[0]));
    assert_place(&found[0], &(struct bat_map_place){BAT_NONE, BAT_NONE, 5});
    bat_map_inputs_of(map, &query, 1, &found[1]);
    assert_place(&found[1], &found[0]);
}

/* Every number that is no index, for every question about a table. */
TEST(test_no_table)
{
    struct bat_map *map = worked_example();
    const uint32_t none[] = {BAT_NONE, BAT_NONE - 1, START + WORK_COLD, WORK_COLD + 1};
    for (size_t i = 0; i < COUNT(none); i++) {
        struct bat_block block;
        struct bat_fallthrough pair;
        struct bat_fallthrough_walk walk = bat_map_fallthroughs(map, none[i], 0, 0x20);
        assert_int_equal(bat_map_parent(map, none[i]), BAT_NONE);
        assert_int_equal(bat_map_translate(map, none[i], 0x26, true), 0x26);
        assert_false(bat_map_is_unemitted(map, none[i]));
        assert_false(bat_fallthrough_next(&walk, &pair));
        assert_int_equal(bat_map_blocks(map, none[i], &block, 1), 0);
        assert_int_equal(bat_map_secondary_id(map, none[i], 0x1e), 0);
    }
}

/* --- Translate: BAT.md 8.1 -------------------------------------------------------------------- */

TEST(test_translate_worked_example)
{
    static const struct {
        uint32_t table;
        uint64_t offset;
        bool is_branch_source;
        uint64_t input_offset;
    } cases[] = {
        /* The table of 13.3, row by row. */
        {WORK, 0x15, true, 0x11},
        {WORK, 0x1a, false, 0x1b},
        {WORK, 0x26, true, 0x13},
        {WORK, 0x26, false, 0x17},
        {WORK, 0x27, false, 0x25},
        {WORK_COLD, 0x5, true, 0x2c},
        {WORK_COLD, 0x7, false, 0x2e},
        {BAT_NONE, 0x9, false, 0x9},
        /* The same addresses, with the other kind of look-up. */
        {WORK, 0x1a, true, 0x1a},
        {WORK, 0x27, true, 0x25},
        {WORK_COLD, 0x7, true, 0x2c},
        {BAT_NONE, 0x9, true, 0x9},
        /* Far beyond the last entry: 0x25 + (2^64 - 1 - 0x27), and 0x25. */
        {WORK, UINT64_MAX, false, UINT64_MAX - 2},
        {WORK, UINT64_MAX, true, 0x25},
        {WORK, 0x100000000, false, 0xfffffffe}, /* 0x25 + (2^32 - 0x27) */
        {WORK, 0x100000000, true, 0x25},
    };
    struct bat_map *map = worked_example();
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(
            bat_map_translate(map, cases[i].table, cases[i].offset, cases[i].is_branch_source),
            cases[i].input_offset);
}

/* BAT.md 13.5: the stray entry does not affect the fragment's own addresses. */
TEST(test_translate_stray_entry)
{
    struct note_bytes note = note_from_file(STRAY_ENTRY_NOTE);
    struct bat_map *map = decode_note(&note, BAT_HOT_INDEX_TABLE);
    assert_int_equal(bat_map_translate(map, 3, 0x11, true), 0x4c);
    assert_int_equal(bat_map_translate(map, 3, 0x20, false), 0x5b);
    assert_int_equal(bat_map_translate(map, 3, 0xffffffcf, true), 0x4c);
    assert_int_equal(bat_map_translate(map, 3, 0xffffffd0, true), 0xb);
}

/* --- Fall-throughs: BAT.md 8.2 ---------------------------------------------------------------- */

/* Check that a trace has these fall-throughs, as pairs of input offsets, and no more. */
static void assert_fallthroughs(const struct bat_map *map, uint32_t table, uint64_t from,
                                uint64_t to, const uint32_t (*pairs)[2], size_t count)
{
    struct bat_fallthrough_walk walk = bat_map_fallthroughs(map, table, from, to);
    struct bat_fallthrough pair;
    for (size_t i = 0; i < count; i++) {
        assert_true(bat_fallthrough_next(&walk, &pair));
        assert_int_equal(pair.from, pairs[i][0]);
        assert_int_equal(pair.to, pairs[i][1]);
    }
    assert_false(bat_fallthrough_next(&walk, &pair));
    /* It stays at the end. */
    assert_false(bat_fallthrough_next(&walk, &pair));
}

TEST(test_fallthroughs_worked_example)
{
    static const uint32_t first[][2] = {{0x4, 0x6}, {0x6, 0xc}};
    static const uint32_t second[][2] = {{0x6, 0xc}, {0xc, 0x18}, {0x18, 0x1a}, {0x1a, 0x1e}};
    struct bat_map *map = worked_example();
    assert_fallthroughs(map, WORK, 0x8, 0x15, first, 2);
    assert_fallthroughs(map, WORK, 0xc, 0x1f, second, 4);
    assert_fallthroughs(map, WORK, 0x10, 0x15, NULL, 0);
    assert_fallthroughs(map, WORK, 0x15, 0x8, NULL, 0);
    assert_fallthroughs(map, WORK_COLD, 0x0, 0xa, NULL, 0);
}

/* A table's walk neither starts in the previous table nor continues into the next. */
TEST(test_fallthroughs_stay_in_the_table)
{
    static const struct expected_entry first[] = {{0, 0x100, false, 1, 0}};
    static const struct expected_entry second[] = {{0, 0x9, true, 0, 0}, {2, 0x200, false, 1, 0}};
    struct note_bytes note = note_begun("02 10 0000000000000000 00 00");
    put_entries(&note, first, COUNT(first));
    put_hex(&note, "10 0000000000000000 00 00");
    put_entries(&note, second, COUNT(second));
    put_hex(&note, "00");
    finish_note(&note);
    struct bat_map *map = decode_note(&note, BAT_HOT_INDEX_TABLE);
    assert_fallthroughs(map, 1, 0, 8, NULL, 0);
    assert_fallthroughs(map, 0, 0, UINT64_MAX, NULL, 0);
}

/* BAT.md 8.1 and 8.2 taken literally. */
static uint64_t translated_by_the_text(const struct expected_entry *entries, uint32_t count,
                                       uint32_t offset, bool is_branch_source)
{
    const struct expected_entry *last = NULL;
    for (uint32_t i = 0; i < count; i++)
        if (entries[i].output <= offset)
            last = &entries[i];
    if (!last)
        return offset;
    return last->input + (is_branch_source ? 0 : offset - last->output);
}

static size_t fallthroughs_by_the_text(const struct expected_entry *entries, uint32_t count,
                                       uint32_t from, uint32_t to, uint32_t (*pairs)[2])
{
    const struct expected_entry *first = NULL;
    const struct expected_entry *last = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (entries[i].output <= from && !entries[i].is_branch)
            first = &entries[i];
        if (entries[i].output <= to)
            last = &entries[i];
    }
    if (from >= to || !first || !last || first->output >= last->output)
        return 0;
    size_t found = 0;
    uint32_t before = first->input;
    for (const struct expected_entry *entry = first + 1; entry <= last; entry++) {
        if (entry->is_branch)
            continue;
        pairs[found][0] = before;
        pairs[found++][1] = entry->input;
        before = entry->input;
    }
    return found;
}

static void assert_as_the_text(const struct expected_entry *entries, uint32_t count)
{
    struct bat_map *map = map_of_entries(entries, count);
    for (uint32_t from = 0; from < 10; from++) {
        for (int is_source = 0; is_source < 2; is_source++)
            assert_int_equal(bat_map_translate(map, 0, from, is_source),
                             translated_by_the_text(entries, count, from, is_source));
        for (uint32_t to = 0; to < 10; to++) {
            uint32_t pairs[4][2];
            size_t found = fallthroughs_by_the_text(entries, count, from, to, pairs);
            assert_fallthroughs(map, 0, from, to == 9 ? UINT64_MAX : to,
                                (const uint32_t(*)[2])pairs, found);
        }
    }
}

TEST(test_all_small_tables)
{
    /* Four entries, each 0 to 2 bytes after the previous one, and a block or a branch; and fewer.
     */
    for (unsigned kind = 0; kind < 6 * 6 * 6 * 6; kind++) {
        struct expected_entry entries[4];
        unsigned rest = kind;
        for (uint32_t i = 0, output = 0; i < 4; i++, rest /= 6) {
            output += rest % 3;
            entries[i] = (struct expected_entry){.output = output,
                                                 .input = 0x7fffffff - 0x10 * i,
                                                 .is_branch = rest % 6 >= 3,
                                                 .hash = 1};
        }
        assert_as_the_text(entries, 4);
        assert_as_the_text(entries, kind % 4);
    }
}

/* A table with an index (map_index.c), after a small table, so that no multiple of 512 is its first
   entry. */
#define LARGE 2100u

static struct bat_map *large_map(const struct expected_entry *entries)
{
    static const struct expected_entry first[] = {{0, 0x8, false, 1, 0}, {3, 0x9, true, 0, 0}};
    struct note_bytes note = note_begun("02 10 0000000000000000 00 00");
    put_entries(&note, first, COUNT(first));
    put_hex(&note, "10 0000000000000000 00 00");
    put_entries(&note, entries, LARGE);
    put_hex(&note, "00");
    finish_note(&note);
    return decode_note(&note, BAT_HOT_INDEX_TABLE);
}

TEST(test_fallthroughs_of_large_tables)
{
    static struct expected_entry entries[LARGE];
    static uint32_t pairs[LARGE][2];
    /* Where blocks are: at the start, at an end of 512 entries and beside it, and at the end. */
    static const uint32_t blocks[][6] = {{0, 0, 0, 0, 0, 0},
                                         {1, 2099, 2099, 2099, 2099, 2099},
                                         {509, 510, 511, 512, 513, 0},
                                         {1020, 1021, 1022, 1023, 1024, 1025},
                                         {5, 700, 1535, 1536, 1537, 2098}};
    for (size_t kind = 0; kind < COUNT(blocks); kind++) {
        for (uint32_t i = 0; i < LARGE; i++)
            entries[i] = (struct expected_entry){
                .output = i, .input = 2 * i + 1, .is_branch = true, .hash = 1};
        for (size_t i = 0; i < COUNT(blocks[kind]); i++)
            entries[blocks[kind][i]].is_branch = false;
        struct bat_map *map = large_map(entries);
        for (uint32_t from = 0; from < LARGE; from += 37) {
            for (uint32_t to = from + 1; to < LARGE + 100; to += 61) {
                size_t count = fallthroughs_by_the_text(entries, LARGE, from, to, pairs);
                assert_fallthroughs(map, 1, from, to, (const uint32_t(*)[2])pairs, count);
            }
        }
    }
}

/* --- Blocks: BAT.md 8.3 ----------------------------------------------------------------------- */

/* From 13.3: input offset and index, with the hashes of 13.2. */
static const struct bat_block work_blocks[] = {
    {0x6c001431ea2d0000, 0x00, 0}, {0x0d4ce23152370004, 0x04, 1},  {0xdffec8401d920006, 0x06, 2},
    {0x7e0d06e88b7e000c, 0x0c, 3}, {0xee97bcee4d0a0013, 0x13, 4},  {0xee977982580a0018, 0x18, 5},
    {0x161164be0f48001a, 0x1a, 6}, {0x4beee7150f48001e, 0x1e, 7},  {0x00ee16f5f3af0022, 0x22, 8},
    {0x00ee3623240f0023, 0x23, 9}, {0x00ee3623240f0025, 0x25, 10}, {0x004cf6804b9e0027, 0x27, 11},
};

static void assert_blocks(const struct bat_map *map, uint32_t table,
                          const struct bat_block *expected, uint32_t count)
{
    struct bat_block blocks[32];
    assert_int_equal(bat_map_blocks(map, table, blocks, COUNT(blocks)), count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(blocks[i].input_offset, expected[i].input_offset);
        assert_int_equal(blocks[i].index, expected[i].index);
        assert_int_equal(blocks[i].hash, expected[i].hash);
    }
}

TEST(test_blocks_worked_example)
{
    static const struct bat_block leaf[] = {{0xbd78ee300000, 0, 0}};
    struct bat_map *map = worked_example();
    assert_blocks(map, WORK, work_blocks, COUNT(work_blocks));
    /* The result for the fragment is the same. */
    assert_blocks(map, WORK_COLD, work_blocks, COUNT(work_blocks));
    assert_blocks(map, LEAF, leaf, COUNT(leaf));
}

TEST(test_blocks_capacity)
{
    struct bat_map *map = worked_example();
    struct bat_block blocks[COUNT(work_blocks)];
    for (uint32_t capacity = 0; capacity < COUNT(work_blocks); capacity++) {
        /* Exactly as much memory as capacity says, so that one block too many is noticed. */
        struct bat_block *few = capacity ? malloc(capacity * sizeof(*few)) : NULL;
        uint32_t needed = bat_map_blocks(map, WORK, few, capacity);
        free(few);
        assert_true(needed > capacity);
        assert_true(needed >= COUNT(work_blocks));
    }
    assert_int_equal(bat_map_blocks(map, WORK, blocks, COUNT(work_blocks)), COUNT(work_blocks));
}

/*
 * Two functions with two fragments each, their blocks scattered over the tables, some of them
 * twice; entries with hash 0 and index 0 are not blocks, except at offset 0 (BAT.md 6.3).
 */
static struct bat_map *scattered_blocks(void)
{
    static const struct expected_entry tables[][4] = {
        {{0, 0, false, 0, 0},
         {1, 0x30, false, 0xa3, 3},
         {2, 0x15, false, 0, 0},
         {3, 0x10, false, 0xa1, 1}},
        {{0, 0, false, 0xb0, 0},
         {1, 0x15, false, 0xb1, 1},
         {2, 0x16, true, 0, 0},
         {3, 0x20, false, 0xb2, 2}},
        {{0, 0x40, false, 0xb4, 4},
         {1, 0x20, false, 0xb2, 2},
         {2, 0, false, 0xb0, 0},
         {3, 0x48, true, 0, 0}},
        {{0, 0x20, false, 0xa2, 2},
         {1, 0x28, true, 0, 0},
         {2, 0x10, false, 0xa1, 1},
         {3, 0x50, false, 0, 5}},
        {{0, 0x30, false, 0xb3, 3},
         {1, 0x38, true, 0, 0},
         {2, 0x60, false, 0, 0},
         {3, 0x61, true, 0, 0}},
        {{0, 0x40, false, 0xa4, 0},
         {1, 0x48, true, 0, 0},
         {2, 0x49, true, 0, 0},
         {3, 0x4a, true, 0, 0}},
    };
    static const char *const parents[] = {"01", "ffffffffffffffffff01", "01",
                                          "ffffffffffffffffff01"}; /* 1, 0, 1, 0 */
    struct note_bytes note = note_begun("02");
    for (unsigned i = 0; i < 6; i++) {
        if (i == 2)
            put_hex(&note, "04");
        put_hex(&note, "8001");
        put_hex(&note, i < 2 ? "0000000000000000 0f 00" : parents[i - 2]);
        if (i >= 2)
            put_hex(&note, "00");
        put_entries(&note, tables[i], 4);
    }
    finish_note(&note);
    return decode_note(&note, BAT_HOT_INDEX_TABLE);
}

TEST(test_blocks_over_fragments)
{
    static const struct bat_block first[] = {
        {0, 0x00, 0},    {0xa1, 0x10, 1}, {0xa2, 0x20, 2},
        {0xa3, 0x30, 3}, {0xa4, 0x40, 0}, {0, 0x50, 5}, /* one of hash and index is enough */
    };
    static const struct bat_block second[] = {
        {0xb0, 0x00, 0}, {0xb1, 0x15, 1}, {0xb2, 0x20, 2}, {0xb3, 0x30, 3}, {0xb4, 0x40, 4},
    };
    struct bat_map *map = scattered_blocks();
    assert_blocks(map, 0, first, COUNT(first));
    assert_blocks(map, 3, first, COUNT(first));
    assert_blocks(map, 5, first, COUNT(first));
    assert_blocks(map, 1, second, COUNT(second));
    assert_blocks(map, 2, second, COUNT(second));
    assert_blocks(map, 4, second, COUNT(second));
}

TEST(test_blocks_with_made_ones)
{
    static const struct bat_block first[] = {
        {0, 0x00, 0},    {0xa1, 0x10, 1}, {0, 0x15, 0}, {0xa2, 0x20, 2},
        {0xa3, 0x30, 3}, {0xa4, 0x40, 0}, {0, 0x50, 5},
    };
    static const struct bat_block second[] = {
        {0xb0, 0x00, 0}, {0xb1, 0x15, 1}, {0xb2, 0x20, 2},
        {0xb3, 0x30, 3}, {0xb4, 0x40, 4}, {0, 0x60, 0},
    };
    static const uint32_t counts[] = {COUNT(first), COUNT(second)};
    const struct bat_block *const expected[] = {first, second};
    struct bat_map *map = scattered_blocks();
    for (uint32_t table = 0; table < bat_map_tables(map); table++) {
        uint32_t function = bat_map_parent(map, table);
        struct bat_block blocks[16];
        assert_int_equal(bat_map_noted_blocks(map, table, blocks, COUNT(blocks)), counts[function]);
        assert_memory_equal(blocks, expected[function], counts[function] * sizeof(*blocks));
    }
    assert_int_equal(bat_map_noted_blocks(map, BAT_NONE, NULL, 0), 0);
}

TEST(test_no_blocks)
{
    static const struct expected_entry branches[] = {{0, 1, true, 0, 0}};
    struct bat_map *map = map_of_entries(branches, 1);
    assert_int_equal(bat_map_blocks(map, 0, NULL, 0), 0);
}

TEST(test_block_at)
{
    const uint32_t count = COUNT(work_blocks);
    assert_int_equal(bat_block_at(work_blocks, count, 0), 0);
    assert_int_equal(bat_block_at(work_blocks, count, 3), 0);
    assert_int_equal(bat_block_at(work_blocks, count, 4), 1);
    assert_int_equal(bat_block_at(work_blocks, count, 0x24), 9);
    assert_int_equal(bat_block_at(work_blocks, count, 0x27), 11);
    assert_int_equal(bat_block_at(work_blocks, count, UINT64_MAX), 11);
    /* 2^32 does not wrap to 0. */
    assert_int_equal(bat_block_at(work_blocks, count, 0x100000000), 11);
    assert_int_equal(bat_block_at(work_blocks + 1, count - 1, 3), BAT_NONE);
    assert_int_equal(bat_block_at(NULL, 0, 0), BAT_NONE);
}

/* --- Secondary entry points: BAT.md 6.4 ------------------------------------------------------- */

TEST(test_secondary_id)
{
    struct bat_map *map = worked_example();
    assert_int_equal(bat_map_secondary_id(map, WORK, 0x1e), 1);
    assert_int_equal(bat_map_secondary_id(map, WORK, 0x22), 2);
    assert_int_equal(bat_map_secondary_id(map, WORK_COLD, 0x22), 2);
    assert_int_equal(bat_map_secondary_id(map, WORK, 0), 0);
    assert_int_equal(bat_map_secondary_id(map, WORK, 0x1f), 0);
    assert_int_equal(bat_map_secondary_id(map, WORK, 0x10000001e), 0);
    assert_int_equal(bat_map_secondary_id(map, LEAF, 0x1e), 0);
    assert_int_equal(bat_map_secondary_id(map, START, 0x1e), 0);

    /* Two functions: each has its own ids, and of repeated offsets the first counts. */
    map = decode_description("02 01 0000000000000000 00 02 00 00 05 05"
                             "   01 0000000000000000 00 03 00 00 07 fbffffff0f 05 00");
    assert_int_equal(bat_map_secondary_id(map, 0, 5), 1);
    assert_int_equal(bat_map_secondary_id(map, 0, 10), 2);
    assert_int_equal(bat_map_secondary_id(map, 0, 7), 0);
    assert_int_equal(bat_map_secondary_id(map, 1, 7), 1);
    assert_int_equal(bat_map_secondary_id(map, 1, 2), 2);
    assert_int_equal(bat_map_secondary_id(map, 1, 10), 0);
}

/* Enough entry points for an index (map_index.c), in the order of their offsets and in another. */
TEST(test_many_secondary_ids)
{
    for (uint32_t factor = 1; factor < 100; factor += 36) {
        uint32_t offsets[100];
        struct note_bytes note =
            note_begun("02 10 0000000000000000 00 01 00 00 07 10 0000000000000000 00 64 00 00");
        for (uint32_t i = 0; i < COUNT(offsets); i++) {
            /* The last ten are there twice. */
            offsets[i] = 3 * (i * factor % 90) + 0xffff0000;
            put_uleb(&note, i ? offsets[i] - offsets[i - 1] : offsets[i]);
        }
        put_hex(&note, "00");
        finish_note(&note);
        struct bat_map *map = decode_note(&note, BAT_HOT_INDEX_TABLE);
        for (uint64_t offset = 0xfffefff0; offset < 0x100000200; offset++) {
            uint32_t id = 0;
            for (uint32_t i = COUNT(offsets); i-- > 0;)
                if (offsets[i] == offset)
                    id = i + 1;
            assert_int_equal(bat_map_secondary_id(map, 1, offset), id);
        }
        assert_int_equal(bat_map_secondary_id(map, 1, 0xffff0000ffff0000), 0);
        assert_int_equal(bat_map_secondary_id(map, 0, 7), 1);
    }
}
