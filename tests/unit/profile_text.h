/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Profiles from texts in tests, and what they must hold. */
#pragma once

#include "folder.h"
#include "profile/profile.h"
#include "unit_test.h"

KEPT(kept_profile, struct bat_profile, bat_profile_free)

static inline struct bat_profile *new_profile(void)
{
    const struct bat_profile_target target = {.size = sizeof(target), .base_address = 0};
    struct bat_profile *profile;
    assert_ok(bat_profile_new(&target, &profile, NULL));
    return kept_profile(profile);
}

/*
 * Blank lines that are put behind each text: what is read from many bytes at a time, where there
 * are many, must be the same as what is read byte by byte at the end.
 */
static unsigned blank_lines_behind;

typedef enum bat_code text_reader(struct bat_profile *profile, struct bat_lines *lines);

/*
 * Read whole lines from a block of exactly these bytes, so that a byte too many is found out. The
 * first has the number `line`.
 */
static inline enum bat_code read_lines(struct bat_profile *profile, text_reader *reader,
                                       const char *text, size_t size, uint64_t line,
                                       struct bat_error *error)
{
    const size_t all = size + blank_lines_behind;
    uint8_t *copy = malloc(all ? all : 1);
    assert_non_null(copy);
    memcpy(copy, text, size);
    memset(copy + size, '\n', blank_lines_behind);
    struct bat_lines lines = {.at = copy, .end = copy + all, .line = line, .error = error};
    enum bat_code code = reader(profile, &lines);
    if (code == BAT_OK) {
        assert_ptr_equal(lines.at, lines.end);
        uint64_t newlines = 0;
        for (size_t i = 0; i < all; i++)
            newlines += copy[i] == '\n';
        assert_int_equal(lines.line, line + newlines);
    }
    free(copy);
    return code;
}

static inline void read_text(struct bat_profile *profile, text_reader *reader, const char *text)
{
    struct bat_error error = {0};
    if (read_lines(profile, reader, text, strlen(text), 1, &error) != BAT_OK)
        fail_msg("%llu:%llu: %s", (unsigned long long)error.line, (unsigned long long)error.column,
                 error.message);
}

/* Check that lines numbered from 10 fail at this line and column, saying so. */
static inline void assert_lines_fail(text_reader *reader, const char *text, size_t size,
                                     uint64_t line, uint64_t column, const char *message)
{
    struct bat_profile *profile = new_profile();
    struct bat_error error = {0};
    assert_int_equal(read_lines(profile, reader, text, size, 10, &error), BAT_ERR_SYNTAX);
    if (error.line != 10 + line || error.column != column || strcmp(error.message, message) != 0)
        fail_msg("expected %llu:%llu: %s\n     got %llu:%llu: %s", 10 + (unsigned long long)line,
                 (unsigned long long)column, message, (unsigned long long)error.line,
                 (unsigned long long)error.column, error.message);
    assert_int_equal(error.code, BAT_ERR_SYNTAX);
    assert_int_equal(error.place, BAT_PLACE_TEXT);
    /* The same without anybody to tell. */
    profile = new_profile();
    assert_int_equal(read_lines(profile, reader, text, size, 10, NULL), BAT_ERR_SYNTAX);
}

struct text_fault {
    const char *text;
    size_t size;
    unsigned line; /* from 0 */
    unsigned column;
    const char *message;
};

/* A text may have zero bytes. */
#define FAULT(text, line, column, message)                                                         \
    {                                                                                              \
        text, sizeof(text) - 1, line, column, message                                              \
    }

static inline void assert_faults(text_reader *reader, const struct text_fault *faults, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_lines_fail(reader, faults[i].text, faults[i].size, faults[i].line, faults[i].column,
                          faults[i].message);
}

/* Returns the line of the error. */
static inline uint64_t assert_sum_too_large(text_reader *reader, const char *text)
{
    struct bat_error error = {0};
    assert_int_equal(read_lines(new_profile(), reader, text, strlen(text), 1, &error),
                     BAT_ERR_RANGE);
    assert_int_equal(error.code, BAT_ERR_RANGE);
    assert_non_null(strstr(error.message, "2^63"));
    return error.line;
}

static inline void assert_trace(const struct bat_profile *profile, uint64_t branch, uint64_t from,
                                uint64_t to, uint64_t count, uint64_t mispredictions)
{
    const uint64_t key[3] = {branch, from, to};
    const uint64_t *item = bat_counts_find(&profile->traces, key);
    if (!item) {
        fail_msg("there is no trace %llx %llx %llx", (unsigned long long)branch,
                 (unsigned long long)from, (unsigned long long)to);
        return; /* fail_msg() does not come back, which static analysis does not know */
    }
    assert_int_equal(item[3], count);
    assert_int_equal(item[4], mispredictions);
}

static inline void assert_sample(const struct bat_profile *profile, uint64_t address,
                                 uint64_t count)
{
    const uint64_t *item = bat_counts_find(&profile->samples, &address);
    assert_non_null(item);
    assert_int_equal(item[1], count);
}

static inline int end_texts_at_once(void **state)
{
    (void)state;
    blank_lines_behind = 0;
    return 0;
}

static inline int end_texts_late(void **state)
{
    (void)state;
    blank_lines_behind = 64;
    return 0;
}

/* --- Files ---------------------------------------------------------------------------------- */

/* Read a text by way of a file. */
static inline enum bat_code read_as_file(struct bat_profile *profile, const char *text,
                                         struct bat_error *error)
{
    char *path = new_file(text, strlen(text));
    enum bat_code code = bat_profile_read(profile, path, NULL, error);
    remove_file(path);
    return code;
}
