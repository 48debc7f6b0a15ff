/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * decoder/sparse.c and the sparse side of decoder/decode.c: a note is accepted or refused as by
 * bat_decode(), and the tables that are wanted get the same entries.
 */
#include "decoder/sparse.h"
#include "support/parallel.h"
#include "unit_test.h"
#include "worked_example.h"

/* A section of any size. */
struct section {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
};

static void add(struct section *section, const void *bytes, size_t size)
{
    if (size == 0)
        return;
    if (section->size + size > section->capacity) {
        section->capacity = 2 * (section->size + size);
        section->bytes = kept_memory(section->bytes, section->capacity);
    }
    memcpy(section->bytes + section->size, bytes, size);
    section->size += size;
}

static void add_note(struct section *section, const struct note_bytes *note)
{
    add(section, note->bytes, note->size);
}

/* Copies a section to a block of just that size, so that reading one byte too many is noticed. */
static struct section exact(const void *bytes, size_t size)
{
    struct section section = {kept_memory(NULL, size ? size : 1), size, size};
    if (size != 0)
        memcpy(section.bytes, bytes, size);
    return section;
}

KEPT_COPY(kept_sparse, struct bat_sparse_map, bat_sparse_free)

static struct bat_sparse_map *begin(const struct section *section)
{
    struct bat_sparse_map *sparse = kept_sparse((struct bat_sparse_map){0});
    struct bat_error error;
    if (bat_decode_sparse(section->bytes, section->size, false, NULL, NULL, sparse, &error) !=
        BAT_OK)
        fail_msg("offset 0x%llx: %s", (unsigned long long)error.offset, error.message);
    assert_non_null(sparse->map);
    return sparse;
}

/* All of it at once, by bat_decode(). */
static struct bat_map *decode_all(const struct section *section)
{
    struct bat_map *full;
    assert_ok(bat_decode(section->bytes, section->size, NULL, &full, NULL));
    return kept_map(full);
}

static void load(const struct section *section, struct bat_sparse_map *sparse,
                 const uint8_t *wanted)
{
    struct bat_error error;
    if (bat_sparse_load(sparse, section->bytes, section->size, wanted, bat_parts_run, &error) !=
        BAT_OK)
        fail_msg("offset 0x%llx: %s", (unsigned long long)error.offset, error.message);
    assert_null(sparse->tables);
}

static bool same_words(const uint32_t *left, const uint32_t *right, uint32_t count)
{
    return count == 0 || memcmp(left, right, count * sizeof(*left)) == 0;
}

/* Compare one table's entries in two maps. */
static void assert_same_entries(const struct bat_map *map, const struct bat_map *full, uint32_t i)
{
    const struct bat_table *table = &map->tables[i];
    const struct bat_table *other = &full->tables[i];
    assert_int_equal(table->entry_count, other->entry_count);
    assert_int_equal(table->block_count, other->block_count);
    assert_int_equal(table->equal_count, other->equal_count);
    assert_true(same_words(map->output_offsets + table->first_entry,
                           full->output_offsets + other->first_entry, table->entry_count));
    assert_true(same_words(map->input_offsets + table->first_entry,
                           full->input_offsets + other->first_entry, table->entry_count));
    if (!full->block_hashes)
        return;
    assert_true(same_words(map->block_indices + table->first_block,
                           full->block_indices + other->first_block, table->block_count));
    assert_true(same_words((const uint32_t *)(map->block_hashes + table->first_block),
                           (const uint32_t *)(full->block_hashes + other->first_block),
                           2 * table->block_count));
}

/* Compare all that the first step must find. */
static void assert_same_tables(const struct bat_map *map, const struct bat_map *full)
{
    assert_int_equal(map->version, full->version);
    assert_int_equal(map->hot_count, full->hot_count);
    assert_int_equal(map->cold_count, full->cold_count);
    assert_int_equal(map->hot_index, full->hot_index);
    assert_int_equal(map->hot_index_ambiguous, full->hot_index_ambiguous);
    assert_int_equal(map->secondary_count, full->secondary_count);
    assert_true(same_words(map->secondary_entries, full->secondary_entries, full->secondary_count));
    assert_true(same_words(map->by_address, full->by_address, bat_map_tables(full)));
    assert_true(same_words(map->fragment_start, full->fragment_start, full->hot_count + 1));
    assert_true(same_words(map->fragments, full->fragments, full->cold_count));
    for (uint32_t i = 0; i < bat_map_tables(full); i++) {
        assert_int_equal(map->tables[i].address, full->tables[i].address);
        assert_int_equal(map->tables[i].hash, full->tables[i].hash);
        assert_int_equal(map->tables[i].parent, full->tables[i].parent);
        assert_int_equal(map->tables[i].skew, full->tables[i].skew);
        assert_int_equal(map->tables[i].input_block_count, full->tables[i].input_block_count);
        assert_int_equal(map->tables[i].first_secondary, full->tables[i].first_secondary);
        assert_int_equal(map->tables[i].secondary_count, full->tables[i].secondary_count);
    }
}

/* --- The note ------------------------------------------------------------------------------- */

/* START's table as the encoder writes it: all of it is an equal prefix (BAT.md 6.2). */
static void put_start_entries(struct note_bytes *note)
{
    put_uleb(note, COUNT(start_entries));
    put_uleb(note, COUNT(start_entries));
    put_hex(note, "fc 00");
    for (size_t i = 0, output = 0, index = 0; i < COUNT(start_entries); i++) {
        put_uleb(note, start_entries[i].output - output);
        output = start_entries[i].output;
        if (start_entries[i].is_branch)
            continue;
        put_word(note, start_entries[i].hash, 8);
        put_uleb(note, start_entries[i].index - index);
        index = start_entries[i].index;
    }
}

/*
 * The tables of BAT.md's example, but with the fragment above all functions, so that the two
 * readings of its hot index agree. In the example they do not: that map is complete at once.
 */
static struct note_bytes settled_note(void)
{
    struct note_bytes note = note_begun("03");
    put_uleb(&note, 0x1000);
    put_hex(&note, "8877665544332211 01 00");
    put_entries(&note, leaf_entries, COUNT(leaf_entries));
    put_uleb(&note, 0x1000 - 0x02);
    put_hex(&note, "8877665544332211 0c 02");
    put_entries(&note, work_entries, COUNT(work_entries));
    put_hex(&note, "04 06"); /* secondary entry points at 4 and 10 */
    put_uleb(&note, 0x1000 - 0x27);
    put_hex(&note, "8877665544332211 03 00");
    put_start_entries(&note);
    put_hex(&note, "01");
    put_uleb(&note, 0x4000);
    put_hex(&note, "01 00");
    put_entries(&note, work_cold_entries, COUNT(work_cold_entries));
    finish_note(&note);
    return note;
}

/* --- Sound notes ---------------------------------------------------------------------------- */

/* In place of the second step: the entries of each table alone. */
TEST(test_entries_of_tables)
{
    struct note_bytes note = settled_note();
    struct section section = exact(note.bytes, note.size);
    struct bat_sparse_map *sparse = kept_sparse((struct bat_sparse_map){0});
    assert_ok(bat_decode_sparse(section.bytes, section.size, true, NULL, NULL, sparse, NULL));
    struct bat_map *full = decode_all(&section);
    assert_non_null(sparse->tables);
    for (uint32_t i = bat_map_tables(full); i-- > 0;) {
        const struct bat_table *table = &full->tables[i];
        struct bat_sparse_entries *entries =
            bat_sparse_entries_of(sparse, section.bytes, section.size, i);
        assert_non_null(entries);
        assert_int_equal(entries->count, table->entry_count);
        assert_true(same_words(entries->offsets, full->output_offsets + table->first_entry,
                               table->entry_count));
        assert_true(same_words(entries->offsets + entries->count,
                               full->input_offsets + table->first_entry, table->entry_count));
        uint32_t largest = 0;
        for (uint32_t j = 0; j < entries->count; j++)
            if (entries->offsets[entries->count + j] >> 1 > largest)
                largest = entries->offsets[entries->count + j] >> 1;
        assert_int_equal(sparse->tables[i].largest, largest);
        free(entries);
    }
    /* A section that was changed meanwhile. */
    memset(section.bytes + sparse->tables[0].body, 0xff, section.size - sparse->tables[0].body);
    assert_null(bat_sparse_entries_of(sparse, section.bytes, section.size, 0));
}

TEST(test_all_tables)
{
    struct note_bytes note = settled_note();
    struct section section = exact(note.bytes, note.size);
    struct bat_sparse_map *sparse = begin(&section);
    assert_non_null(sparse->tables);
    assert_null(sparse->map->output_offsets);
    load(&section, sparse, NULL);
    assert_map_is_sound(sparse->map);
    assert_int_equal(bat_map_secondary_id(sparse->map, WORK, 10), 2);
    assert_entries(sparse->map, LEAF, leaf_entries, COUNT(leaf_entries));
    assert_entries(sparse->map, WORK, work_entries, COUNT(work_entries));
    assert_entries(sparse->map, START, start_entries, COUNT(start_entries));
    assert_entries(sparse->map, WORK_COLD, work_cold_entries, COUNT(work_cold_entries));
    /* The second call has nothing to do. */
    load(&section, sparse, NULL);
    assert_entries(sparse->map, WORK, work_entries, COUNT(work_entries));
    bat_sparse_free(sparse);
    assert_null(sparse->map);
}

TEST(test_wanted_tables)
{
    struct note_bytes note = settled_note();
    struct section section = exact(note.bytes, note.size);
    struct bat_sparse_map *sparse = begin(&section);
    const uint8_t wanted[] = {[LEAF] = 0, [WORK] = 1, [START] = 0};
    load(&section, sparse, wanted);
    /* With the function its fragment is loaded. */
    assert_entries(sparse->map, WORK, work_entries, COUNT(work_entries));
    assert_entries(sparse->map, WORK_COLD, work_cold_entries, COUNT(work_cold_entries));
    assert_entries(sparse->map, LEAF, NULL, 0);
    assert_entries(sparse->map, START, NULL, 0);
    assert_int_equal(sparse->map->entry_count, COUNT(work_entries) + COUNT(work_cold_entries));
    /* What is not there translates as code without entries does, and finds no fall-throughs. */
    assert_int_equal(bat_map_translate(sparse->map, LEAF, 2, true), 2);
    struct bat_fallthrough_walk walk = bat_map_fallthroughs(sparse->map, START, 0, 0x28);
    struct bat_fallthrough pair;
    assert_false(bat_fallthrough_next(&walk, &pair));

    sparse = begin(&section);
    const uint8_t nothing[] = {0, 0, 0};
    load(&section, sparse, nothing);
    assert_int_equal(sparse->map->entry_count, 0);
    assert_int_equal(sparse->map->block_count, 0);
}

/* An empty note, of no functions at all. */
TEST(test_no_tables)
{
    struct note_bytes note = note_of("00 00");
    struct section section = exact(note.bytes, note.size);
    struct bat_sparse_map *sparse = begin(&section);
    load(&section, sparse, NULL);
    assert_int_equal(bat_map_tables(sparse->map), 0);
}

/* Whether a table at address 0 was emitted is told by its first entry, so that is kept. */
TEST(test_table_at_zero)
{
    const struct expected_entry entry = {0x2, 0x2, true, 0, 0};
    struct note_bytes note = note_begun("");
    put_uleb(&note, 2);
    for (unsigned i = 0; i < 2; i++) {
        put_uleb(&note, i * 0x1000);
        put_word(&note, 0x8877665544332211, 8);
        put_hex(&note, "01 00");
        put_entries(&note, &entry, 1);
    }
    put_hex(&note, "00");
    finish_note(&note);
    struct section section = exact(note.bytes, note.size);
    struct bat_sparse_map *sparse = begin(&section);
    const uint8_t nothing[] = {0, 0};
    load(&section, sparse, nothing);
    assert_entries(sparse->map, 0, &entry, 1);
    assert_entries(sparse->map, 1, NULL, 0);
}

/* --- Notes that are complete at once -------------------------------------------------------- */

static void assert_complete(const struct note_bytes *note)
{
    struct section section = exact(note->bytes, note->size);
    struct bat_sparse_map *sparse = begin(&section);
    assert_null(sparse->tables);
    struct bat_map *full = decode_note(note, BAT_HOT_INDEX_AUTO);
    const uint8_t nothing[16] = {0};
    load(&section, sparse, nothing);
    assert_same_tables(sparse->map, full);
    for (uint32_t i = 0; i < bat_map_tables(full); i++)
        assert_same_entries(sparse->map, full, i);
}

TEST(test_example)
{
    struct note_bytes note = note_from_file(EXAMPLE_NOTE);
    assert_complete(&note);
}

TEST(test_older_version)
{
    struct note_bytes note = note_from_file(VERSION_1_NOTE);
    assert_complete(&note);
}

/* Two hot functions above a fragment, whose index 1 fits both readings (BAT.md 7.2). */
TEST(test_open_hot_index)
{
    struct note_bytes note = note_begun("02");
    put_uleb(&note, 0x1000);
    put_hex(&note, "1122334455667788 00 00 00 00");
    put_uleb(&note, 0x1000);
    put_hex(&note, "1122334455667788 00 00 00 00");
    put_hex(&note, "01");
    put_uleb(&note, UINT64_MAX - 0x2000 + 0x100 + 1); /* to 0x100: addresses wrap */
    put_hex(&note, "01 00 00 00");
    finish_note(&note);
    assert_complete(&note);
}

/* --- Large notes ---------------------------------------------------------------------------- */

/* More entries than the first step has room for at a time, and enough bytes for consumed(). */
#define LARGE_ENTRIES 2200000u
#define LARGE_TABLES 3u

struct consumed {
    const struct section *section;
    size_t size;
    unsigned calls;
};

static void count_consumed(const uint8_t *bytes, size_t size, void *context)
{
    struct consumed *consumed = context;
    assert_ptr_equal(bytes, consumed->section->bytes + consumed->size);
    assert_true(size <= consumed->section->size - consumed->size);
    consumed->size += size;
    consumed->calls++;
}

/* End a section, which begins with the header of note_begun() and its tables. */
static void finish_section(struct section *section)
{
    uint32_t description = (uint32_t)section->size - 20;
    while (section->size % 4 != 0)
        add(section, "\0", 1);
    struct note_bytes header = {.size = 0};
    put_hex(&header, "05000000");
    put_word(&header, description, 4);
    put_hex(&header, "01000000 424f4c5400000000");
    memcpy(section->bytes, header.bytes, header.size);
}

/* The beginning of a hot table, up to its first entry. */
static void put_table(struct note_bytes *part, uint32_t entries)
{
    put_uleb(part, 0x1000);
    put_hex(part, "1122334455667788 01 00");
    put_uleb(part, entries);
    put_hex(part, "00");
}

static struct section large_section(void)
{
    struct section section = {NULL, 0, 0};
    struct note_bytes part = note_begun("");
    put_uleb(&part, LARGE_TABLES);
    for (unsigned i = 0; i < LARGE_TABLES; i++) {
        put_table(&part, LARGE_ENTRIES);
        put_hex(&part, "01 01"); /* a branch entry: output 1, input 0 */
        add_note(&section, &part);
        for (uint32_t entry = 1; entry < LARGE_ENTRIES; entry++)
            add(&section, "\x01\x02", 2);
        part.size = 0;
    }
    add(&section, "\0", 1);
    finish_section(&section);
    return section;
}

TEST(test_large_tables)
{
    struct section section = large_section();
    struct consumed consumed = {.section = &section};
    struct bat_sparse_map *sparse = kept_sparse((struct bat_sparse_map){0});
    assert_ok(bat_decode_sparse(section.bytes, section.size, false, count_consumed, &consumed,
                                sparse, NULL));
    assert_true(consumed.calls >= 2);
    const uint8_t wanted[LARGE_TABLES] = {0, 1, 0};
    load(&section, sparse, wanted);
    const struct bat_map *map = sparse->map;
    assert_int_equal(map->entry_count, LARGE_ENTRIES);
    assert_int_equal(map->tables[1].entry_count, LARGE_ENTRIES);
    assert_int_equal(map->tables[1].block_count, 0);
    for (uint32_t i = 0; i < LARGE_ENTRIES; i++)
        if (map->output_offsets[i] != i + 1 || map->input_offsets[i] != 2 * i + 1)
            fail_msg("entry %u is wrong", (unsigned)i);
}

/* Tables of so many entries, every second one a block. */
static struct section section_of(const uint32_t *entries, uint32_t tables)
{
    struct section section = {NULL, 0, 0};
    struct note_bytes part = note_begun("");
    put_uleb(&part, tables);
    for (uint32_t i = 0; i < tables; i++) {
        put_table(&part, entries[i]);
        add_note(&section, &part);
        for (uint32_t entry = 0; entry < entries[i]; entry++) {
            const uint32_t hash[2] = {i, entry};
            add(&section, "\x01\x01", 2);
            if (entry % 2 == 1)
                add(&section, hash, sizeof(hash));
            if (entry % 2 == 1)
                add(&section, "\x01", 1);
        }
        part.size = 0;
    }
    add(&section, "\0", 1);
    finish_section(&section);
    return section;
}

/* Threads decode a part of the tables each, which begins and ends anywhere. */
TEST(test_parts)
{
    static const uint32_t entries[][5] = {{40000, 40000, 1, 40000, 40000},
                                          {1, 0, 90000, 1, 40000},
                                          {90000, 7, 1, 0, 3},
                                          {0, 1, 1, 1, 90001}};
    static const uint8_t wanted[][5] = {{1, 1, 1, 1, 1}, {1, 0, 1, 0, 1}, {0, 1, 0, 1, 1}};
    for (unsigned i = 0; i < COUNT(entries); i++) {
        struct section section = section_of(entries[i], 5);
        struct bat_map *full = decode_all(&section);
        for (unsigned j = 0; j < COUNT(wanted); j++) {
            struct bat_sparse_map *sparse = begin(&section);
            load(&section, sparse, wanted[j]);
            for (uint32_t k = 0; k < 5; k++)
                if (wanted[j][k])
                    assert_same_entries(sparse->map, full, k);
                else
                    assert_int_equal(sparse->map->tables[k].entry_count, 0);
        }
    }
}

/* --- Hostile notes -------------------------------------------------------------------------- */

/* A note is accepted just as bat_decode() does, with the same error at the same place. */
static void assert_as_decode(const uint8_t *bytes, size_t size)
{
    struct section section = exact(bytes, size);
    struct bat_error expected = {0};
    struct bat_error error = {0};
    struct bat_map *full = NULL;
    struct bat_sparse_map *sparse = kept_sparse((struct bat_sparse_map){0});
    enum bat_code code = bat_decode(section.bytes, size, NULL, &full, &expected);
    enum bat_code found =
        bat_decode_sparse(section.bytes, section.size, false, NULL, NULL, sparse, &error);
    kept_map(full);
    assert_int_equal(found, code);
    if (code != BAT_OK) {
        assert_int_equal(error.offset, expected.offset);
        assert_int_equal(error.place, expected.place);
        assert_string_equal(error.message, expected.message);
        assert_null(sparse->map);
        assert_null(sparse->tables);
    } else {
        assert_same_tables(sparse->map, full);
        load(&section, sparse, NULL);
        for (uint32_t i = 0; i < bat_map_tables(full); i++)
            assert_same_entries(sparse->map, full, i);
    }
}

/* Every byte of a note replaced by some others. */
static void change_bytes(struct note_bytes note)
{
    static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    for (size_t i = 0; i < note.size; i++) {
        uint8_t before = note.bytes[i];
        for (size_t value = 0; value < COUNT(values); value++) {
            note.bytes[i] = values[value];
            assert_as_decode(note.bytes, note.size);
        }
        note.bytes[i] = before ^ 0x40;
        assert_as_decode(note.bytes, note.size);
        note.bytes[i] = before;
    }
}

TEST(test_changed_bytes)
{
    change_bytes(settled_note());
    change_bytes(note_from_file(EXAMPLE_NOTE));
}

/* A note cut off at every byte: the section alone, and with a header that fits. */
static void cut(struct note_bytes note)
{
    for (size_t size = 0; size < note.size; size++) {
        assert_as_decode(note.bytes, size);
        if (size < 20)
            continue;
        struct note_bytes shorter = note;
        shorter.size = size;
        finish_note(&shorter);
        assert_as_decode(shorter.bytes, shorter.size);
    }
}

TEST(test_truncated)
{
    cut(settled_note());
    cut(note_from_file(EXAMPLE_NOTE));
}

/* The second step trusts nothing that the first one has seen: a mapped file may have changed. */
TEST(test_changed_between_steps)
{
    struct note_bytes note = settled_note();
    for (size_t i = 20; i < note.size; i++) {
        struct section section = exact(note.bytes, note.size);
        struct bat_sparse_map *sparse = begin(&section);
        memset(section.bytes + i, 0xff, section.size - i);
        struct bat_error error = {0};
        enum bat_code code =
            bat_sparse_load(sparse, section.bytes, section.size, NULL, bat_parts_run, &error);
        assert_true(code == BAT_OK || (error.code == code && error.message[0]));
        if (i == 20)
            assert_int_not_equal(code, BAT_OK);
    }
}
