/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* spec/error.c: names of codes, places, and messages of any length. */
#include "bat.h"
#include "unit_test.h"

/* The names in BAT.md 12 and in the documentation; scripts match on them. */
static const char *const names[BAT_ERR_CODES] = {
    "ok",      "memory",      "io",    "argument", "container", "truncated", "trailing",
    "leb128",  "count",       "range", "order",    "prefix",    "hot-index", "version",
    "not-elf", "unsupported", "elf",   "no-note",  "syntax",    "mismatch",  "no-debug",
};

TEST(test_names)
{
    for (unsigned i = 0; i < BAT_ERR_CODES; i++)
        assert_string_equal(bat_code_name((enum bat_code)i), names[i]);
    assert_string_equal(bat_code_name(BAT_ERR_CODES), "unknown");
    assert_string_equal(bat_code_name((enum bat_code)0xffffffff), "unknown");
}

static void assert_text(const struct bat_error *error, const char *expected)
{
    char text[BAT_MESSAGE_SIZE + 64];
    bat_error_text(error, text, sizeof(text));
    assert_string_equal(text, expected);
}

TEST(test_without_place)
{
    struct bat_error error;
    memset(&error, 0x5a, sizeof(error));
    assert_int_equal(bat_fail(&error, BAT_ERR_IO, "%s: %d", "no", 7), BAT_ERR_IO);
    assert_int_equal(error.code, BAT_ERR_IO);
    assert_int_equal(error.place, BAT_PLACE_NONE);
    assert_int_equal(error.offset, BAT_NO_OFFSET);
    assert_int_equal(error.line, 0);
    assert_string_equal(error.message, "no: 7");
    assert_text(&error, "no: 7");
}

TEST(test_memory)
{
    struct bat_error error;
    memset(&error, 0x5a, sizeof(error));
    assert_int_equal(bat_fail_memory(&error, "for %u \x1b%s", 3U, "names"), BAT_ERR_MEMORY);
    assert_int_equal(error.code, BAT_ERR_MEMORY);
    assert_int_equal(error.place, BAT_PLACE_NONE);
    assert_text(&error, "not enough memory for 3 \\x1bnames");
    assert_int_equal(bat_fail_memory(NULL, "to test"), BAT_ERR_MEMORY);
}

TEST(test_offsets)
{
    struct bat_error error;
    assert_int_equal(
        bat_fail_at(&error, BAT_ERR_COUNT, BAT_PLACE_SECTION, 0x1f4, "expected %u", 3U),
        BAT_ERR_COUNT);
    assert_int_equal(error.code, BAT_ERR_COUNT);
    assert_int_equal(error.offset, 0x1f4);
    assert_text(&error, ".note.bolt_bat+0x1f4: expected 3");
    bat_fail_at(&error, BAT_ERR_ORDER, BAT_PLACE_SECTION, BAT_NO_OFFSET, "expected");
    assert_text(&error, ".note.bolt_bat: expected");
    bat_fail_at(&error, BAT_ERR_ELF, BAT_PLACE_FILE, 0x40, "expected");
    assert_text(&error, "offset 0x40: expected");
    bat_fail_at(&error, BAT_ERR_ELF, BAT_PLACE_FILE, 0xfffffffffffffffe, "expected");
    assert_text(&error, "offset 0xfffffffffffffffe: expected");
    bat_fail_at(&error, BAT_ERR_ELF, BAT_PLACE_FILE, BAT_NO_OFFSET, "expected");
    assert_text(&error, "expected");
}

TEST(test_lines)
{
    struct bat_error error;
    assert_int_equal(bat_fail_text(&error, BAT_ERR_SYNTAX, 17, 9, "expected %s", "a count"),
                     BAT_ERR_SYNTAX);
    assert_int_equal(error.place, BAT_PLACE_TEXT);
    assert_int_equal(error.line, 17);
    assert_int_equal(error.column, 9);
    assert_text(&error, "17:9: expected a count");
    bat_fail_text(&error, BAT_ERR_SYNTAX, UINT64_MAX, 1, "x");
    assert_text(&error, "18446744073709551615:1: x");
}

/* Without a struct bat_error the code is still returned. */
TEST(test_no_error)
{
    assert_int_equal(bat_fail(NULL, BAT_ERR_IO, "%s", "x"), BAT_ERR_IO);
    assert_int_equal(bat_fail_at(NULL, BAT_ERR_ELF, BAT_PLACE_FILE, 1, "%s", "x"), BAT_ERR_ELF);
    assert_int_equal(bat_fail_text(NULL, BAT_ERR_SYNTAX, 1, 1, "%s", "x"), BAT_ERR_SYNTAX);
}

TEST(test_too_long)
{
    char longest[2 * BAT_MESSAGE_SIZE];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    struct bat_error error;
    bat_fail_text(&error, BAT_ERR_SYNTAX, 3, 4, "%s", longest);
    assert_int_equal(strlen(error.message), BAT_MESSAGE_SIZE - 1);
    /* A buffer of any size is filled, and ends with a zero. */
    for (size_t size = 1; size < 12; size++) {
        char text[16];
        memset(text, '#', sizeof(text));
        bat_error_text(&error, text, size);
        assert_int_equal(strlen(text), size - 1);
        assert_memory_equal(text, "3:4: xxxxxxx", size - 1);
        assert_int_equal(text[size], '#');
    }
}
