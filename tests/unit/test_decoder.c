/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * decoder/: notes to maps. The notes are the real ones of BAT.md 13, or were written byte by byte
 * by the rules of BAT.md. The expected maps were worked out by hand.
 */
#include "unit_test.h"
#include "worked_example.h"

/* --- The container: BAT.md 2 --------------------------------------------------------------- */

TEST(test_no_tables)
{
    /* BAT.md 4: "a note without tables is the two bytes 00 00". */
    struct bat_map *map = decode_description("0000");
    assert_int_equal(map->version, BAT_VERSION_3);
    assert_int_equal(map->hot_index, BAT_HOT_INDEX_TABLE);
    assert_false(map->hot_index_ambiguous);
    assert_int_equal(map->hot_count, 0);
    assert_int_equal(map->cold_count, 0);
    assert_int_equal(map->entry_count, 0);
    assert_int_equal(map->block_count, 0);
    assert_int_equal(map->secondary_count, 0);
    assert_map_is_sound(map);
}

/* Descriptions of all four lengths modulo 4: the padding is 0 to 3 bytes. */
TEST(test_padding)
{
    static const char *const descriptions[] = {
        "01 00 0000000000000000 00 00 0000 00",       /* 15 bytes, padding 1 */
        "01 8001 0000000000000000 00 00 0000 00",     /* 16, none */
        "01 808001 0000000000000000 00 00 0000 00",   /* 17, 3 */
        "01 80808001 0000000000000000 00 00 0000 00", /* 18, 2 */
    };
    static const uint64_t addresses[] = {0, 1 << 7, 1 << 14, 1 << 21};
    static const size_t sizes[] = {15, 16, 17, 18};
    for (size_t i = 0; i < COUNT(descriptions); i++) {
        struct note_bytes note = note_of(descriptions[i]);
        assert_int_equal(note.size, 20 + (sizes[i] + 3) / 4 * 4);
        struct bat_map *map = decode_note(&note, BAT_HOT_INDEX_AUTO);
        assert_int_equal(map->hot_count, 1);
        assert_int_equal(map->tables[0].address, addresses[i]);

        const uint8_t *description = NULL;
        size_t size = 0;
        assert_ok(bat_note_description(note.bytes, note.size, &description, &size, NULL));
        assert_ptr_equal(description, note.bytes + 20);
        assert_int_equal(size, sizes[i]);
    }
}

/* Check that bat_decode() and bat_note_description() both fail like this. */
static void assert_container_fails(const struct note_bytes *note, enum bat_code code,
                                   uint64_t offset)
{
    assert_note_fails(note, BAT_HOT_INDEX_AUTO, code, offset);
    struct bat_error error = {0};
    const uint8_t *description;
    size_t size;
    assert_int_equal(bat_note_description(note->bytes, note->size, &description, &size, &error),
                     code);
    assert_int_equal(error.offset, offset);
}

TEST(test_section_too_short)
{
    struct note_bytes note = note_of("0000");
    for (note.size = 0; note.size < 20; note.size++)
        assert_container_fails(&note, BAT_ERR_TRUNCATED, 0);
}

TEST(test_note_header)
{
    const struct note_bytes sound = note_of("0000");
    struct note_bytes note = sound;
    for (unsigned i = 0; i < 4; i++) { /* namesz is 5 */
        note = sound;
        note.bytes[i] ^= 4;
        assert_container_fails(&note, BAT_ERR_CONTAINER, 0);
    }
    for (unsigned i = 8; i < 12; i++) { /* type is 1 */
        note = sound;
        note.bytes[i] ^= 1;
        assert_container_fails(&note, BAT_ERR_CONTAINER, 8);
    }
    for (unsigned i = 12; i < 20; i++) { /* "BOLT", a zero, and three of padding */
        note = sound;
        note.bytes[i] ^= 0x20;
        assert_container_fails(&note, BAT_ERR_CONTAINER, 12);
    }
}

TEST(test_description_size)
{
    const struct note_bytes sound = note_of("01 00 0000000000000000 00 00 0000 00");
    assert_int_equal(sound.bytes[4], 15);
    struct note_bytes note = sound;
    note.bytes[4] = 17; /* with its padding it would take 20 bytes; there are 16 */
    assert_container_fails(&note, BAT_ERR_TRUNCATED, 4);
    memset(note.bytes + 4, 0xff, 4); /* padded: 2^32 */
    assert_container_fails(&note, BAT_ERR_TRUNCATED, 4);
    note = sound;
    note.bytes[4] = 12; /* the section should end at 32 */
    assert_container_fails(&note, BAT_ERR_TRAILING, 32);
    note.bytes[4] = 0;
    assert_container_fails(&note, BAT_ERR_TRAILING, 20);
    note.size = 20; /* no description at all: its first field is cut off */
    assert_note_fails(&note, BAT_HOT_INDEX_AUTO, BAT_ERR_TRUNCATED, 20);
    note = sound;
    put_byte(&note, 0);
    assert_container_fails(&note, BAT_ERR_TRAILING, 36);
}

TEST(test_padding_is_zeros)
{
    struct note_bytes note = note_of("01 808001 0000000000000000 00 00 0000 00");
    assert_int_equal(note.size, 40);
    for (unsigned i = 37; i < 40; i++) {
        note.bytes[i] = 1;
        assert_container_fails(&note, BAT_ERR_CONTAINER, i);
        note.bytes[i] = 0;
    }
    decode_note(&note, BAT_HOT_INDEX_AUTO);
}

/* --- The notes of BAT.md 13 ---------------------------------------------------------------- */

static void assert_header(const struct bat_table *table, const struct bat_table *expected)
{
    assert_int_equal(table->address, expected->address);
    assert_int_equal(table->hash, expected->hash);
    assert_int_equal(table->input_block_count, expected->input_block_count);
    assert_int_equal(table->secondary_count, expected->secondary_count);
    assert_int_equal(table->entry_count, expected->entry_count);
    assert_int_equal(table->equal_count, expected->equal_count);
    assert_int_equal(table->skew, expected->skew);
    assert_int_equal(table->parent, expected->parent);
}

/* A table's header: address, hash, and the numbers of blocks, secondary entry points, entries and
 * equal ones. */
#define HEADER(at, hash_, blocks, secondary, entries, equal, skew_, parent_)                       \
    {                                                                                              \
        .address = at, .hash = hash_, .input_block_count = blocks, .secondary_count = secondary,   \
        .entry_count = entries, .equal_count = equal, .skew = skew_, .parent = parent_             \
    }

static void assert_worked_example(const struct bat_map *map)
{
    static const struct bat_table headers[] = {
        [LEAF] = HEADER(0x800000, 0x96a1c40a63f0b78d, 1, 0, 2, 2, 0, LEAF),
        [WORK] = HEADER(0x800004, 0x11aec73d9a8017aa, 12, 2, 16, 2, 0, WORK),
        [START] = HEADER(0x800040, 0xd03ca07f366e290f, 3, 0, 9, 9, 0, START),
        [WORK_COLD] = HEADER(0x6001c0, 0, 0, 0, 3, 3, 0x27, WORK),
    };
    static const uint32_t by_address[] = {WORK_COLD, LEAF, WORK, START};
    assert_int_equal(map->version, BAT_VERSION_3);
    assert_int_equal(map->hot_count, 3);
    assert_int_equal(map->cold_count, 1);
    for (uint32_t i = 0; i < 4; i++) {
        assert_header(&map->tables[i], &headers[i]);
        assert_int_equal(map->by_address[i], by_address[i]);
    }
    assert_entries(map, LEAF, leaf_entries, COUNT(leaf_entries));
    assert_entries(map, WORK, work_entries, COUNT(work_entries));
    assert_entries(map, START, start_entries, COUNT(start_entries));
    assert_entries(map, WORK_COLD, work_cold_entries, COUNT(work_cold_entries));
    assert_int_equal(map->secondary_count, 2);
    assert_int_equal(map->secondary_entries[0], 0x1e);
    assert_int_equal(map->secondary_entries[1], 0x22);
    assert_map_is_sound(map);
}

TEST(test_worked_example)
{
    struct note_bytes note = note_from_file(EXAMPLE_NOTE);
    struct bat_map *map = decode_note(&note, BAT_HOT_INDEX_AUTO);
    assert_worked_example(map);
    /* Index 1 is `work` in the table; in the merged list it is `leaf`: both fit. */
    assert_int_equal(map->hot_index, BAT_HOT_INDEX_TABLE);
    assert_true(map->hot_index_ambiguous);
}

/* BAT.md 13.4: index 2 is `_start` in the table, and `work` in the merged list, which is right. */
TEST(test_worked_example_by_bolt_19)
{
    struct note_bytes note = note_from_file(EXAMPLE_NOTE_BOLT_19);
    assert_int_equal(note.bytes[0x109], 2);
    struct bat_map *map = decode_note(&note, BAT_HOT_INDEX_AUTO);
    assert_worked_example(map);
    assert_int_equal(map->hot_index, BAT_HOT_INDEX_MERGED);
    assert_true(map->hot_index_ambiguous);

    map = decode_note(&note, BAT_HOT_INDEX_TABLE);
    assert_int_equal(map->tables[WORK_COLD].parent, START);
    assert_int_equal(map->hot_index, BAT_HOT_INDEX_TABLE);
}

/* BAT.md 13.5: the last entry lies below the fragment, and is equal modulo 2^32. */
TEST(test_stray_entry)
{
    static const struct expected_entry entries[] = {
        {0x0, 0x3b, false, 0x973a14a02b62003b, 5},
        {0xc, 0x47, false, 0x004d9587ec260047, 6},
        {0x11, 0x4c, true, 0, 0},
        {0xffffffd0, 0xb, true, 0, 0},
    };
    struct note_bytes note = note_from_file(STRAY_ENTRY_NOTE);
    struct bat_map *map = decode_note(&note, BAT_HOT_INDEX_AUTO);
    assert_int_equal(map->hot_count, 3);
    assert_int_equal(map->cold_count, 1);
    const struct bat_table *fragment = &map->tables[3];
    assert_int_equal(fragment->address, 0x800040);
    assert_int_equal(fragment->skew, 0x3b);
    assert_int_equal(fragment->equal_count, 4);
    assert_int_equal(fragment->parent, 1);
    assert_entries(map, 3, entries, COUNT(entries));
    assert_map_is_sound(map);
}

/* --- A note with one of everything, field by field ----------------------------------------- */

enum field_kind { UNSIGNED, SIGNED, HASH, BITS, COUNT_OF_13, COUNT_OF_5, COUNT_OF_1 };

struct field {
    const char *bytes;
    enum field_kind kind;
};

/*
 * Two hot functions and a fragment of the first.
 *
 * 0x1000: 0 -> 0 block 0, 5 -> 5 branch (these two equal), 8 -> 7 block 2, 0xc -> 4 branch;
 *         secondary entry points at 7 and 9.
 * 0x1020: 0 -> 0 block 0.
 * 0x2000: 0 -> 0x20 block 1 (equal), 6 -> 0x26 branch.
 */
static const struct field everything[] = {
    {"02", COUNT_OF_13},        /* NumFuncs */
    {"8020", UNSIGNED},         /* Address: 0x1000 */
    {"1111111111111181", HASH}, /* FuncHash */
    {"03", UNSIGNED},           /* NumBlocks */
    {"02", COUNT_OF_1},         /* NumSecEntryPoints */
    {"04", COUNT_OF_1},         /* NumEntries */
    {"02", UNSIGNED},           /* EqualElems */
    {"02", BITS},               /* BranchEntries: entry 1 */
    {"00", UNSIGNED},           /* entry 0: output 0 */
    {"2222222222222282", HASH},
    {"00", UNSIGNED}, /* index 0 */
    {"05", UNSIGNED}, /* entry 1: output 5, input side 0xb */
    {"03", UNSIGNED}, /* entry 2: output 8 */
    {"03", SIGNED},   /* 0xb + 3 = 0xe: input 7, a block */
    {"3333333333333383", HASH},
    {"02", UNSIGNED}, /* index 2 */
    {"04", UNSIGNED}, /* entry 3: output 0xc */
    {"7b", SIGNED},   /* 0xe - 5 = 9: input 4, a branch */
    {"07", UNSIGNED}, /* secondary entry points */
    {"02", UNSIGNED},
    {"14", UNSIGNED}, /* Address: 0x100c + 0x14 = 0x1020 */
    {"4444444444444484", HASH},
    {"01", UNSIGNED},   /* NumBlocks */
    {"00", COUNT_OF_1}, /* NumSecEntryPoints */
    {"01", COUNT_OF_1}, /* NumEntries */
    {"00", UNSIGNED},   /* EqualElems; no BranchEntries */
    {"00", UNSIGNED},   /* entry 0 */
    {"00", SIGNED},
    {"5555555555555585", HASH},
    {"00", UNSIGNED},
    {"01", COUNT_OF_5}, /* NumFuncs of the cold fragments */
    {"e01f", UNSIGNED}, /* Address: 0x1020 + 0xfe0 = 0x2000 */
    {"00", UNSIGNED},   /* HotIndex */
    {"20", UNSIGNED},   /* ColdInputSkew */
    {"02", COUNT_OF_1}, /* NumEntries */
    {"01", UNSIGNED},   /* EqualElems */
    {"00", BITS},       /* BranchEntries */
    {"00", UNSIGNED},   /* entry 0: output 0, input 0x20, side 0x40 */
    {"6666666666666686", HASH},
    {"01", UNSIGNED}, /* index 1 */
    {"06", UNSIGNED}, /* entry 1: output 6 */
    {"0d", SIGNED},   /* 0x40 + 0xd = 0x4d: input 0x26, a branch */
};

#define COLD_COUNT_FIELD 30u

/* A second fragment, far above, with 64 branches: enough bytes after all other fields. */
static void put_filler_entries(struct note_bytes *note)
{
    put_hex(note, "40 40 ffffffffffffffff");
    for (unsigned i = 0; i < 64; i++)
        put_hex(note, "01");
}

static void put_filler_fragment(struct note_bytes *note)
{
    put_hex(note, "ffffffff7f 00 00"); /* Address: 35 ones on; parent as before; no skew */
    put_filler_entries(note);
}

/*
 * The note with another text for one field (BAT_NONE: no field), followed by many bytes or none.
 * offsets[] gets the fields' offsets in the section.
 */
static struct note_bytes everything_but(uint32_t replaced, const char *by, bool with_filler,
                                        size_t *offsets)
{
    struct note_bytes note = note_begun("");
    for (uint32_t i = 0; i < COUNT(everything); i++) {
        offsets[i] = note.size;
        if (i == replaced)
            put_hex(&note, by);
        else
            put_hex(&note, with_filler && i == COLD_COUNT_FIELD ? "02" : everything[i].bytes);
    }
    if (with_filler)
        put_filler_fragment(&note);
    finish_note(&note);
    return note;
}

static void assert_everything(const struct bat_map *map)
{
    static const struct bat_table headers[] = {
        HEADER(0x1000, 0x8111111111111111, 3, 2, 4, 2, 0, 0),
        HEADER(0x1020, 0x8444444444444444, 1, 0, 1, 0, 0, 1),
        HEADER(0x2000, 0, 0, 0, 2, 1, 0x20, 0),
    };
    static const struct expected_entry first[] = {
        {0x0, 0x0, false, 0x8222222222222222, 0},
        {0x5, 0x5, true, 0, 0},
        {0x8, 0x7, false, 0x8333333333333333, 2},
        {0xc, 0x4, true, 0, 0},
    };
    static const struct expected_entry second[] = {{0x0, 0x0, false, 0x8555555555555555, 0}};
    static const struct expected_entry fragment[] = {
        {0x0, 0x20, false, 0x8666666666666666, 1},
        {0x6, 0x26, true, 0, 0},
    };
    assert_int_equal(map->hot_count, 2);
    for (uint32_t i = 0; i < 3; i++)
        assert_header(&map->tables[i], &headers[i]);
    assert_entries(map, 0, first, COUNT(first));
    assert_entries(map, 1, second, COUNT(second));
    assert_entries(map, 2, fragment, COUNT(fragment));
    assert_int_equal(map->secondary_entries[0], 7);
    assert_int_equal(map->secondary_entries[1], 9);
    assert_map_is_sound(map);
}

TEST(test_everything)
{
    size_t offsets[COUNT(everything)];
    struct note_bytes note = everything_but(BAT_NONE, NULL, false, offsets);
    struct bat_map *map = decode_note(&note, BAT_HOT_INDEX_AUTO);
    assert_int_equal(map->cold_count, 1);
    assert_everything(map);

    note = everything_but(BAT_NONE, NULL, true, offsets);
    map = decode_note(&note, BAT_HOT_INDEX_AUTO);
    assert_int_equal(map->cold_count, 2);
    assert_everything(map);
    /* The running address went on from 0x2006 (BAT.md 4). */
    assert_int_equal(map->tables[3].address, 0x2006 + 0x7ffffffffULL);
    assert_int_equal(map->tables[3].entry_count, 64);
}

/* A number with more bytes than it needs, or more than 64 bits, is refused at its offset. */
TEST(test_number_forms)
{
    size_t offsets[COUNT(everything)];
    for (uint32_t i = 0; i < COUNT(everything); i++) {
        if (everything[i].kind == HASH || everything[i].kind == BITS)
            continue;
        /* The same number, with a last byte that adds nothing to it. */
        struct note_bytes number = {.size = 0};
        put_hex(&number, everything[i].bytes);
        char padded[16];
        int length = snprintf(padded, sizeof(padded), "%s", everything[i].bytes);
        bool is_negative = everything[i].kind == SIGNED && number.bytes[number.size - 1] & 0x40;
        snprintf(padded + length - 2, sizeof(padded) - (size_t)length + 2, "%02x%s",
                 number.bytes[number.size - 1] | 0x80U, is_negative ? "7f" : "00");
        for (int with_filler = 0; with_filler <= 1; with_filler++) {
            struct note_bytes note = everything_but(i, padded, with_filler, offsets);
            assert_note_fails(&note, BAT_HOT_INDEX_AUTO, BAT_ERR_LEB128, offsets[i]);
            note = everything_but(i, "80808080808080808002", with_filler, offsets);
            assert_note_fails(&note, BAT_HOT_INDEX_AUTO, BAT_ERR_LEB128, offsets[i]);
            note = everything_but(i, "8080808080808080808001", with_filler, offsets);
            assert_note_fails(&note, BAT_HOT_INDEX_AUTO, BAT_ERR_LEB128, offsets[i]);
        }
    }
}

/* The fewest bytes that one element of a count takes, or 0 for a field that is not a count. */
static size_t unit_of(enum field_kind kind)
{
    switch (kind) {
    case COUNT_OF_13:
        return 13;
    case COUNT_OF_5:
        return 5;
    case COUNT_OF_1:
        return 1;
    default:
        return 0;
    }
}

/*
 * The expected error for the first `size` bytes of the section, by BAT.md 12: at the first field
 * that is cut, or the first count that is too large for the remaining bytes.
 */
static enum bat_code fault_of_cut(const struct note_bytes *whole, const size_t *offsets,
                                  size_t size, size_t *offset)
{
    for (uint32_t i = 0; i < COUNT(everything); i++) {
        struct note_bytes field = {.size = 0};
        put_hex(&field, everything[i].bytes);
        size_t end = offsets[i] + field.size;
        *offset = offsets[i];
        if (end > size)
            return BAT_ERR_TRUNCATED;
        if (whole->bytes[offsets[i]] * unit_of(everything[i].kind) > size - end)
            return BAT_ERR_COUNT;
    }
    return BAT_OK;
}

/* A note whose description is only what the first `size` bytes of the section have of it. */
static struct note_bytes cut(const struct note_bytes *whole, size_t size)
{
    struct note_bytes note = *whole;
    note.size = size;
    finish_note(&note);
    return note;
}

/* The description ends after any of its bytes: always an error, at a field inside of it. */
TEST(test_truncated_everywhere)
{
    size_t offsets[COUNT(everything)];
    const struct note_bytes whole = everything_but(BAT_NONE, NULL, false, offsets);
    const size_t end = offsets[COUNT(everything) - 1] + 1;
    unsigned truncated = 0;
    unsigned counts = 0;
    for (size_t size = 20; size < end; size++) {
        struct note_bytes note = cut(&whole, size);
        size_t offset;
        enum bat_code code = fault_of_cut(&whole, offsets, size, &offset);
        truncated += code == BAT_ERR_TRUNCATED;
        counts += code == BAT_ERR_COUNT;
        assert_true(offset <= size);
        assert_note_fails(&note, BAT_HOT_INDEX_AUTO, code, offset);
    }
    assert_int_equal(truncated + counts, end - 20);
    assert_true(truncated > 40 && counts > 10);
}

/* Real notes cut short: any error, with an offset inside the section. */
TEST(test_real_notes_truncated)
{
    static const char *const paths[] = {EXAMPLE_NOTE,
                                        EXAMPLE_NOTE_BOLT_19,
                                        STRAY_ENTRY_NOTE,
                                        VERSION_1_NOTE,
                                        TEST_DATA "/legacy/version-1.note",
                                        TEST_DATA "/legacy/version-2.note",
                                        TEST_DATA "/legacy/version-2-prefixes.note"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        const struct note_bytes whole = note_from_file(paths[i]);
        size_t description = whole.bytes[4] | (size_t)whole.bytes[5] << 8;
        for (size_t size = 20; size < 20 + description; size++) {
            struct note_bytes note = cut(&whole, size);
            struct bat_map *map;
            struct bat_error error = {0};
            enum bat_code code =
                decode_copy(note.bytes, note.size, BAT_HOT_INDEX_AUTO, &map, &error);
            if (code == BAT_OK || code == BAT_ERR_VERSION)
                fail_msg("%s cut to %zu bytes gives %s", paths[i], size, bat_code_name(code));
            assert_int_equal(error.code, code);
            assert_int_equal(error.place, BAT_PLACE_SECTION);
            assert_in_range(error.offset, 20, size);
        }
        /* The section itself cut: the description is longer than what is there. */
        for (size_t size = 20; size < whole.size; size++) {
            struct note_bytes note = whole;
            note.size = size;
            assert_note_fails(&note, BAT_HOT_INDEX_AUTO, BAT_ERR_TRUNCATED, 4);
        }
    }
}

TEST(test_trailing_bytes)
{
    size_t offsets[COUNT(everything)];
    struct note_bytes note = everything_but(BAT_NONE, NULL, false, offsets);
    note.size = offsets[COUNT(everything) - 1] + 1;
    size_t end = note.size;
    put_hex(&note, "00");
    finish_note(&note);
    assert_note_fails(&note, BAT_HOT_INDEX_AUTO, BAT_ERR_TRAILING, end);
    note = note_of("0000 00");
    assert_note_fails(&note, BAT_HOT_INDEX_AUTO, BAT_ERR_TRAILING, 22);
}

/* --- Limits of headers ---------------------------------------------------------------------- */

static void assert_description_fails(const char *description, enum bat_code code,
                                     uint64_t offset_in_description)
{
    struct note_bytes note = note_of(description);
    assert_note_fails(&note, BAT_HOT_INDEX_AUTO, code, 20 + offset_in_description);
}

TEST(test_counts_of_tables)
{
    /* One hot function takes 13 bytes: with 12 left the count is refused, with 13 it is not. */
    assert_description_fails("01 000000000000000000000000", BAT_ERR_COUNT, 0);
    assert_description_fails("01 00000000000000000000000000", BAT_ERR_TRUNCATED, 14);
    assert_description_fails("02 00000000000000000000000000 000000000000000000000000",
                             BAT_ERR_COUNT, 0);
    assert_description_fails("ffffffff0f 00", BAT_ERR_COUNT, 0);
    assert_description_fails("ffffffffffffffffff01 00", BAT_ERR_COUNT, 0);
    /* A fragment takes 5. That hot index 0 names no hot function is found only after that. */
    assert_description_fails("00 01 00000000", BAT_ERR_COUNT, 1);
    assert_description_fails("00 01 0000000000", BAT_ERR_HOT_INDEX, 3);
    assert_description_fails("00 ffffffffffffffffff01", BAT_ERR_COUNT, 1);
}

/* A hot function, up to the field in question. */
#define HOT "01 00 0000000000000000 "

TEST(test_counts_in_headers)
{
    /* NumSecEntryPoints: as many as there are bytes left, one more, 2^32, 2^64 - 1. */
    assert_description_fails(HOT "00 04 00 00 00 00", BAT_ERR_TRUNCATED, 16);
    assert_description_fails(HOT "00 04 00 00 00", BAT_ERR_COUNT, 11);
    assert_description_fails(HOT "00 8080808010 00 00 00", BAT_ERR_COUNT, 11);
    assert_description_fails(HOT "00 ffffffffffffffffff01 00 00 00", BAT_ERR_COUNT, 11);
    /* NumEntries, EqualElems being the first of the bytes left. */
    assert_description_fails(HOT "00 00 02 00 00", BAT_ERR_TRUNCATED, 15);
    assert_description_fails(HOT "00 00 03 00 00", BAT_ERR_COUNT, 12);
    assert_description_fails(HOT "00 00 8080808010 00 00", BAT_ERR_COUNT, 12);
    assert_description_fails(HOT "00 00 ffffffffffffffffff01 00 00", BAT_ERR_COUNT, 12);
}

TEST(test_number_of_blocks)
{
    struct bat_map *map = decode_description(HOT "ffffffff0f 00 00 00 00");
    assert_int_equal(map->tables[0].input_block_count, UINT32_MAX);
    assert_description_fails(HOT "8080808010 00 00 00 00", BAT_ERR_RANGE, 10);
    assert_description_fails(HOT "ffffffffffffffffff01 00 00 00 00", BAT_ERR_RANGE, 10);
}

/* BAT.md 6.4: differences are taken modulo 2^32, and -3 is fd ff ff ff 0f. */
TEST(test_secondary_entry_points)
{
    struct bat_map *map = decode_description(HOT "00 05 00 00 1e fdffffff0f 00 e4ffffff0f "
                                                 "ffffffff0f 00");
    static const uint32_t expected[] = {0x1e, 0x1b, 0x1b, 0xffffffff, 0xfffffffe};
    assert_int_equal(map->tables[0].secondary_count, 5);
    assert_memory_equal(map->secondary_entries, expected, sizeof(expected));
    assert_description_fails(HOT "00 02 00 00 1e 8080808010 00", BAT_ERR_RANGE, 15);
    /* -3 modulo 2^64 is refused. */
    assert_description_fails(HOT "00 02 00 00 1e fdffffffffffffffff01 00", BAT_ERR_RANGE, 15);
}

/* Many secondary entry points, in several functions: each gets its own. */
TEST(test_many_secondary_entry_points)
{
    struct note_bytes note = note_begun("03");
    for (unsigned table = 0; table < 3; table++) {
        put_hex(&note, "01 0000000000000000 00");
        put_uleb(&note, 100 + table);
        put_hex(&note, "00 00");
        for (unsigned i = 0; i < 100 + table; i++)
            put_uleb(&note, table + 1);
    }
    put_hex(&note, "00");
    finish_note(&note);
    struct bat_map *map = decode_note(&note, BAT_HOT_INDEX_AUTO);
    assert_int_equal(map->secondary_count, 303);
    for (uint32_t table = 0; table < 3; table++) {
        assert_int_equal(map->tables[table].secondary_count, 100 + table);
        for (uint32_t i = 0; i < 100 + table; i++)
            assert_int_equal(map->secondary_entries[map->tables[table].first_secondary + i],
                             (table + 1) * (i + 1));
    }
    assert_map_is_sound(map);
}

#define EMPTY_HOT "0000000000000000 00 00 00 00 "

/* BAT.md 4: one running address through all tables, modulo 2^64. */
TEST(test_addresses)
{
    /* The largest address there is, and a cold fragment below: -0x7fffffff, in ten bytes. */
    struct bat_map *map = decode_description("01 ffffffffffffffffff01 " EMPTY_HOT
                                             "01 81808080f8ffffffff01 00 00 00 00");
    assert_int_equal(map->tables[0].address, UINT64_MAX);
    assert_int_equal(map->tables[1].address, UINT64_MAX - 0x7fffffff);
    assert_int_equal(map->by_address[0], 1);
    assert_int_equal(map->by_address[1], 0);

    /*
     * A stray entry leads past the end of the address space: 2^64 - 0x100 + 0x200 is 0x100. From
     * there the next hot function is 0x180 further back (80 fd ff ... 01), at 2^64 - 0x80, and the
     * fragment 0x82 further on, at 2.
     */
    map = decode_description("02 80feffffffffffffff01 0000000000000000 00 00 01 01 01 8004 "
                             "80fdffffffffffffff01 " EMPTY_HOT "01 8201 00 00 00 00");
    assert_int_equal(map->tables[0].address, UINT64_MAX - 0xff);
    assert_int_equal(map->output_offsets[0], 0x200);
    assert_int_equal(map->tables[1].address, UINT64_MAX - 0x7f);
    assert_int_equal(map->tables[2].address, 2);
    assert_map_is_sound(map);
}

TEST(test_order_of_tables)
{
    /* Hot functions at 0x10 and again, or 1 below (the delta being -1 modulo 2^64). */
    assert_description_fails("02 10 " EMPTY_HOT "00 " EMPTY_HOT "00", BAT_ERR_ORDER, 14);
    assert_description_fails("02 10 " EMPTY_HOT "ffffffffffffffffff01 " EMPTY_HOT "00",
                             BAT_ERR_ORDER, 14);
    /* Fragments alike; the first of them may lie below the hot ones. */
    assert_description_fails(
        "01 10 " EMPTY_HOT "02 f8ffffffffffffffff01 00 00 00 00 00 00 00 00 00", BAT_ERR_ORDER, 29);
    assert_description_fails(
        "01 10 " EMPTY_HOT "02 08 00 00 00 00 f8ffffffffffffffff01 00 00 00 00", BAT_ERR_ORDER, 20);
    /* The running address counts, not the table before: entry at 8, then 8 back. */
    assert_description_fails("02 10 0000000000000000 00 00 01 01 01 08 "
                             "f8ffffffffffffffff01 " EMPTY_HOT "00",
                             BAT_ERR_ORDER, 16);
    /* An address that is in both tables has no single offset. */
    struct note_bytes note = note_of("02 10 " EMPTY_HOT "08 " EMPTY_HOT "01 00 00 00 00 00");
    assert_note_fails(&note, BAT_HOT_INDEX_AUTO, BAT_ERR_ORDER, BAT_NO_OFFSET);
    note = note_of("02 10 " EMPTY_HOT "08 " EMPTY_HOT "01 f8ffffffffffffffff01 00 00 00 00");
    assert_note_fails(&note, BAT_HOT_INDEX_AUTO, BAT_ERR_ORDER, BAT_NO_OFFSET);
}

TEST(test_skew)
{
    /* Any skew of 32 bits, also where there is no prefix for it (BAT.md 7.1). */
    struct bat_map *map = decode_description("01 00 " EMPTY_HOT "01 01 00 ffffffff0f 00 00");
    assert_int_equal(map->tables[1].skew, UINT32_MAX);
    assert_description_fails("01 00 " EMPTY_HOT "01 01 00 8080808010 00 00", BAT_ERR_RANGE, 17);
}

/* BAT.md 7.2: differences of hot indices are taken modulo 2^64. */
TEST(test_hot_index_deltas)
{
    static const uint32_t parents[] = {1, 0, 2, 2, 0};
    struct note_bytes note = note_begun("03");
    for (unsigned i = 0; i < 3; i++)
        put_hex(&note, "10 " EMPTY_HOT);
    put_hex(&note, "05 10 01 00 00 00"                   /* 1 */
                   "   10 ffffffffffffffffff01 00 00 00" /* -1 */
                   "   10 02 00 00 00"                   /* 2 */
                   "   10 00 00 00 00"                   /* 0 */
                   "   10 feffffffffffffffff01 00 00 00" /* -2 */);
    finish_note(&note);
    struct bat_map *map = decode_note(&note, BAT_HOT_INDEX_AUTO);
    for (uint32_t i = 0; i < COUNT(parents); i++)
        assert_int_equal(map->tables[3 + i].parent, parents[i]);
    /* All fragments lie above: the merged reading gives the same, so there is no doubt. */
    assert_false(map->hot_index_ambiguous);
    assert_map_is_sound(map);
}

TEST(test_hot_index_beyond_all_tables)
{
    /* Two tables in all: 1 may be a position in the merged list, 2 and -1 are none. */
    assert_description_fails("01 00 " EMPTY_HOT "01 01 02 00 00 00", BAT_ERR_HOT_INDEX, 16);
    assert_description_fails("01 00 " EMPTY_HOT "01 01 ffffffffffffffffff01 00 00 00",
                             BAT_ERR_HOT_INDEX, 16);
    assert_description_fails("01 00 " EMPTY_HOT "01 01 8080808010 00 00 00", BAT_ERR_HOT_INDEX, 16);
    /* 1 is the fragment itself in the merged list. */
    assert_description_fails("01 00 " EMPTY_HOT "01 01 01 00 00 00", BAT_ERR_HOT_INDEX, 16);
}

/* --- Entries, by both readers ---------------------------------------------------------------- */

/*
 * A note with one table to test: a hot function, or a fragment with this skew of an empty hot
 * function. `body` is the table from NumEntries on. With filler, a second table of the same kind
 * follows, so that the fast reader reads the tested one; without, the careful reader reads it if it
 * is short.
 */
static struct note_bytes table_note(const char *skew, const char *body, bool with_filler,
                                    size_t *body_offset)
{
    struct note_bytes note = note_begun("");
    if (skew) {
        put_hex(&note, "01 00 " EMPTY_HOT);
        put_hex(&note, with_filler ? "02 8020 00" : "01 8020 00");
        put_hex(&note, skew);
    } else {
        put_hex(&note,
                with_filler ? "02 00 0000000000000000 00 00" : "01 00 0000000000000000 00 00");
    }
    *body_offset = note.size;
    put_hex(&note, body);
    if (with_filler && !skew) {
        put_hex(&note, "ffffffff7f 0000000000000000 00 00");
        put_filler_entries(&note);
    }
    if (with_filler && skew)
        put_filler_fragment(&note);
    if (!skew)
        put_hex(&note, "00");
    finish_note(&note);
    return note;
}

static void assert_table(const char *skew, const char *body, const struct expected_entry *expected,
                         uint32_t count)
{
    for (int with_filler = 0; with_filler <= 1; with_filler++) {
        size_t ignored;
        struct note_bytes note = table_note(skew, body, with_filler, &ignored);
        struct bat_map *map = decode_note(&note, BAT_HOT_INDEX_AUTO);
        assert_entries(map, skew ? 1 : 0, expected, count);
        assert_map_is_sound(map);
    }
}

static void assert_table_fails(const char *skew, const char *body, enum bat_code code,
                               size_t offset_in_body)
{
    for (int with_filler = 0; with_filler <= 1; with_filler++) {
        size_t offset;
        struct note_bytes note = table_note(skew, body, with_filler, &offset);
        assert_note_fails(&note, BAT_HOT_INDEX_AUTO, code, offset + offset_in_body);
    }
}

#define H "0000000000000000 " /* a hash */

TEST(test_output_offsets)
{
    /* BAT.md 6.1: 32 bits, and they may repeat. */
    static const struct expected_entry largest[] = {{0xffffffff, 0, true, 0, 0}};
    assert_table(NULL, "01 00 ffffffff0f 01", largest, 1);
    static const struct expected_entry repeated[] = {
        {0xfffffffe, 0, true, 0, 0},
        {0xffffffff, 0, true, 0, 0},
        {0xffffffff, 0, true, 0, 0},
    };
    assert_table(NULL, "03 00 feffffff0f 01 01 00 00 00", repeated, 3);
    assert_table_fails(NULL, "01 00 8080808010 01", BAT_ERR_RANGE, 2);
    assert_table_fails(NULL, "02 00 feffffff0f 01 02 00", BAT_ERR_RANGE, 8);
    /* Back, by 1 modulo 2^64; and from the start. */
    assert_table_fails(NULL, "02 00 05 01 ffffffffffffffffff01 00", BAT_ERR_RANGE, 4);
    assert_table_fails(NULL, "01 00 ffffffffffffffffff01 00", BAT_ERR_RANGE, 2);
    /* In the prefix too. */
    assert_table_fails(NULL, "02 02 03 05 ffffffffffffffffff01", BAT_ERR_RANGE, 4);
}

TEST(test_input_offsets)
{
    /* 31 bits: input side 0xfffffffe is the largest block, 0xffffffff the largest branch. */
    static const struct expected_entry largest[] = {
        {0, 0x7fffffff, false, 0, 0},
        {0, 0x7fffffff, true, 0, 0},
        {0, 0, false, 0, 0},
        {0, 0x7fffffff, true, 0, 0},
    };
    /* fe ff ff ff 0f is 2^32 - 2; 81 80 80 80 70 is -(2^32 - 1). */
    assert_table(NULL, "04 00 00 feffffff0f " H "00 00 01 00 8180808070 " H "00 00 ffffffff0f",
                 largest, 4);
    assert_table_fails(NULL, "01 00 00 8080808010" H "00", BAT_ERR_RANGE, 3); /* 2^32 */
    assert_table_fails(NULL, "01 00 00 7f", BAT_ERR_RANGE, 3);                /* -1 */
    assert_table_fails(NULL, "02 00 00 ffffffff0f 00 01" H "00", BAT_ERR_RANGE, 9);
    assert_table_fails(NULL, "02 00 00 05 00 7a", BAT_ERR_RANGE, 5); /* 5 - 6 */
    /* The extremes of 64 bits, in nine and ten bytes. */
    assert_table_fails(NULL, "01 00 00 ffffffffffffffffff00", BAT_ERR_RANGE, 3);
    assert_table_fails(NULL, "01 00 00 8080808080808080807f", BAT_ERR_RANGE, 3);
    assert_table_fails(NULL, "02 00 00 05 00 8080808080808080807f", BAT_ERR_RANGE, 5);
    assert_table_fails(NULL, "01 00 00 ffffffffffffffff3f", BAT_ERR_RANGE, 3);
}

TEST(test_prefix)
{
    /* Equal modulo 2^32 (BAT.md 6.2): 0xfffffff0 + 0x20 is 0x10. */
    static const struct expected_entry stray[] = {
        {0, 0x20, true, 0, 0},
        {0xfffffff0, 0x10, true, 0, 0},
    };
    assert_table("20", "02 02 03 00 f0ffffff0f", stray, 2);
    /* The largest skew: 0 + 0xffffffff is too large, 1 + 0xffffffff is 0. */
    static const struct expected_entry wrapped[] = {{1, 0, true, 0, 0}};
    assert_table("ffffffff0f", "01 01 01 01", wrapped, 1);
    assert_table_fails("ffffffff0f", "01 01 01 00", BAT_ERR_RANGE, 3);
    /* 31 bits of input offset: the error is at the output offset that leads beyond them. */
    static const struct expected_entry largest[] = {{0x7fffffff, 0x7fffffff, true, 0, 0}};
    assert_table(NULL, "01 01 01 ffffffff07", largest, 1);
    assert_table_fails(NULL, "01 01 01 8080808008", BAT_ERR_RANGE, 3);
    assert_table_fails("01", "01 01 01 ffffffff07", BAT_ERR_RANGE, 3);
    /* The input side continues after the prefix: 5 << 1 | 1 = 11, and -1 gives a block at 5. */
    static const struct expected_entry behind[] = {
        {5, 5, true, 0, 0},
        {6, 5, false, 0, 0},
    };
    assert_table(NULL, "02 01 01 05 01 7f" H "00", behind, 2);
}

TEST(test_prefix_length)
{
    /* EqualElems: at most NumEntries, and of 32 bits. */
    assert_table_fails(NULL, "01 02 03 00 00", BAT_ERR_PREFIX, 1);
    assert_table_fails(NULL, "00 01 00", BAT_ERR_PREFIX, 1);
    assert_table_fails(NULL, "01 ffffffff0f 00 00", BAT_ERR_PREFIX, 1);
    assert_table_fails(NULL, "01 8080808010 00 00", BAT_ERR_RANGE, 1);
    assert_table_fails(NULL, "01 ffffffffffffffffff01 00 00", BAT_ERR_RANGE, 1);
}

/* BAT.md 6.2: entry i is bit i mod 8 of byte i / 8, and bits after the prefix are 0. */
TEST(test_branch_bits)
{
    for (unsigned count = 1; count <= 17; count++) {
        for (unsigned bit = 0; bit < (count + 7) / 8 * 8; bit++) {
            /* All entries are branches but this one, whose bit alone is clear. */
            char body[256];
            int length = snprintf(body, sizeof(body), "%02x%02x", count, count);
            for (unsigned byte = 0; byte * 8 < count; byte++) {
                unsigned bits = count - byte * 8 >= 8 ? 0xff : (1U << (count - byte * 8)) - 1;
                if (bit / 8 == byte)
                    bits ^= 1U << bit % 8; /* clears it, or sets one too many */
                length += snprintf(body + length, sizeof(body) - (size_t)length, "%02x", bits);
            }
            struct expected_entry expected[17];
            for (unsigned i = 0; i < count; i++) {
                length += snprintf(body + length, sizeof(body) - (size_t)length, "%s",
                                   i == bit ? "01 0807060504030201 09" : "01");
                expected[i] = (struct expected_entry){.output = i + 1,
                                                      .input = i + 1,
                                                      .is_branch = i != bit,
                                                      .hash = 0x0102030405060708,
                                                      .index = 9};
            }
            if (bit < count)
                assert_table(NULL, body, expected, count);
            else
                assert_table_fails(NULL, body, BAT_ERR_PREFIX, 2 + (count + 7) / 8 - 1);
        }
    }
}

TEST(test_block_indices)
{
    /* 32 bits, modulo 2^64: 2^32 - 1, then back to 2, then 0. */
    static const struct expected_entry entries[] = {
        {0, 0, false, 0, 0xffffffff},
        {0, 0, false, 0, 2},
        {0, 0, false, 0, 0},
    };
    assert_table(NULL,
                 "03 00 00 00" H "ffffffff0f"
                 " 00 00" H "83808080f0ffffffff01"
                 " 00 00" H "feffffffffffffffff01",
                 entries, 3);
    assert_table_fails(NULL, "01 00 00 00" H "8080808010", BAT_ERR_RANGE, 12);
    assert_table_fails(NULL, "01 00 00 00" H "ffffffffffffffffff01", BAT_ERR_RANGE, 12);
    assert_table_fails(NULL, "02 00 00 00" H "ffffffff0f 00 00" H "01", BAT_ERR_RANGE, 27);
    assert_table_fails(NULL, "02 00 00 00" H "03 00 00" H "fcffffffffffffffff01", BAT_ERR_RANGE,
                       23);
    /* In the prefix too. */
    assert_table_fails(NULL, "01 01 00 00" H "8080808010", BAT_ERR_RANGE, 12);
}

/* Block index and input side start again at 0 in each table. */
TEST(test_tables_start_anew)
{
    struct bat_map *map = decode_description("02 00 0000000000000000 00 00"
                                             "   01 00 00 14" H "07"
                                             "   10 0000000000000000 00 00"
                                             "   01 00 00 14" H "07"
                                             "01 10 01 05 01 00 00 14" H "07");
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(map->input_offsets[i], 0x14);
        assert_int_equal(map->block_indices[i], 7);
    }
}

/* --- Versions 1 and 2: BAT.md 9 to 11 --------------------------------------------------------- */

/* Nothing but a damaged note of version 3. */
static void assert_damaged(const struct note_bytes *note)
{
    struct bat_map *map;
    struct bat_error error = {0};
    enum bat_code code = decode_copy(note->bytes, note->size, BAT_HOT_INDEX_AUTO, &map, &error);
    assert_true(code != BAT_OK && code != BAT_ERR_VERSION);
    assert_in_range(error.offset, 20, note->size);
}

static void assert_version(const struct note_bytes *note, enum bat_version version)
{
    assert_int_equal(decode_note(note, BAT_HOT_INDEX_AUTO)->version, version);
}

TEST(test_version_1)
{
    struct note_bytes note = note_from_file(VERSION_1_NOTE);
    assert_version(&note, BAT_VERSION_1);
    note = note_of("0000000000000000"); /* BAT.md 11: the empty description */
    assert_version(&note, BAT_VERSION_1);
    /* A table of one entry and one fragment. */
    note = note_of("02000000 0010000000000000 01000000 0000000000000080"
                   "0020000000000000 00000000 01000000 0020000000000000 0010000000000000");
    assert_version(&note, BAT_VERSION_1);
    note.size--; /* and a byte too few */
    note.bytes[4]--;
    put_byte(&note, 0);
    assert_damaged(&note);
}

/* A table count or entry count of version 1 that leads far beyond the description. */
TEST(test_version_1_counts)
{
    static const char *const notes[] = {
        "ffffffff 00000000",
        "01000000 0010000000000000 ffffffff 00000000",
        "01000000 0010000000000000 00000020 00000000", /* 2^29 entries: 2^32 bytes */
        "00000000 ffffffff 00000000",
        "00000000 00000000 00",
        "01000000 0010000000000000 00000000 000000",
    };
    for (size_t i = 0; i < COUNT(notes); i++) {
        struct note_bytes note = note_of(notes[i]);
        assert_damaged(&note);
    }
}

/* BAT.md 9: no hashes and indices, and no prefix in fragments. */
#define VERSION_2_HOT "01 8020 03 02 02 00 05 03 03 "
#define VERSION_2_COLD "01 e01f 00 02 00 c000 05 0b"

TEST(test_version_2)
{
    struct note_bytes note = note_of(VERSION_2_HOT VERSION_2_COLD);
    assert_version(&note, BAT_VERSION_2);
    note = note_of(VERSION_2_HOT "00");
    assert_version(&note, BAT_VERSION_2);
}

TEST(test_version_2_damaged)
{
    static const char *const notes[] = {
        VERSION_2_HOT VERSION_2_COLD "00",             /* a byte too many */
        VERSION_2_HOT "01 e01f 00 02 00 c000 05",      /* one too few */
        "01 8020 01 02 02 00 05 00",                   /* a prefix longer than the table */
        "01 8020 03 02 02 00 05 03 8300 00",           /* a padded number */
        "01 8020 03 ffffffffffffffffff01 02 00 05 00", /* a prefix of 2^64 - 1 */
        "01 8020 ffffffffffffffffff01 00 00 00",
        "ffffffffffffffffff01 00",
    };
    for (size_t i = 0; i < COUNT(notes); i++) {
        struct note_bytes note = note_of(notes[i]);
        assert_damaged(&note);
    }
}

/* --- The caller's part ------------------------------------------------------------------------ */

TEST(test_hot_index_argument)
{
    struct note_bytes note = note_of("01 00 " EMPTY_HOT "01 01 00 00 00 00");
    for (unsigned form = BAT_HOT_INDEX_MERGED + 1; form < 5; form++) {
        struct bat_map *map;
        struct bat_error error = {0};
        assert_int_equal(decode_copy(note.bytes, note.size, (enum bat_hot_index)form, &map, &error),
                         BAT_ERR_ARGUMENT);
        assert_int_equal(error.code, BAT_ERR_ARGUMENT);
        assert_int_equal(error.place, BAT_PLACE_NONE);
    }
}

/* On success the error is unchanged. */
TEST(test_error_untouched)
{
    struct note_bytes note = note_of("0000");
    struct bat_error error;
    memset(&error, 0x5a, sizeof(error));
    struct bat_error before = error;
    struct bat_map *map;
    assert_ok(decode_copy(note.bytes, note.size, BAT_HOT_INDEX_AUTO, &map, &error));
    assert_memory_equal(&error, &before, sizeof(error));
    bat_map_free(map);
    bat_map_free(NULL);
}

/* Inside a table the message names it. */
TEST(test_message_names_the_table)
{
    struct note_bytes note = note_of("01 8020 0000000000000000 00 00 01 00 00 7f 00");
    struct bat_map *map;
    struct bat_error error = {0};
    assert_int_equal(decode_copy(note.bytes, note.size, BAT_HOT_INDEX_AUTO, &map, &error),
                     BAT_ERR_RANGE);
    assert_non_null(strstr(error.message, "table at 0x1000: expected the input offset of entry 0"));
    note = note_of("01 8020 " EMPTY_HOT "8000");
    assert_int_equal(decode_copy(note.bytes, note.size, BAT_HOT_INDEX_AUTO, &map, &error),
                     BAT_ERR_LEB128);
    assert_null(strstr(error.message, "table at"));
}
