/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Damaged notes: every prefix of good ones, every byte changed in several ways, and every number
 * replaced by huge ones. Each must be refused with a sentence or validate, encode to its own bytes
 * if it decodes, leak nothing, and never hold more memory than 64 times its size and 16 MB. Large
 * notes: how much memory decoding takes.
 *
 * The linker sends the library's allocations through the __wrap_ functions here (see
 * tests/CMakeLists.txt).
 */
#include <dirent.h>
#include <inttypes.h>
#include <malloc.h>

#include "bat_decoder.h"
#include "bat_encoder.h"
#include "bat_validate.h"
#include "unit_test.h"

/* --- How much memory is held ---------------------------------------------------------------- */

static size_t held;      /* bytes allocated now */
static size_t most_held; /* the most since it was last set to held */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *pointer, size_t size);
void __real_free(void *pointer);

static void *count_in(void *pointer)
{
    if (pointer)
        held += malloc_usable_size(pointer);
    if (held > most_held)
        most_held = held;
    return pointer;
}

void *__wrap_malloc(size_t size)
{
    return count_in(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return count_in(__real_calloc(count, size));
}

void *__wrap_realloc(void *pointer, size_t size)
{
    size_t before = pointer ? malloc_usable_size(pointer) : 0;
    void *after = __real_realloc(pointer, size);
    if (after)
        held -= before;
    return count_in(after);
}

void __wrap_free(void *pointer)
{
    if (pointer)
        held -= malloc_usable_size(pointer);
    __real_free(pointer);
}

/* --- One damaged note ------------------------------------------------------------------------- */

static struct {
    const char *name; /* of the good note */
    uint64_t sound;   /* damaged notes that have no error */
    uint64_t refused; /* those that have one */
} tally;

static void check_finding(const struct bat_finding *finding, void *context)
{
    (void)context;
    assert_non_null(finding->check);
    if (strcmp(finding->check, "round-trip") == 0)
        fail_msg("%s: %s", tally.name, finding->message);
    assert_non_null(strstr(finding->message, "expected "));
    assert_non_null(strstr(finding->message, ", found "));
}

/* Call every look-up. The results are not known; the calls only must not go wrong. */
static void look_up_everything(const struct bat_map *map)
{
    static struct bat_block blocks[256];
    for (uint32_t table = 0; table < bat_map_tables(map); table++) {
        const struct bat_table *function = &map->tables[table];
        uint32_t found = bat_map_is_unemitted(map, table) ? BAT_NONE : table;
        assert_int_equal(bat_map_table_at(map, function->address), found);
        assert_int_equal(bat_map_table_containing(map, function->address), found);
        assert_in_range(bat_map_parent(map, table), 0, map->hot_count - 1);
        uint32_t count = bat_map_blocks(map, table, blocks, 256);
        bat_block_at(blocks, count < 256 ? count : 256, 40);
        bat_map_secondary_id(map, table, 30);
        for (uint64_t offset = 0; offset < 80; offset += 8)
            bat_map_translate(map, table, offset, offset % 16 == 0);
        bat_map_translate(map, table, UINT64_MAX, true);
        struct bat_fallthrough pair;
        struct bat_fallthrough_walk walk = bat_map_fallthroughs(map, table, 0, UINT64_MAX);
        for (uint32_t steps = 0; bat_fallthrough_next(&walk, &pair); steps++)
            assert_in_range(steps, 0, function->entry_count);
    }
}

static void check_canonical_form(struct bat_map *map)
{
    bat_map_canonicalize(map);
    uint8_t *bytes;
    size_t size;
    struct bat_error error;
    if (bat_encode(map, &bytes, &size, &error) != BAT_OK)
        fail_msg("%s: %s", tally.name, error.message);
    struct bat_map *again;
    const struct bat_decode_options options = {.size = sizeof(options),
                                               .hot_index = BAT_HOT_INDEX_TABLE};
    if (bat_decode(bytes, size, &options, &again, &error) != BAT_OK)
        fail_msg("%s: %s", tally.name, error.message);
    for (uint32_t i = 0; i < bat_map_tables(map); i++)
        assert_int_equal(again->tables[i].parent, map->tables[i].parent);
    bat_map_free(again);
    free(bytes);
}

static void try_note(const uint8_t *bytes, size_t size)
{
    size_t held_before = held;
    most_held = held;
    /* A copy of exactly this size, so that a sanitizer sees the first byte read beyond it. */
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, bytes, size);
    struct bat_binary binary = {.note = copy, .note_size = size};
    struct bat_validate_options options = {.size = sizeof(options), .round_trip = true};
    struct bat_verdict verdict = {0};
    struct bat_error error;
    assert_ok(bat_validate(&binary, &options, check_finding, NULL, &verdict, &error));
    struct bat_map *map;
    enum bat_code code = bat_decode(copy, size, NULL, &map, &error);
    if (code == BAT_OK) {
        look_up_everything(map);
        check_canonical_form(map);
        bat_map_free(map);
    } else {
        assert_true(verdict.errors > 0);
        assert_int_equal(error.place, BAT_PLACE_SECTION);
    }
    tally.sound += verdict.errors == 0;
    tally.refused += verdict.errors > 0;
    bat_binary_close(&binary);
    free(copy);
    assert_int_equal(held, held_before);
    assert_in_range(most_held - held_before, 0, 64 * size + ((size_t)16 << 20));
}

/* --- Damage ----------------------------------------------------------------------------------- */

#define NOTE_MAX ((size_t)1600) /* larger ones take long and are not different */
#define HEADER ((size_t)BAT_NOTE_HEADER_SIZE)

/* Make note header and padding fit a description that ends at `end`; returns the note's size. */
static size_t fit_container(uint8_t *bytes, size_t end)
{
    uint32_t description = (uint32_t)(end - HEADER);
    memcpy(bytes + 4, &description, sizeof(description));
    while (end % 4 != 0)
        bytes[end++] = 0;
    return end;
}

static size_t put_uleb(uint8_t *at, uint64_t value)
{
    size_t size = 0;
    do {
        at[size++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
    return size;
}

/* Where the description ends, as the note header says. */
static size_t description_end(const uint8_t *bytes)
{
    uint32_t description;
    memcpy(&description, bytes + 4, sizeof(description));
    return HEADER + description;
}

static void cut_everywhere(const uint8_t *good, size_t size)
{
    uint8_t bytes[NOTE_MAX];
    for (size_t end = 0; end < size; end++)
        try_note(good, end);
    for (size_t end = HEADER; end < description_end(good); end++) {
        memcpy(bytes, good, end);
        try_note(bytes, fit_container(bytes, end));
    }
}

static void change_every_byte(const uint8_t *good, size_t size)
{
    uint8_t bytes[NOTE_MAX];
    memcpy(bytes, good, size);
    for (size_t at = 0; at < size; at++) {
        uint8_t others[15] = {
            0x00, 0x01, 0x7f, 0x80, 0xff, (uint8_t)(good[at] + 1), (uint8_t)(good[at] - 1)};
        for (unsigned bit = 0; bit < 8; bit++)
            others[7 + bit] = (uint8_t)(good[at] ^ 1u << bit);
        for (size_t i = 0; i < sizeof(others); i++) {
            /* Not those that are the same. */
            if (others[i] == good[at] || memchr(others, others[i], i))
                continue;
            bytes[at] = others[i];
            try_note(bytes, size);
        }
        bytes[at] = good[at];
    }
}

/* Replace every group of bytes that may be a number, and so every count. */
static void replace_every_number(const uint8_t *good, size_t size)
{
    static const uint64_t huge[] = {UINT32_MAX, (uint64_t)1 << 63, UINT64_MAX};
    uint8_t bytes[NOTE_MAX];
    size_t end = description_end(good);
    assert_in_range(end, HEADER, size);
    for (size_t at = HEADER; at < end; at++) {
        size_t next = at;
        while (next < end && good[next++] >= 0x80)
            ;
        for (size_t i = 0; i < COUNT(huge); i++) {
            memcpy(bytes, good, at);
            size_t length = at + put_uleb(bytes + at, huge[i]);
            memcpy(bytes + length, good + next, end - next);
            try_note(bytes, fit_container(bytes, length + (end - next)));
        }
    }
}

static bool damage(const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/good/%s", TEST_DATA, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    uint8_t good[NOTE_MAX];
    size_t size = fread(good, 1, NOTE_MAX, file);
    fclose(file);
    if (size > NOTE_MAX - 16)
        return false;
    tally.name = name;
    tally.sound = tally.refused = 0;
    try_note(good, size);
    assert_int_equal(tally.sound, 1);
    cut_everywhere(good, size);
    assert_int_equal(tally.sound, 1);
    /* Hardly any change in a hash is noticed; changes in other bytes mostly are. */
    uint64_t refused = tally.refused;
    change_every_byte(good, size);
    assert_true(tally.refused - refused > size);
    refused = tally.refused;
    replace_every_number(good, size);
    assert_true(tally.refused - refused > size);
    return true;
}

TEST(damaged_notes_are_refused_or_sound)
{
    DIR *folder = opendir(TEST_DATA "/good");
    assert_non_null(folder);
    unsigned notes = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        notes += damage(entry->d_name);
    }
    closedir(folder);
    assert_in_range(notes, 8, 1000);
}

/* --- Large notes ------------------------------------------------------------------------------ */

/* Blocks, each followed by branches, all of them at their input offsets. */
static void add_entries(struct bat_builder *builder, uint32_t function, uint32_t blocks,
                        uint32_t branches)
{
    uint32_t offset = 0;
    for (uint32_t block = 0; block < blocks; block++, offset += 4) {
        assert_ok(bat_builder_add_block(builder, function, offset, offset,
                                        0x7b4ea5e9d1000000u + offset, block, NULL));
        for (uint32_t branch = 0; branch < branches; branch++) {
            offset += 4;
            assert_ok(bat_builder_add_branch(builder, function, offset, offset, NULL));
        }
    }
}

static uint8_t *large_note(uint32_t functions, uint32_t blocks, uint32_t branches, size_t *size)
{
    struct bat_builder *builder = bat_builder_new();
    assert_non_null(builder);
    for (uint32_t i = 0; i < functions; i++) {
        uint32_t function;
        assert_ok(bat_builder_add_function(builder, 0x400000 + (uint64_t)i * 0x1000000, i, blocks,
                                           &function, NULL));
        add_entries(builder, function, blocks, branches);
    }
    struct bat_map *map;
    uint8_t *note;
    assert_ok(bat_builder_finish(builder, NULL, &map, NULL));
    assert_ok(bat_encode(map, &note, size, NULL));
    bat_map_free(map);
    bat_builder_free(builder);
    return note;
}

/* Decode; *most gets the most memory held during decoding. Returns the memory of the map. */
static size_t held_by_decoding(const uint8_t *note, size_t size, size_t *most)
{
    size_t before = held;
    struct bat_map *map;
    most_held = held;
    assert_ok(bat_decode(note, size, NULL, &map, NULL));
    *most = most_held - before;
    size_t after = held - before;
    bat_map_free(map);
    assert_int_equal(held, before);
    return after;
}

/* bat_decoder.h's limit, for notes with many blocks, many branches and many tables. */
TEST(decoding_holds_what_the_map_needs)
{
    static const uint32_t shapes[][3] = {{20000, 8, 1},   {20, 20000, 0},  {1, 200000, 0},
                                         {1, 1, 1500000}, {10, 1, 200000}, {200000, 1, 0}};
    for (size_t i = 0; i < COUNT(shapes); i++) {
        size_t size;
        uint8_t *note = large_note(shapes[i][0], shapes[i][1], shapes[i][2], &size);
        size_t most;
        size_t after = held_by_decoding(note, size, &most);
        assert_in_range(size, 1 << 20, 8 << 20);
        assert_in_range(most, after, after + after / 2 + size * 5 / 2 + 1500000);
        free(note);
    }
}

/* In a note that BOLT wrote, a block, a branch and another block take 22 bytes. */
TEST(decoding_a_usual_note_holds_three_times_its_size)
{
    size_t size;
    uint8_t *note = large_note(20000, 12, 1, &size);
    size_t most;
    held_by_decoding(note, size, &most);
    assert_in_range(most, size, 3 * size);
    free(note);
}
