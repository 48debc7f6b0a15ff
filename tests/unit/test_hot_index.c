/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* decoder/hot_index.c: how hot indices are read, by the rules of BAT.md 7.2. */
#include "unit_test.h"
#include "worked_example.h"

/* --- Notes with tables at given addresses --------------------------------------------------- */

#define MOST_TABLES 16u

struct wanted_table {
    uint64_t address;
    uint64_t number; /* NumBlocks of a hot function, HotIndex of a fragment */
    struct expected_entry entries[3];
    uint32_t count;
};

/* index_offsets (may be NULL) gets the offsets of the fragments' HotIndex fields. */
static struct note_bytes note_of_tables(const struct wanted_table *hot, uint32_t hot_count,
                                        const struct wanted_table *cold, uint32_t cold_count,
                                        size_t *index_offsets)
{
    struct note_bytes note = note_begun("");
    uint64_t address = 0;
    uint64_t index = 0;
    put_uleb(&note, hot_count);
    for (uint32_t i = 0; i <= hot_count + cold_count; i++) {
        if (i == hot_count)
            put_uleb(&note, cold_count);
        if (i == hot_count + cold_count)
            break;
        bool is_hot = i < hot_count;
        const struct wanted_table *table = is_hot ? &hot[i] : &cold[i - hot_count];
        put_uleb(&note, table->address - address);
        if (is_hot) {
            put_word(&note, 0x8877665544332211, 8); /* no note of version 2 has such bytes */
            put_uleb(&note, table->number);
            put_hex(&note, "00");
        } else {
            if (index_offsets)
                index_offsets[i - hot_count] = note.size;
            put_uleb(&note, table->number - index);
            index = table->number;
            put_hex(&note, "00");
        }
        put_entries(&note, table->entries, table->count);
        address = table->address + (table->count ? table->entries[table->count - 1].output : 0);
    }
    finish_note(&note);
    return note;
}

/* --- Which readings fit --------------------------------------------------------------------- */

/*
 * Two hot functions above a fragment with this hot index: by address the tables are the fragment,
 * hot function 0, hot function 1.
 */
static struct note_bytes fragment_below(uint64_t index, size_t *index_offset)
{
    static const struct wanted_table hot[] = {{.address = 0x1000}, {.address = 0x2000}};
    const struct wanted_table cold = {.address = 0x100, .number = index};
    return note_of_tables(hot, 2, &cold, 1, index_offset);
}

static void assert_reading(const struct note_bytes *note, enum bat_hot_index wanted,
                           enum bat_hot_index form, bool is_ambiguous, uint32_t parent)
{
    struct bat_map *map = decode_note(note, wanted);
    assert_int_equal(map->hot_index, form);
    assert_int_equal(map->hot_index_ambiguous, is_ambiguous);
    assert_int_equal(map->tables[map->hot_count].parent, parent);
    assert_map_is_sound(map);
}

/* --- Both fit: what the blocks say ---------------------------------------------------------- */

/*
 * As in fragment_below(1), the table reading makes hot function 1 the parent, the merged reading
 * hot function 0. `tables` are hot function 0, hot function 1, fragment.
 */
static void assert_blocks_speak_for(const struct wanted_table *tables, enum bat_hot_index form)
{
    struct wanted_table placed[3] = {tables[0], tables[1], tables[2]};
    placed[0].address = 0x1000;
    placed[1].address = 0x2000;
    placed[2].address = 0x100;
    placed[2].number = 1;
    struct note_bytes note = note_of_tables(placed, 2, placed + 2, 1, NULL);
    assert_reading(&note, BAT_HOT_INDEX_AUTO, form, true, form == BAT_HOT_INDEX_TABLE);
}

#define BLOCK(offset, block_hash, block_index)                                                     \
    {                                                                                              \
        .input = (offset), .hash = (block_hash), .index = (block_index)                            \
    }

TEST(test_number_of_blocks_decides)
{
    /* Block 1 is beyond a function of one block. */
    struct wanted_table tables[] = {
        {.number = 2, .entries = {BLOCK(0, 0xa, 0)}, .count = 1},
        {.number = 1, .entries = {BLOCK(0, 0xb, 0)}, .count = 1},
        {.entries = {BLOCK(0x20, 0xc, 1)}, .count = 1},
    };
    assert_blocks_speak_for(tables, BAT_HOT_INDEX_MERGED);
    tables[0].number = 1;
    tables[1].number = 2;
    assert_blocks_speak_for(tables, BAT_HOT_INDEX_TABLE);
    /* Beyond both functions, or within both: the documented reading. */
    tables[1].number = 1;
    assert_blocks_speak_for(tables, BAT_HOT_INDEX_TABLE);
    tables[0].number = tables[1].number = 2;
    assert_blocks_speak_for(tables, BAT_HOT_INDEX_TABLE);
}

TEST(test_order_of_blocks_decides)
{
    /* In function 1 the fragment's block 2 at 0x20 comes before block 1 at 0x40. */
    struct wanted_table tables[] = {
        {.number = 3, .entries = {BLOCK(0, 0xa, 0), BLOCK(0x10, 0xa, 1)}, .count = 2},
        {.number = 3, .entries = {BLOCK(0, 0xb, 0), BLOCK(0x40, 0xb, 1)}, .count = 2},
        {.entries = {BLOCK(0x20, 0xc, 2)}, .count = 1},
    };
    assert_blocks_speak_for(tables, BAT_HOT_INDEX_MERGED);
    tables[1].entries[1].input = 0x18; /* now block 1 comes first */
    assert_blocks_speak_for(tables, BAT_HOT_INDEX_TABLE);
    /* Two offsets with one index. */
    tables[1].entries[1].index = 2;
    assert_blocks_speak_for(tables, BAT_HOT_INDEX_MERGED);
}

TEST(test_block_in_two_tables_decides)
{
    struct wanted_table tables[] = {
        {.number = 2, .entries = {BLOCK(0, 0xa, 0)}, .count = 1},
        {.number = 2, .entries = {BLOCK(0, 0xb, 0), BLOCK(0x20, 0xb2, 1)}, .count = 2},
        {.entries = {BLOCK(0x20, 0xc, 1)}, .count = 1},
    };
    /* The same offset in two tables has the same hash and index. */
    assert_blocks_speak_for(tables, BAT_HOT_INDEX_MERGED);
    tables[1].entries[1].hash = 0xc;
    assert_blocks_speak_for(tables, BAT_HOT_INDEX_TABLE);
    tables[0].number = tables[1].number = 3;
    tables[1].entries[1].index = 2;
    assert_blocks_speak_for(tables, BAT_HOT_INDEX_MERGED);
}

TEST(test_entries_that_are_no_blocks)
{
    /* Entries with hash and index 0 (BAT.md 6.3) and branches do not count. */
    struct wanted_table tables[] = {
        {.number = 2, .entries = {BLOCK(0, 0xa, 0)}, .count = 1},
        {.number = 2, .entries = {BLOCK(0, 0xb, 0), BLOCK(0x20, 0xb2, 1)}, .count = 2},
        {.entries = {BLOCK(0x20, 0, 0), {.input = 0x20, .is_branch = true}}, .count = 2},
    };
    assert_blocks_speak_for(tables, BAT_HOT_INDEX_TABLE);
}

TEST(test_fewer_contradictions_win)
{
    /* Block 5 is beyond both functions; in function 1 block 4 also follows it. */
    struct wanted_table tables[] = {
        {.number = 2, .entries = {BLOCK(0, 0xa, 0)}, .count = 1},
        {.number = 5, .entries = {BLOCK(0, 0xb, 0), BLOCK(0x40, 0xb, 4)}, .count = 2},
        {.entries = {BLOCK(0x20, 0xc, 5)}, .count = 1},
    };
    assert_blocks_speak_for(tables, BAT_HOT_INDEX_MERGED);
    /* If a lower block follows it in function 0 too, both readings have two contradictions. */
    tables[0].entries[1] = (struct expected_entry)BLOCK(0x40, 0xa, 1);
    tables[0].count = 2;
    assert_blocks_speak_for(tables, BAT_HOT_INDEX_TABLE);
}

/* Contradictions within a function occur in both readings, and do not decide. */
TEST(test_contradiction_within_a_function)
{
    const struct wanted_table tables[] = {
        {.number = 2, .entries = {BLOCK(0, 0xa, 0)}, .count = 1},
        {.number = 2, .entries = {BLOCK(0, 0xb, 1), BLOCK(0x10, 0xb, 0)}, .count = 2},
        {.entries = {BLOCK(0x20, 0xc, 1)}, .count = 1},
    };
    assert_blocks_speak_for(tables, BAT_HOT_INDEX_TABLE);
}

/* The last block of one function and the first block of the next are not compared. */
TEST(test_functions_are_apart)
{
    const struct wanted_table tables[] = {
        {.number = 2}, /* all its blocks are in the fragment */
        {.number = 1, .entries = {BLOCK(0, 0xb, 0)}, .count = 1},
        {.entries = {BLOCK(0x20, 0xc, 1)}, .count = 1},
    };
    assert_blocks_speak_for(tables, BAT_HOT_INDEX_MERGED);
}

/* --- The other way afterwards --------------------------------------------------------------- */

static void assert_set_fails(struct bat_map *map, unsigned form, enum bat_code code)
{
    const enum bat_hot_index before = map->hot_index;
    const uint32_t parent = map->tables[map->hot_count].parent;
    struct bat_error error = {0};
    assert_int_equal(bat_map_set_hot_index(map, (enum bat_hot_index)form, &error), code);
    assert_int_equal(error.code, code);
    assert_non_null(strstr(error.message, "expected "));
    assert_int_equal(bat_map_set_hot_index(map, (enum bat_hot_index)form, NULL), code);
    assert_int_equal(map->hot_index, before);
    assert_int_equal(map->tables[map->hot_count].parent, parent);
    assert_map_is_sound(map);
}

TEST(test_set_what_does_not_fit)
{
    struct note_bytes note = fragment_below(0, NULL);
    struct bat_map *map = decode_note(&note, BAT_HOT_INDEX_AUTO);
    assert_set_fails(map, BAT_HOT_INDEX_MERGED, BAT_ERR_HOT_INDEX);
    assert_set_fails(map, BAT_HOT_INDEX_AUTO, BAT_ERR_ARGUMENT);
    assert_set_fails(map, 3, BAT_ERR_ARGUMENT);

    note = fragment_below(2, NULL);
    map = decode_note(&note, BAT_HOT_INDEX_AUTO);
    assert_set_fails(map, BAT_HOT_INDEX_TABLE, BAT_ERR_HOT_INDEX);
}

/* The worked example of BOLT 19 (BAT.md 13.4): `_start` is the wrong parent, `work` the right. */
TEST(test_set_in_worked_example)
{
    struct note_bytes note = note_from_file(EXAMPLE_NOTE_BOLT_19);
    struct bat_map *map = decode_note(&note, BAT_HOT_INDEX_AUTO);
    struct bat_block blocks[16];
    assert_int_equal(bat_map_blocks(map, WORK, blocks, 16), 12);
    assert_ok(bat_map_set_hot_index(map, BAT_HOT_INDEX_TABLE, NULL));
    assert_int_equal(bat_map_parent(map, WORK_COLD), START);
    assert_int_equal(bat_map_blocks(map, WORK, blocks, 16), 11);
    assert_ok(bat_map_set_hot_index(map, BAT_HOT_INDEX_MERGED, NULL));
    assert_int_equal(bat_map_parent(map, WORK_COLD), WORK);
    assert_int_equal(bat_map_blocks(map, WORK, blocks, 16), 12);
}

/* --- Layouts at random, against the text ---------------------------------------------------- */

/* Tables at 0x10, 0x20 and so on, each hot or cold; and the fragments' indices. */
struct layout {
    struct wanted_table hot[MOST_TABLES];
    struct wanted_table cold[MOST_TABLES];
    uint32_t hot_count;
    uint32_t cold_count;
    uint32_t merged[MOST_TABLES]; /* by position: index of the hot function, or BAT_NONE */
};

static uint32_t parent_by_the_text(const struct layout *layout, enum bat_hot_index form,
                                   uint64_t index)
{
    if (form == BAT_HOT_INDEX_TABLE)
        return index < layout->hot_count ? (uint32_t)index : BAT_NONE;
    return layout->merged[index];
}

/* The first fragment whose index names no hot function, or BAT_NONE. */
static uint32_t misfit_by_the_text(const struct layout *layout, enum bat_hot_index form)
{
    for (uint32_t i = 0; i < layout->cold_count; i++)
        if (parent_by_the_text(layout, form, layout->cold[i].number) == BAT_NONE)
            return i;
    return BAT_NONE;
}

static struct layout random_layout(uint32_t *seed)
{
    struct layout layout = {.hot_count = 0};
    uint32_t tables = 0;
    for (; tables < 8; tables++) {
        *seed = *seed * 1664525 + 1013904223;
        bool is_hot = *seed >> 30 != 0;
        layout.merged[tables] = is_hot ? layout.hot_count : BAT_NONE;
        uint64_t address = 0x10 * (tables + 1);
        if (is_hot)
            layout.hot[layout.hot_count++].address = address;
        else
            layout.cold[layout.cold_count++].address = address;
    }
    for (uint32_t i = 0; i < layout.cold_count; i++) {
        *seed = *seed * 1664525 + 1013904223;
        layout.cold[i].number = (*seed >> 16) % tables;
    }
    return layout;
}

static void assert_parents(const struct layout *layout, const struct bat_map *map,
                           enum bat_hot_index form)
{
    assert_int_equal(map->hot_index, form);
    for (uint32_t i = 0; i < layout->cold_count; i++)
        assert_int_equal(map->tables[map->hot_count + i].parent,
                         parent_by_the_text(layout, form, layout->cold[i].number));
    assert_map_is_sound(map);
}

static const enum bat_hot_index forms[] = {BAT_HOT_INDEX_TABLE, BAT_HOT_INDEX_MERGED};

/* Decode in one form; then the other one, if that fits, and back. */
static void check_form(const struct layout *layout, const struct note_bytes *note, unsigned form,
                       bool other_fits)
{
    struct bat_map *map = decode_note(note, forms[form]);
    assert_false(map->hot_index_ambiguous);
    assert_parents(layout, map, forms[form]);
    for (unsigned round = 0; round < 2; round++) {
        assert_int_equal(bat_map_set_hot_index(map, forms[1 - form], NULL),
                         other_fits ? BAT_OK : BAT_ERR_HOT_INDEX);
        assert_parents(layout, map, forms[other_fits ? 1 - form : form]);
        assert_ok(bat_map_set_hot_index(map, forms[form], NULL));
        assert_parents(layout, map, forms[form]);
    }
}

static void check_layout(const struct layout *layout, unsigned *kinds)
{
    size_t offsets[MOST_TABLES];
    struct note_bytes note =
        note_of_tables(layout->hot, layout->hot_count, layout->cold, layout->cold_count, offsets);
    uint32_t misfits[2];
    for (unsigned i = 0; i < 2; i++)
        misfits[i] = misfit_by_the_text(layout, forms[i]);
    const bool fits[2] = {misfits[0] == BAT_NONE, misfits[1] == BAT_NONE};
    for (unsigned i = 0; i < 2; i++)
        if (fits[i])
            check_form(layout, &note, i, fits[1 - i]);
        else
            assert_note_fails(&note, forms[i], BAT_ERR_HOT_INDEX, offsets[misfits[i]]);
    kinds[fits[0] + 2 * fits[1]]++;
    if (!fits[0] && !fits[1]) { /* the documented reading's misfit */
        assert_note_fails(&note, BAT_HOT_INDEX_AUTO, BAT_ERR_HOT_INDEX, offsets[misfits[0]]);
        return;
    }
    /* The tables are empty, so nothing speaks against the first. */
    struct bat_map *map = decode_note(&note, BAT_HOT_INDEX_AUTO);
    assert_parents(layout, map, forms[fits[0] ? 0 : 1]);
    bool differ = false;
    for (uint32_t i = 0; i < layout->cold_count; i++)
        differ |= parent_by_the_text(layout, forms[0], layout->cold[i].number) !=
                  parent_by_the_text(layout, forms[1], layout->cold[i].number);
    assert_int_equal(map->hot_index_ambiguous, fits[0] && fits[1] && differ);
}

TEST(test_random_layouts)
{
    uint32_t seed = 7;
    unsigned kinds[4] = {0};
    for (unsigned i = 0; i < 2000; i++) {
        struct layout layout = random_layout(&seed);
        check_layout(&layout, kinds);
    }
    for (unsigned i = 0; i < 4; i++) /* none, either, both */
        assert_true(kinds[i] > 50);
}
