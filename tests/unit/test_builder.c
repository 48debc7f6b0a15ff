/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* encoder/builder.c: maps from tables and entries in any order. */
#include "bat_encoder.h"
#include "kept.h"
#include "unit_test.h"
#include "worked_example.h"

/* --- Adding what must be accepted ----------------------------------------------------------- */

static uint32_t add_function(struct bat_builder *builder, uint64_t address, uint64_t hash,
                             uint32_t blocks)
{
    uint32_t table = BAT_NONE;
    assert_ok(bat_builder_add_function(builder, address, hash, blocks, &table, NULL));
    assert_int_not_equal(table, BAT_NONE);
    return table;
}

static uint32_t add_fragment(struct bat_builder *builder, uint64_t address, uint32_t parent)
{
    uint32_t table = BAT_NONE;
    assert_ok(bat_builder_add_fragment(builder, address, parent, &table, NULL));
    return table;
}

static void add_entry(struct bat_builder *builder, uint32_t table,
                      const struct expected_entry *entry)
{
    enum bat_code code =
        entry->is_branch ? bat_builder_add_branch(builder, table, entry->output, entry->input, NULL)
                         : bat_builder_add_block(builder, table, entry->output, entry->input,
                                                 entry->hash, entry->index, NULL);
    assert_ok(code);
}

static struct bat_map *finish(struct bat_builder *builder, enum bat_hot_index hot_index)
{
    const struct bat_builder_options options = {.size = sizeof(options), .hot_index = hot_index};
    struct bat_map *map = finish_map(builder, &options);
    assert_non_null(map);
    assert_int_equal(map->version, BAT_VERSION_3);
    assert_int_equal(map->hot_index, hot_index);
    assert_false(map->hot_index_ambiguous);
    assert_map_is_sound(map);
    return map;
}

/* --- The finished map ----------------------------------------------------------------------- */

TEST(test_empty)
{
    struct bat_builder *builder = new_builder();
    struct bat_map *map = finish(builder, BAT_HOT_INDEX_TABLE);
    assert_int_equal(bat_map_tables(map), 0);
    struct note_bytes note = note_of("0000");
    assert_encodes(map, &note);
    bat_builder_free(NULL);
}

/* The worked example's tables, with the handle of each. */
struct example {
    const struct expected_entry *entries;
    uint32_t count;
    uint32_t handle;
};

#define EXAMPLE_TABLES                                                                             \
    {                                                                                              \
        [LEAF] = {leaf_entries, COUNT(leaf_entries), 0},                                           \
        [WORK] = {work_entries, COUNT(work_entries), 0},                                           \
        [START] = {start_entries, COUNT(start_entries), 0}, [WORK_COLD] = {                        \
            work_cold_entries,                                                                     \
            COUNT(work_cold_entries),                                                              \
            0                                                                                      \
        }                                                                                          \
    }

static void add_example_tables(struct bat_builder *builder, struct example *tables)
{
    /* Not in the order of their addresses, which only the handles show. */
    tables[START].handle = add_function(builder, 0x800040, 0xd03ca07f366e290f, 3);
    tables[WORK].handle = add_function(builder, 0x800004, 0x11aec73d9a8017aa, 12);
    tables[WORK_COLD].handle = add_fragment(builder, 0x6001c0, tables[WORK].handle);
    tables[LEAF].handle = add_function(builder, 0x800000, 0x96a1c40a63f0b78d, 1);
    assert_ok(bat_builder_add_secondary(builder, tables[WORK].handle, 0x1e, NULL));
    assert_ok(bat_builder_add_secondary(builder, tables[WORK].handle, 0x22, NULL));
}

/* BAT.md 13.2 from its parts gives the bytes that BOLT wrote, and with merged indices 13.4. */
TEST(test_worked_example)
{
    struct bat_builder *builder = new_builder();
    for (int round = 0; round < 2; round++) {
        struct example tables[] = EXAMPLE_TABLES;
        add_example_tables(builder, tables);
        for (uint32_t i = 0; i < 4; i++)
            for (uint32_t j = 0; j < tables[i].count; j++)
                add_entry(builder, tables[i].handle, &tables[i].entries[j]);
        struct bat_map *map = finish(builder, round ? BAT_HOT_INDEX_MERGED : BAT_HOT_INDEX_TABLE);
        for (uint32_t i = 0; i < 4; i++)
            assert_entries(map, i, tables[i].entries, tables[i].count);
        assert_int_equal(map->tables[WORK].equal_count, 2);
        assert_int_equal(map->tables[WORK_COLD].skew, 0x27);
        assert_int_equal(map->tables[WORK_COLD].equal_count, 3);
        assert_int_equal(map->tables[WORK_COLD].parent, WORK);
        struct note_bytes note = note_from_file(round ? EXAMPLE_NOTE_BOLT_19 : EXAMPLE_NOTE);
        assert_encodes(map, &note);
    }
}

/* Entries of all tables in turn, and each table's from its last to its first. */
TEST(test_entries_in_any_order)
{
    struct bat_builder *builder = new_builder();
    struct example tables[] = EXAMPLE_TABLES;
    add_example_tables(builder, tables);
    for (uint32_t left = 16; left-- > 0;) {
        for (uint32_t i = 0; i < 4; i++) {
            if (left >= tables[i].count)
                continue;
            /* The two at output offset 0x27 of `work` must keep their order. */
            uint32_t entry = left;
            if (i == WORK && left >= 14)
                entry = left == 15 ? 14 : 15;
            add_entry(builder, tables[i].handle, &tables[i].entries[entry]);
        }
    }
    struct bat_map *map = finish(builder, BAT_HOT_INDEX_TABLE);
    struct note_bytes note = note_from_file(EXAMPLE_NOTE);
    assert_encodes(map, &note);
}

TEST(test_equal_offsets_keep_their_order)
{
    static const struct expected_entry added[] = {
        {9, 1, true, 0, 0},    {5, 0x40, false, 4, 4}, {5, 0x20, false, 2, 2}, {0, 7, false, 1, 1},
        {5, 0x30, true, 0, 0}, {0, 6, false, 0, 0},    {5, 0x10, false, 3, 3}, {9, 1, true, 0, 0},
    };
    static const struct expected_entry sorted[] = {
        {0, 7, false, 1, 1},    {0, 6, false, 0, 0},   {5, 0x40, false, 4, 4},
        {5, 0x20, false, 2, 2}, {5, 0x30, true, 0, 0}, {5, 0x10, false, 3, 3},
        {9, 1, true, 0, 0},     {9, 1, true, 0, 0},
    };
    struct bat_builder *builder = new_builder();
    uint32_t table = add_function(builder, 1, 2, 3);
    for (size_t i = 0; i < COUNT(added); i++)
        add_entry(builder, table, &added[i]);
    struct bat_map *map = finish(builder, BAT_HOT_INDEX_TABLE);
    assert_entries(map, 0, sorted, COUNT(sorted));
}

TEST(test_secondary_entry_points)
{
    /* Added to the functions in turn; each function keeps its own in the order of adding. */
    struct bat_builder *builder = new_builder();
    uint32_t high = add_function(builder, 0x20, 0, 0);
    uint32_t low = add_function(builder, 0x10, 0, 0);
    uint32_t none = add_function(builder, 0x18, 0, 0);
    static const uint64_t points[] = {5, 0xffffffff, 3, 3, 0, 9};
    for (size_t i = 0; i < COUNT(points); i++)
        assert_ok(bat_builder_add_secondary(builder, i % 2 ? low : high, points[i], NULL));
    struct bat_map *map = finish(builder, BAT_HOT_INDEX_TABLE);
    static const uint32_t expected[] = {0xffffffff, 3, 9, 5, 3, 0};
    assert_int_equal(map->secondary_count, 6);
    assert_memory_equal(map->secondary_entries, expected, sizeof(expected));
    assert_int_equal(bat_map_secondary_id(map, 0, 9), 3);
    assert_int_equal(map->tables[1].secondary_count, 0);
    assert_int_equal(bat_map_secondary_id(map, 2, 3), 2);
    assert_int_equal(none, 2); /* handles count up from 0 */
}

/* BAT.md 12: the largest value of every field. */
TEST(test_limits)
{
    struct bat_builder *builder = new_builder();
    uint32_t first = add_function(builder, UINT64_MAX, UINT64_MAX, UINT32_MAX);
    uint32_t fragment = add_fragment(builder, 0, first);
    static const struct expected_entry largest = {0xffffffff, 0x7fffffff, false, UINT64_MAX,
                                                  UINT32_MAX};
    static const struct expected_entry branch = {0xffffffff, 0x7fffffff, true, 0, 0};
    add_entry(builder, first, &largest);
    add_entry(builder, fragment, &branch);
    assert_ok(bat_builder_add_secondary(builder, first, UINT32_MAX, NULL));
    struct bat_map *map = finish(builder, BAT_HOT_INDEX_TABLE);
    assert_int_equal(map->tables[0].address, UINT64_MAX);
    assert_int_equal(map->tables[0].hash, UINT64_MAX);
    assert_int_equal(map->tables[0].input_block_count, UINT32_MAX);
    assert_entries(map, 0, &largest, 1);
    assert_entries(map, 1, &branch, 1);
    /* 0xffffffff + 0x7fffffff is not 0x7fffffff modulo 2^32. */
    assert_int_equal(map->tables[1].skew, 0x7fffffff);
    assert_int_equal(map->tables[1].equal_count, 0);
}

/* --- What is refused ------------------------------------------------------------------------ */

static void assert_refused(enum bat_code got, enum bat_code code, const struct bat_error *error)
{
    assert_int_equal(got, code);
    assert_int_equal(error->code, code);
    assert_int_equal(error->place, BAT_PLACE_NONE);
    assert_non_null(strstr(error->message, "expected "));
    assert_non_null(strstr(error->message, "found "));
}

TEST(test_wrong_handles)
{
    struct bat_builder *builder = new_builder();
    struct bat_error error = {0};
    uint32_t table = 77;
    /* No table yet. */
    assert_refused(bat_builder_add_fragment(builder, 1, 0, &table, &error), BAT_ERR_ARGUMENT,
                   &error);
    assert_refused(bat_builder_add_block(builder, 0, 0, 0, 0, 0, &error), BAT_ERR_ARGUMENT, &error);
    assert_refused(bat_builder_add_branch(builder, BAT_NONE, 0, 0, &error), BAT_ERR_ARGUMENT,
                   &error);
    assert_refused(bat_builder_add_secondary(builder, 0, 0, &error), BAT_ERR_ARGUMENT, &error);
    assert_int_equal(bat_builder_add_block(builder, 0, 0, 0, 0, 0, NULL), BAT_ERR_ARGUMENT);
    assert_int_equal(table, 77);

    uint32_t hot = add_function(builder, 1, 0, 0);
    uint32_t fragment = add_fragment(builder, 2, hot);
    /* A fragment as parent, and a table that does not exist yet. */
    assert_refused(bat_builder_add_fragment(builder, 3, fragment, &table, &error), BAT_ERR_ARGUMENT,
                   &error);
    assert_refused(bat_builder_add_fragment(builder, 3, 2, &table, &error), BAT_ERR_ARGUMENT,
                   &error);
    assert_refused(bat_builder_add_fragment(builder, 3, BAT_NONE, &table, &error), BAT_ERR_ARGUMENT,
                   &error);
    assert_refused(bat_builder_add_secondary(builder, fragment, 5, &error), BAT_ERR_ARGUMENT,
                   &error);
    assert_refused(bat_builder_add_branch(builder, 2, 0, 0, &error), BAT_ERR_ARGUMENT, &error);

    /* Nothing that was refused is in the map. */
    struct bat_map *map = finish(builder, BAT_HOT_INDEX_TABLE);
    struct note_bytes note = note_of("01 01 0000000000000000 00 00 00 00 01 01 00 00 00 00");
    assert_encodes(map, &note);
}

TEST(test_numbers_out_of_range)
{
    struct bat_builder *builder = new_builder();
    uint32_t table = add_function(builder, 0x1000, 0, 0);
    static const uint64_t too_large[] = {0x100000000, UINT64_MAX};
    struct bat_error error = {0};
    for (size_t i = 0; i < COUNT(too_large); i++) {
        uint64_t offset = too_large[i];
        assert_refused(bat_builder_add_block(builder, table, offset, 0, 0, 0, &error),
                       BAT_ERR_RANGE, &error);
        assert_refused(bat_builder_add_branch(builder, table, offset, 0, &error), BAT_ERR_RANGE,
                       &error);
        assert_refused(bat_builder_add_secondary(builder, table, offset, &error), BAT_ERR_RANGE,
                       &error);
        assert_non_null(strstr(error.message, "table at 0x1000"));
    }
    assert_refused(bat_builder_add_block(builder, table, 0, 0x80000000, 0, 0, &error),
                   BAT_ERR_RANGE, &error);
    assert_refused(bat_builder_add_branch(builder, table, 0, 0x80000000, &error), BAT_ERR_RANGE,
                   &error);
    assert_refused(bat_builder_add_branch(builder, table, 0, 0x100000000, &error), BAT_ERR_RANGE,
                   &error);
    struct bat_map *map = finish(builder, BAT_HOT_INDEX_TABLE);
    assert_int_equal(map->entry_count, 0);
    assert_int_equal(map->block_count, 0);
    assert_int_equal(map->secondary_count, 0);
}

static void assert_finish_fails(struct bat_builder *builder, unsigned hot_index, enum bat_code code)
{
    struct bat_map *map = (struct bat_map *)builder;
    struct bat_error error = {0};
    const struct bat_builder_options options = {.size = sizeof(options),
                                                .hot_index = (enum bat_hot_index)hot_index};
    assert_refused(bat_builder_finish(builder, &options, &map, &error), code, &error);
    assert_null(map);
}

TEST(test_same_address_twice)
{
    struct bat_builder *builder = new_builder();
    uint32_t hot = add_function(builder, 0x10, 0, 0);
    add_function(builder, 0x20, 0, 0);
    add_function(builder, 0x10, 0, 0);
    add_entry(builder, hot, &leaf_entries[0]);
    assert_finish_fails(builder, BAT_HOT_INDEX_TABLE, BAT_ERR_ORDER);

    hot = add_function(builder, 0x10, 0, 0);
    add_fragment(builder, 0x20, hot);
    add_fragment(builder, 0x20, hot);
    assert_finish_fails(builder, BAT_HOT_INDEX_TABLE, BAT_ERR_ORDER);

    hot = add_function(builder, 0x10, 0, 0);
    add_fragment(builder, 0x10, hot);
    assert_finish_fails(builder, BAT_HOT_INDEX_MERGED, BAT_ERR_ORDER);

    /* The last hot function and the first fragment are neighbours in the map, but not the same. */
    add_fragment(builder, 0x20, add_function(builder, 0x10, 0, 0));
    finish(builder, BAT_HOT_INDEX_TABLE);
}

/* The builder is empty after bat_builder_finish(), and can be used again. */
TEST(test_used_again)
{
    struct bat_builder *builder = new_builder();
    struct note_bytes note = note_of("01 07 0000000000000000 00 00 00 00 00");
    for (int round = 0; round < 3; round++) {
        uint32_t table = add_function(builder, 1, 0, 0);
        add_fragment(builder, 2, table);
        add_entry(builder, table, &leaf_entries[0]);
        assert_ok(bat_builder_add_secondary(builder, table, 1, NULL));
        static const unsigned forms[] = {4, 3, BAT_HOT_INDEX_TABLE};
        if (round < 2)
            assert_finish_fails(builder, forms[round], BAT_ERR_ARGUMENT);
        else
            finish(builder, BAT_HOT_INDEX_TABLE);
        /* The old handle is not valid any more ... */
        assert_int_equal(bat_builder_add_branch(builder, table, 0, 0, NULL), BAT_ERR_ARGUMENT);
        /* ... and nothing that was added before is left. */
        add_function(builder, 7, 0, 0);
        struct bat_map *map = finish(builder, BAT_HOT_INDEX_TABLE);
        assert_encodes(map, &note);
    }
    /* A builder that was not finished is freed completely. */
    add_entry(builder, add_function(builder, 1, 0, 0), &leaf_entries[0]);
}
