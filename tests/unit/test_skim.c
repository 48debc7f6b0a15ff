/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Looking at a note function by function: the same tables, entries and blocks as decoding gives,
 * the same errors, and the same findings as checking it as a whole.
 */
#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bat_decoder.h"
#include "bat_validate.h"
#include "skim.h"

#define NOTE_MAX 65536u

struct note {
    uint8_t *bytes; /* as many as there are, so that reading beyond is seen */
    size_t size;
};

static struct note read_note(const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/good/%s", TEST_DATA, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot open %s", path);
    uint8_t *bytes = malloc(NOTE_MAX);
    assert_non_null(bytes);
    struct note note = {.size = fread(bytes, 1, NOTE_MAX, file)};
    fclose(file);
    assert_in_range(note.size, 1, NOTE_MAX - 1);
    note.bytes = malloc(note.size);
    assert_non_null(note.bytes);
    memcpy(note.bytes, bytes, note.size);
    free(bytes);
    return note;
}

/* Call check for every note in good/. */
static void for_all_notes(void (*check)(struct note note))
{
    DIR *folder = opendir(TEST_DATA "/good");
    assert_non_null(folder);
    unsigned checked = 0;
    for (struct dirent *file; (file = readdir(folder)) != NULL;) {
        if (!strstr(file->d_name, ".note"))
            continue;
        struct note note = read_note(file->d_name);
        check(note);
        free(note.bytes);
        checked++;
    }
    closedir(folder);
    assert_true(checked >= 3);
}

static void assert_same_table(const struct bat_map *map, const struct bat_map *other,
                              uint32_t table)
{
    const struct bat_function *one = &map->functions[table];
    const struct bat_function *two = &other->functions[table];
    assert_true(one->address == two->address && one->hash == two->hash);
    assert_int_equal(one->entry_count, two->entry_count);
    assert_int_equal(one->block_count, two->block_count);
    assert_int_equal(one->input_block_count, two->input_block_count);
    assert_int_equal(one->equal_count, two->equal_count);
    assert_int_equal(one->skew, two->skew);
    assert_int_equal(one->parent, two->parent);
    assert_int_equal(one->secondary_count, two->secondary_count);
    size_t entries = one->entry_count * sizeof(uint32_t);
    assert_memory_equal(map->output_offsets + one->first_entry,
                        other->output_offsets + two->first_entry, entries);
    assert_memory_equal(map->input_offsets + one->first_entry,
                        other->input_offsets + two->first_entry, entries);
    assert_memory_equal(map->block_hashes + one->first_block,
                        other->block_hashes + two->first_block,
                        one->block_count * sizeof(uint64_t));
    assert_memory_equal(map->block_indices + one->first_block,
                        other->block_indices + two->first_block,
                        one->block_count * sizeof(uint32_t));
    assert_memory_equal(map->secondary_entries + one->first_secondary,
                        other->secondary_entries + two->first_secondary,
                        one->secondary_count * sizeof(uint32_t));
}

static void assert_same_function(const struct bat_map *map, const struct bat_map *other,
                                 uint32_t hot)
{
    assert_same_table(map, other, hot);
    for (uint32_t i = map->fragment_start[hot]; i < map->fragment_start[hot + 1]; i++) {
        assert_int_equal(map->fragments[i], other->fragments[i]);
        assert_same_table(map, other, map->fragments[i]);
    }
}

static void check_functions(struct note note)
{
    struct bat_map *map;
    struct bat_skim skim;
    struct bat_error error;
    assert_int_equal(bat_decode(note.bytes, note.size, BAT_HOT_INDEX_AUTO, &map, &error), BAT_OK);
    assert_int_equal(
        bat_skim_open(&skim, note.bytes, note.size, BAT_HOT_INDEX_AUTO, NULL, NULL, &error),
        BAT_OK);
    assert_int_equal(bat_map_tables(skim.map), bat_map_tables(map));
    assert_int_equal(skim.map->hot_index, map->hot_index);
    /* From both ends, so that functions come in other orders than the note's. */
    for (uint32_t i = 0; i < map->hot_count; i++) {
        uint32_t hot = i % 2 ? map->hot_count - 1 - i / 2 : i / 2;
        assert_int_equal(bat_skim_load(&skim, hot, &error), BAT_OK);
        assert_same_function(map, skim.map, hot);
    }
    bat_skim_close(&skim);
    bat_map_free(map);
}

static void test_functions(void **state)
{
    (void)state;
    for_all_notes(check_functions);
}

static void check_prefixes(struct note note)
{
    size_t step = note.size / 200 + 1;
    for (size_t size = 0; size < note.size; size += step) {
        uint8_t *bytes = malloc(size + 1);
        assert_non_null(bytes);
        memcpy(bytes, note.bytes, size);
        struct bat_map *map;
        struct bat_skim skim;
        struct bat_error error = {0};
        struct bat_error skim_error = {0};
        enum bat_code code = bat_decode(bytes, size, BAT_HOT_INDEX_AUTO, &map, &error);
        assert_int_not_equal(code, BAT_OK);
        assert_int_equal(
            bat_skim_open(&skim, bytes, size, BAT_HOT_INDEX_AUTO, NULL, NULL, &skim_error), code);
        assert_string_equal(skim_error.message, error.message);
        assert_true(skim_error.offset == error.offset);
        free(bytes);
    }
}

static void test_errors(void **state)
{
    (void)state;
    for_all_notes(check_prefixes);
}

/* --- Findings ----------------------------------------------------------------------------- */

/* Findings as sums, so that their order does not count. */
struct findings {
    uint64_t count;
    uint64_t sum;
};

static void add_finding(const struct bat_finding *finding, void *context)
{
    struct findings *findings = context;
    uint64_t hash = finding->offset + 31 * (uint64_t)finding->table;
    for (const char *at = finding->message; *at; at++)
        hash = hash * 1099511628211u + (uint8_t)*at;
    findings->count++;
    findings->sum += hash;
}

static struct findings find(const struct note *note, bool by_function)
{
    struct bat_binary binary = {.note = note->bytes, .note_size = note->size};
    struct bat_validate_options options = {.by_function = by_function};
    struct findings findings = {0};
    struct bat_verdict verdict;
    struct bat_error error;
    enum bat_code code = bat_validate(&binary, &options, add_finding, &findings, &verdict, &error);
    assert_int_equal(code, BAT_OK);
    assert_int_equal(findings.count, verdict.notes + verdict.warnings + verdict.errors);
    bat_map_free(binary.map);
    return findings;
}

/* Every note with some of its bytes changed, one after the other. */
static void check_findings(struct note note)
{
    uint64_t found = 0;
    for (size_t i = 0; i < note.size; i += note.size / 300 + 1) {
        note.bytes[i] ^= 0x11;
        struct findings whole = find(&note, false);
        struct findings parts = find(&note, true);
        assert_true(whole.count == parts.count && whole.sum == parts.sum);
        found += whole.count;
        note.bytes[i] ^= 0x11;
    }
    assert_true(found > 10);
}

static void test_findings(void **state)
{
    (void)state;
    for_all_notes(check_findings);
}

/* --- A note that changes meanwhile ------------------------------------------------------------ */

/* Whatever the bytes become after the note was looked through, loading stays in bounds. */
static void check_changes(struct note note)
{
    struct bat_error error;
    uint64_t failures = 0;
    for (size_t i = 0; i < note.size; i += note.size / 300 + 1) {
        struct bat_skim skim;
        assert_int_equal(
            bat_skim_open(&skim, note.bytes, note.size, BAT_HOT_INDEX_AUTO, NULL, NULL, &error),
            BAT_OK);
        uint8_t before = note.bytes[i];
        note.bytes[i] ^= 0x7f;
        for (uint32_t hot = 0; hot < skim.map->hot_count; hot++)
            failures += bat_skim_load(&skim, hot, &error) != BAT_OK;
        note.bytes[i] = before;
        bat_skim_close(&skim);
    }
    assert_true(failures > 0);
}

static void test_changes(void **state)
{
    (void)state;
    for_all_notes(check_changes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_findings),
        cmocka_unit_test(test_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
