/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * validate/: a sound map has no findings; each fault in it gives the expected finding and no other.
 * Checks that need a binary are tested in tests/e2e/test_batvalidate.py.
 */
#include <pthread.h>

#include "bat_decoder.h"
#include "bat_encoder.h"
#include "bat_validate.h"
#include "kept.h"
#include "unit_test.h"

/* --- Findings --------------------------------------------------------------------------------- */

#define MOST_FINDINGS 64u

struct findings {
    struct bat_finding all[MOST_FINDINGS];
    size_t count;
    struct bat_verdict verdict;
};

static void receive(const struct bat_finding *finding, void *context)
{
    struct findings *findings = context;
    assert_true(findings->count < MOST_FINDINGS);
    findings->all[findings->count++] = *finding;
}

static void validate_binary(struct bat_binary *binary, bool round_trip, struct findings *findings)
{
    struct bat_validate_options options = {.size = sizeof(options), .round_trip = round_trip};
    struct bat_error error;
    findings->count = 0;
    assert_ok(bat_validate(binary, &options, receive, findings, &findings->verdict, &error));
    assert_int_equal(findings->verdict.errors + findings->verdict.warnings +
                         findings->verdict.notes,
                     findings->count);
}

static void validate_map(struct bat_map *map, struct findings *findings)
{
    struct bat_binary binary = {.map = map};
    validate_binary(&binary, false, findings);
}

/* The only finding, which must be of this check. */
static const struct bat_finding *only(const struct findings *findings, const char *check)
{
    for (size_t i = 0; i < findings->count; i++)
        if (strcmp(findings->all[i].check, check) != 0)
            fail_msg("unexpected finding %s: %s", findings->all[i].check, findings->all[i].message);
    assert_int_equal(findings->count, 1);
    return &findings->all[0];
}

static void assert_sound(struct bat_map *map)
{
    struct findings findings;
    validate_map(map, &findings);
    assert_int_equal(findings.count, 0);
}

/* The only finding about a map, of this severity and about this table. */
static const struct bat_finding *only_of(struct bat_map *map, const char *check,
                                         enum bat_severity severity, uint32_t table)
{
    static struct findings findings;
    validate_map(map, &findings);
    const struct bat_finding *finding = only(&findings, check);
    assert_int_equal(finding->severity, severity);
    assert_int_equal(finding->table, table);
    return finding;
}

static void assert_mentions(const struct bat_finding *finding, const char *text)
{
    if (!strstr(finding->message, text))
        fail_msg("\"%s\" is not in \"%s\"", text, finding->message);
}

/* --- A sound map ------------------------------------------------------------------------------ */

/*
 * A function of five blocks at 0x1000, one of two blocks at 0x1100, and two fragments of the
 * first, at 0x2000 and 0x2100. A block's hash is 0xb00000 with its index and its input offset.
 *
 * Block at 0x00, branch at 0x08 and block at 0x10 of the first function are where they were; block
 * 4 (input 0x50) follows at output 0x18. Blocks 2 (0x20) and 3 (0x40) are in the fragments.
 */
enum { FIRST, SECOND, FRAGMENT, OTHER_FRAGMENT };

static void add_block(struct bat_builder *builder, uint32_t table, uint32_t output, uint32_t input,
                      uint32_t index)
{
    uint64_t hash = 0xb00000 | index << 16 | input;
    assert_ok(bat_builder_add_block(builder, table, output, input, hash, index, NULL));
}

static void add_branch(struct bat_builder *builder, uint32_t table, uint32_t output, uint32_t input)
{
    assert_ok(bat_builder_add_branch(builder, table, output, input, NULL));
}

static void add_hot(struct bat_builder *builder, uint32_t *first)
{
    uint32_t second;
    assert_ok(bat_builder_add_function(builder, 0x1000, 0xf1, 5, first, NULL));
    assert_ok(bat_builder_add_function(builder, 0x1100, 0xf2, 2, &second, NULL));
    add_block(builder, *first, 0x00, 0x00, 0);
    add_branch(builder, *first, 0x08, 0x08);
    add_block(builder, *first, 0x10, 0x10, 1);
    add_block(builder, *first, 0x18, 0x50, 4);
    assert_ok(bat_builder_add_secondary(builder, *first, 0x40, NULL));
    add_block(builder, second, 0x00, 0x00, 0);
    add_block(builder, second, 0x30, 0x28, 1);
}

static struct bat_map *new_map(enum bat_hot_index hot_index)
{
    struct bat_builder *builder = new_builder();
    uint32_t first;
    uint32_t fragment;
    uint32_t other;
    add_hot(builder, &first);
    assert_ok(bat_builder_add_fragment(builder, 0x2000, first, &fragment, NULL));
    add_block(builder, fragment, 0x00, 0x20, 2);
    add_branch(builder, fragment, 0x0a, 0x2a);
    assert_ok(bat_builder_add_fragment(builder, 0x2100, first, &other, NULL));
    add_block(builder, other, 0x00, 0x40, 3);
    const struct bat_builder_options finish = {.size = sizeof(finish), .hot_index = hot_index};
    return finish_map(builder, &finish);
}

/* Position of entry number `number` of a table. */
static uint32_t entry_of(const struct bat_map *map, uint32_t table, uint32_t number)
{
    return map->tables[table].first_entry + number;
}

/* Position of block number `number` of a table. */
static uint32_t block_of(const struct bat_map *map, uint32_t table, uint32_t number)
{
    return map->tables[table].first_block + number;
}

/* A map with this change is sound. */
#define ASSERT_SOUND(...)                                                                          \
    do {                                                                                           \
        struct bat_map *map = new_map(BAT_HOT_INDEX_TABLE);                                        \
        __VA_ARGS__;                                                                               \
        assert_sound(map);                                                                         \
    } while (0)

/* The only finding about a map with this change is of this severity and table, and has the text. */
#define ASSERT_FOUND(check, severity, table, text, ...)                                            \
    do {                                                                                           \
        struct bat_map *map = new_map(BAT_HOT_INDEX_TABLE);                                        \
        __VA_ARGS__;                                                                               \
        assert_mentions(only_of(map, check, severity, table), text);                               \
    } while (0)

TEST(test_no_receiver)
{
    struct bat_map *map = new_map(BAT_HOT_INDEX_TABLE);
    map->tables[FRAGMENT].skew = 0x1f;
    map->tables[FRAGMENT].equal_count = 0;
    struct bat_binary binary = {.map = map};
    struct bat_verdict verdict;
    assert_ok(bat_validate(&binary, NULL, NULL, NULL, &verdict, NULL));
    assert_int_equal(verdict.warnings, 1);
    assert_int_equal(verdict.errors, 0);
}

/* The last entry of the first function is a block; move it. */
static void move_last(struct bat_map *map, uint32_t output)
{
    map->output_offsets[entry_of(map, FIRST, 3)] = output;
}

/* Put a branch of the fragment at 0x2000 to another output offset. */
static void move_fragment_branch(struct bat_map *map, uint32_t output)
{
    map->output_offsets[entry_of(map, FRAGMENT, 1)] = output;
    map->tables[FRAGMENT].equal_count = 1;
}

/* Make block 4 of the hot part a second entry for the fragment's block 2. */
static void repeat_fragment_block(struct bat_map *map)
{
    map->input_offsets[entry_of(map, FIRST, 3)] = 0x20 << 1;
    map->block_hashes[block_of(map, FIRST, 2)] = 0xb20020;
    map->block_indices[block_of(map, FIRST, 2)] = 2;
}

/* The fragment's block has this hash and index. */
static void set_fragment_block(struct bat_map *map, uint64_t hash, uint32_t index)
{
    map->block_hashes[block_of(map, FRAGMENT, 0)] = hash;
    map->block_indices[block_of(map, FRAGMENT, 0)] = index;
}

TEST(test_sound)
{
    assert_sound(new_map(BAT_HOT_INDEX_TABLE));
    assert_sound(finish_map(new_builder(), NULL));
    /* A deleted block at the next table. */
    ASSERT_SOUND(move_last(map, 0x100));
    /* A branch gone above, to the other fragment; below, to the hot part, modulo 2^32. */
    ASSERT_SOUND(move_fragment_branch(map, 0x104));
    ASSERT_SOUND(move_fragment_branch(map, 0u - 0x1000));
    ASSERT_SOUND(move_fragment_branch(map, 0u - 0xff8));
    ASSERT_SOUND(move_fragment_branch(map, 0u - 0xf00 - 1));
    ASSERT_SOUND(repeat_fragment_block(map));
    /* Only 16 bits of the offset are in the hash. */
    ASSERT_SOUND(map->input_offsets[entry_of(map, FIRST, 3)] = 0x70050 << 1);
    /* Entries that are not a block of the input function have neither hash nor index. */
    ASSERT_SOUND(set_fragment_block(map, 0, 0));
    /* In real notes, functions have more blocks than the note has entries for. */
    ASSERT_SOUND(map->tables[FIRST].input_block_count = 99);
}

/* --- Faults of single tables ------------------------------------------------------------------ */

TEST(test_prefix_short)
{
    assert_int_equal(new_map(BAT_HOT_INDEX_TABLE)->tables[FIRST].equal_count, 3);
    ASSERT_FOUND("prefix-short", BAT_WARNING, FIRST, "0x1000", map->tables[FIRST].equal_count = 2);
}

TEST(test_skew)
{
    struct bat_map *map = new_map(BAT_HOT_INDEX_TABLE);
    map->tables[OTHER_FRAGMENT].skew = 0x3f;
    map->tables[OTHER_FRAGMENT].equal_count = 0;
    const struct bat_finding *finding = only_of(map, "skew", BAT_WARNING, OTHER_FRAGMENT);
    assert_mentions(finding, "0x40");
    assert_mentions(finding, "0x3f");
}

TEST(test_overlap)
{
    struct bat_map *map = new_map(BAT_HOT_INDEX_TABLE);
    move_last(map, 0x101);
    const struct bat_finding *finding = only_of(map, "overlap", BAT_ERROR, FIRST);
    assert_int_equal(finding->entry, entry_of(map, FIRST, 3));
    assert_mentions(finding, "0x101");
}

/* BOLT takes 0 for the output address of a block that it did not emit. */
TEST(test_block_at_address_0)
{
    const uint32_t outputs[] = {0u - 0x1000, 0u - 0x1000 + 1};
    for (size_t i = 0; i < COUNT(outputs); i++) {
        struct bat_map *map = new_map(BAT_HOT_INDEX_TABLE);
        move_last(map, outputs[i]);
        struct findings findings;
        validate_map(map, &findings);
        assert_int_equal(only(&findings, i == 0 ? "not-emitted" : "overlap")->table, FIRST);
    }
}

/* A stray branch may belong to the equal prefix, modulo 2^32 (BAT.md 6.2). */
TEST(test_stray_branch_in_prefix)
{
    struct bat_builder *builder = new_builder();
    uint32_t function;
    uint32_t fragment;
    assert_ok(bat_builder_add_function(builder, 0x1000, 0xf1, 2, &function, NULL));
    add_block(builder, function, 0, 0, 0);
    add_branch(builder, function, 8, 0x38);
    assert_ok(bat_builder_add_fragment(builder, 0x1010, function, &fragment, NULL));
    add_block(builder, fragment, 0, 0x40, 1);
    add_branch(builder, fragment, 0u - 8, 0x38);
    struct bat_map *map = finish_map(builder, NULL);
    map->tables[1].equal_count = 2;
    assert_sound(map);
    map->tables[1].equal_count = 1;
    only_of(map, "prefix-short", BAT_WARNING, 1);
}

/* Into the second function; below all tables; further than branches reach. */
TEST(test_branch_gone_astray)
{
    const uint32_t outputs[] = {0u - 0xf00, 0u - 0x1001, 0x80000000};
    for (size_t i = 0; i < COUNT(outputs); i++) {
        struct bat_map *map = new_map(BAT_HOT_INDEX_TABLE);
        move_fragment_branch(map, outputs[i]);
        assert_int_equal(only_of(map, "overlap", BAT_ERROR, FRAGMENT)->entry,
                         entry_of(map, FRAGMENT, 1));
    }
}

/* --- Faults between the tables of a function -------------------------------------------------- */

TEST(test_block_hash)
{
    struct bat_map *map = new_map(BAT_HOT_INDEX_TABLE);
    repeat_fragment_block(map);
    set_fragment_block(map, 0xbad0020, 2);
    const struct bat_finding *finding = only_of(map, "block-hash", BAT_ERROR, FRAGMENT);
    assert_int_equal(finding->entry, entry_of(map, FRAGMENT, 0));
    assert_mentions(finding, "0xb20020");
    assert_mentions(finding, "0xbad0020");
}

/* An entry that is an input block in one table, and is not in another. */
TEST(test_block_and_none)
{
    struct bat_map *map = new_map(BAT_HOT_INDEX_TABLE);
    repeat_fragment_block(map);
    set_fragment_block(map, 0, 0);
    struct findings findings;
    validate_map(map, &findings);
    assert_int_equal(findings.count, 2);
    assert_string_equal(findings.all[0].check, "block-hash");
    assert_string_equal(findings.all[1].check, "block-index");
}

TEST(test_block_count)
{
    struct bat_map *map = new_map(BAT_HOT_INDEX_TABLE);
    map->tables[FIRST].input_block_count = 4;
    const struct bat_finding *finding = only_of(map, "block-count", BAT_ERROR, FIRST);
    assert_int_equal(finding->entry, entry_of(map, FIRST, 3));
}

TEST(test_other_faults)
{
    /* A block in another part of the function: only branches may be there. */
    ASSERT_FOUND("overlap", BAT_ERROR, FIRST, "", move_last(map, 0x100a));
    ASSERT_FOUND("hash-offset", BAT_WARNING, OTHER_FRAGMENT, "0xb30041",
                 map->block_hashes[block_of(map, OTHER_FRAGMENT, 0)] = 0xb30041);
    ASSERT_FOUND("block-index", BAT_ERROR, FRAGMENT, "", repeat_fragment_block(map),
                 set_fragment_block(map, 0xb20020, 4));
    ASSERT_FOUND("block-order", BAT_ERROR, FRAGMENT, "0x20", set_fragment_block(map, 0xb20020, 1));
    ASSERT_FOUND("secondary", BAT_ERROR, FIRST, "", map->secondary_entries[0] = 0x41);
    ASSERT_FOUND("secondary", BAT_ERROR, FIRST, "", map->secondary_entries[0] = 0x08);
    ASSERT_FOUND("secondary", BAT_ERROR, FIRST, "", map->secondary_entries[0] = 0xffffffff);
    /* Many faults of one kind in one function are one finding, which gives their number. */
    ASSERT_FOUND("block-count", BAT_ERROR, FRAGMENT, "the first of 3",
                 map->tables[FIRST].input_block_count = 2);
}

TEST(test_merged_hot_index)
{
    struct bat_map *map = new_map(BAT_HOT_INDEX_MERGED);
    struct findings findings;
    validate_map(map, &findings);
    const struct bat_finding *finding = only(&findings, "hot-index-merged");
    assert_int_equal(finding->severity, BAT_WARNING);
    assert_mentions(finding, "batinject --repair");
}

/* --- Bytes ------------------------------------------------------------------------------------ */

static void validate_bytes(const uint8_t *note, size_t size, bool round_trip,
                           struct findings *findings)
{
    struct bat_binary binary = {.note = note, .note_size = size};
    validate_binary(&binary, round_trip, findings);
    bat_map_free(binary.map);
}

static void put_u32(uint8_t *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* A note around a description; returns its size. */
static size_t make_note(uint8_t *note, const uint8_t *description, size_t size)
{
    size_t padded = (size + 3) / 4 * 4;
    memset(note, 0, 20 + padded);
    put_u32(note, 5);
    put_u32(note + 4, (uint32_t)size);
    put_u32(note + 8, 1);
    memcpy(note + 12, "BOLT", 4);
    memcpy(note + 20, description, size);
    return 20 + padded;
}

#define HASH 1, 2, 3, 4, 5, 6, 7, 8

TEST(test_bad_container)
{
    uint8_t note[64];
    size_t size = make_note(note, (const uint8_t[]){0, 0}, 2);
    struct findings findings;
    validate_bytes(note, size, true, &findings);
    assert_int_equal(findings.count, 0);
    note[8] = 2; /* the type */
    validate_bytes(note, size, false, &findings);
    assert_int_equal(only(&findings, "container")->severity, BAT_ERROR);
}

/*
 * The note of new_map(), written by hand field by field as in BAT.md, with two faults: the number
 * of blocks of the first function is too low, and the other fragment has a skew of 0x3f.
 */
static const uint8_t note_with_faults[] = {
    2,                                                 /* hot functions */
    0x80, 0x20, HASH, 2,    1, 4,    3, 2,             /* 0x1000, 2 blocks (5 are right) */
    0x00, 0,    0,    0xb0, 0, 0,    0, 0, 0, 0,       /* 0x00 block 0 */
    0x08,                                              /* 0x08 branch */
    0x08, 0x10, 0,    0xb1, 0, 0,    0, 0, 0, 1,       /* 0x10 block 1 */
    0x08, 0x80, 0x01, 0x50, 0, 0xb4, 0, 0, 0, 0, 0, 3, /* 0x18 block 4, input 0x50 */
    0x40,                                              /* secondary entry point */
    0xe8, 0x01, HASH, 2,    0, 2,    1, 0,             /* 0x1100 */
    0x00, 0,    0,    0xb0, 0, 0,    0, 0, 0, 0,       /* 0x00 block 0 */
    0x30, 0xd0, 0x00, 0x28, 0, 0xb1, 0, 0, 0, 0, 0, 1, /* 0x30 block 1, input 0x28 */
    2,                                                 /* fragments */
    0xd0, 0x1d, 0,    0x20, 2, 2,    2,                /* 0x2000, skew 0x20 */
    0x00, 0x20, 0,    0xb2, 0, 0,    0, 0, 0, 2,       /* 0x00 block 2 */
    0x0a,                                              /* 0x0a branch */
    0xf6, 0x01, 0,    0x3f, 1, 0,                      /* 0x2100, skew 0x3f (0x40 is right) */
    0x00, 0x80, 0x01, 0x40, 0, 0xb3, 0, 0, 0, 0, 0, 3, /* 0x00 block 3, input 0x40 */
};

/* A finding's offset is the start of the table's record in the section. */
TEST(test_places)
{
    uint8_t note[256];
    size_t size = make_note(note, note_with_faults, sizeof(note_with_faults));
    struct findings findings;
    validate_bytes(note, size, true, &findings);
    assert_int_equal(findings.count, 2);
    assert_string_equal(findings.all[0].check, "skew");
    assert_int_equal(findings.all[0].table, OTHER_FRAGMENT);
    /* After header, hot functions of 49 and 37 bytes with their number, and a fragment of 18. */
    assert_int_equal(findings.all[0].offset, 20 + 1 + 49 + 37 + 1 + 18);
    assert_string_equal(findings.all[1].check, "block-count");
    assert_int_equal(findings.all[1].table, FRAGMENT);
    assert_int_equal(findings.all[1].offset, 20 + 1 + 49 + 37 + 1);
}

/* Overwrites the note with every finding. */
struct overwriting {
    struct findings findings;
    uint8_t *note;
    size_t size;
    pthread_t caller;
};

static void overwrite(const struct bat_finding *finding, void *context)
{
    struct overwriting *overwriting = context;
    assert_true(pthread_equal(pthread_self(), overwriting->caller));
    receive(finding, &overwriting->findings);
    memset(overwriting->note, 0xff, overwriting->size);
}

/* Findings are made on the caller's thread, from the bytes as they were when decoded. */
TEST(test_bytes_that_change_meanwhile)
{
    uint8_t note[256];
    size_t size = make_note(note, note_with_faults, sizeof(note_with_faults));
    struct overwriting overwriting = {.note = note, .size = size, .caller = pthread_self()};
    struct bat_binary binary = {.note = note, .note_size = size};
    struct bat_verdict verdict;
    assert_ok(bat_validate(&binary, NULL, overwrite, &overwriting, &verdict, NULL));
    bat_map_free(binary.map);
    assert_int_equal(overwriting.findings.count, 2);
    assert_string_equal(overwriting.findings.all[0].check, "skew");
    assert_string_equal(overwriting.findings.all[1].check, "block-count");
    assert_int_equal(overwriting.findings.all[1].table, FRAGMENT);
    assert_int_equal(verdict.errors, 1);
    assert_int_equal(verdict.warnings, 1);
}

TEST(test_round_trip_differs)
{
    struct bat_map *map = new_map(BAT_HOT_INDEX_TABLE);
    size_t size = 0;
    uint8_t *note = encode_map(map, &size);
    /* A map that does not match the bytes stands for a faulty codec. */
    map->tables[SECOND].hash = 0xf3;
    struct bat_binary binary = {.map = map, .note = note, .note_size = size};
    struct findings findings;
    validate_binary(&binary, false, &findings);
    assert_int_equal(findings.count, 0);
    validate_binary(&binary, true, &findings);
    assert_int_equal(only(&findings, "round-trip")->severity, BAT_ERROR);
}

TEST(test_list_of_checks)
{
    size_t count = 0;
    const struct bat_check *checks = bat_checks(&count);
    assert_true(count > 20);
    for (size_t i = 0; i < count; i++) {
        assert_non_null(checks[i].id);
        assert_true(strlen(checks[i].summary) > 10);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(checks[i].id, checks[j].id);
    }
    assert_string_equal(bat_severity_name(BAT_WARNING), "warning");
}
