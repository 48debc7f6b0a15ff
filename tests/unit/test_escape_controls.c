/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* spec/escape_controls.c, and YAML's strings: any bytes become safe for a line of text. */
#include <unistd.h>

#include "bat.h"
#include "folder.h"
#include "output_file.h"
#include "profile/translate/escape_name.h"
#include "profile/yaml/yaml_out.h"
#include "spec/escape_controls.h"
#include "unit_test.h"

static const struct {
    const char *text;
    const char *escaped;
    const char *yaml;
} cases[] = {
    {"", "", "''"},
    {"plain name", "plain name", "plain name"},
    {"it's", "it's", "'it''s'"},
    {"\x1b[1m\n", "\\x1b[1m\\x0a", "\"\\e[1m\\n\""},
    {"\x7f\x1f ", "\\x7f\\x1f ", "\"\\x7F\\x1F \""},
    {"\t\"\\", "\\x09\"\\", "'\t\"\\'"},
    /* C1 as UTF-8, and its neighbours U+00A0 and U+07FF. */
    {"\xc2\x80\xc2\x9f\xc2\xa0\xdf\xbf", "\\xc2\\x80\\xc2\\x9f\xc2\xa0\xdf\xbf",
     "\"\\x80\\x9F\\_\xdf\xbf\""},
    /* C1 as bytes; other bytes that are not UTF-8 stay. */
    {"\x80\x9f\xa0\xff", "\\x80\\x9f\xa0\xff", "\"\\\\x80\\\\x9f\\\\xa0\\\\xff\""},
    /* Overlong, surrogate, beyond U+10FFFF, cut off. */
    {"\xc1\x9b", "\xc1\\x9b", "\"\\\\xc1\\\\x9b\""},
    {"\xe0\x9b\xa0", "\xe0\\x9b\xa0", "\"\\\\xe0\\\\x9b\\\\xa0\""},
    {"\xed\xa0\xa0", "\xed\xa0\xa0", "\"\\\\xed\\\\xa0\\\\xa0\""},
    {"\xf4\x90\xa0\xa0", "\xf4\\x90\xa0\xa0", "\"\\\\xf4\\\\x90\\\\xa0\\\\xa0\""},
    {"\xe2\x82", "\xe2\\x82", "\"\\\\xe2\\\\x82\""},
    /* Characters whose later bytes look like C1. */
    {"\xc4\x9b\xe2\x82\xac\xf0\x9f\x98\x80", "\xc4\x9b\xe2\x82\xac\xf0\x9f\x98\x80",
     "\"\xc4\x9b\xe2\x82\xac\xf0\x9f\x98\x80\""},
    /* U+FEFF and U+FFFE need escapes in YAML, U+FFFD does not. */
    {"\xef\xbb\xbf\xef\xbf\xbe", "\xef\xbb\xbf\xef\xbf\xbe", "\"\\uFEFF\\uFFFE\""},
    {"\xef\xbf\xbd", "\xef\xbf\xbd", "\"\xef\xbf\xbd\""},
};

#define CASES (COUNT(cases))

TEST(test_text)
{
    for (size_t i = 0; i < CASES; i++) {
        char escaped[64];
        size_t size = strlen(cases[i].text);
        *bat_put_escaped(escaped, cases[i].text, size) = '\0';
        assert_string_equal(escaped, cases[i].escaped);
        assert_int_equal(bat_has_controls(cases[i].text, size),
                         strcmp(cases[i].text, cases[i].escaped) != 0);
        /* Escaping again changes nothing. */
        char again[64];
        *bat_put_escaped(again, escaped, strlen(escaped)) = '\0';
        assert_string_equal(again, escaped);
    }
}

/* Nothing is read beyond size. */
TEST(test_ends)
{
    for (size_t size = 0; size <= 4; size++) {
        char *text = malloc(size + 1);
        assert_non_null(text);
        memcpy(text, "\xf0\x9f\x98\x80", size);
        char *exact = realloc(text, size ? size : 1);
        assert_non_null(exact);
        char escaped[16];
        size_t length = (size_t)(bat_put_escaped(escaped, exact, size) - escaped);
        /* The first byte stays; each of the others becomes four, unless all four are there. */
        assert_int_equal(length, size == 4 ? 4 : size == 0 ? 0 : 1 + 4 * (size - 1));
        free(exact);
    }
}

TEST(test_messages)
{
    struct bat_error error;
    bat_fail(&error, BAT_ERR_ELF, "name \"%s\"", "a\n\xc2\x9b");
    assert_string_equal(error.message, "name \"a\\x0a\\xc2\\x9b\"");
    /* What is no character, and what was cut within one. */
    bat_fail(&error, BAT_ERR_ELF, "\xe9 \xff \xc3\xa9 %.5s %.2s", "abcd\xc3\xa9", "\xe2\x82\xac");
    assert_string_equal(error.message, "\\xe9 \\xff \xc3\xa9 abcd\\xc3 \\xe2\\x82");
    /* A message that becomes too long is cut off. */
    char long_name[BAT_MESSAGE_SIZE];
    memset(long_name, '\n', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    bat_fail(&error, BAT_ERR_ELF, "%s", long_name);
    assert_int_equal(strlen(error.message),
                     (BAT_MESSAGE_SIZE - 1) / BAT_ESCAPED_BYTE * BAT_ESCAPED_BYTE);
    assert_false(bat_has_controls(error.message, strlen(error.message)));
    for (size_t before = 0; before < 4; before++) {
        memset(long_name, 'a', sizeof(long_name) - 1);
        for (size_t i = sizeof(long_name) - 1 - before; i >= 3; i -= 3)
            memcpy(long_name + i - 3, "\xe2\x82\xac", 3);
        bat_fail(&error, BAT_ERR_ELF, "%s%s", before ? "b" : "", long_name);
        for (size_t i = 0, length; error.message[i]; i += length) {
            length = bat_utf8_length(error.message + i, strlen(error.message + i));
            assert_int_not_equal(length, 0);
        }
    }
}

TEST(test_names)
{
    static const struct {
        const char *name;
        const char *escaped;
    } names[] = {
        {"main", "main"},
        {"operator new", "operator\\ new"},
        {"a\\x0a", "a\\\\x0a"},
        {"a\nb", "a\\x0ab"},
        {"a b\n\xc2\x9b\xc4\x9b\\", "a\\ b\\x0a\\xc2\\x9b\xc4\x9b\\\\"},
    };
    for (size_t i = 0; i < COUNT(names); i++) {
        char escaped[64];
        *bat_escape_name(escaped, names[i].name, strlen(names[i].name)) = '\0';
        assert_string_equal(escaped, names[i].escaped);
    }
}

/* The text that write() puts into a file. */
static char *written(void (*write)(struct bat_text_writer *, const char *), const char *string)
{
    char *path = write_file("", 0);
    struct bat_text_writer writer;
    struct bat_error error;
    struct bat_output *output = begin_output(path);
    assert_ok(bat_text_begin(&writer, output, &error));
    write(&writer, string);
    assert_ok(bat_text_finish(&writer, BAT_OK));
    commit_output(output);
    return file_bytes(path, NULL);
}

TEST(test_yaml)
{
    for (size_t i = 0; i < CASES; i++) {
        char *text = written(bat_yaml_string, cases[i].text);
        assert_string_equal(text, cases[i].yaml);
    }
}

/* Strings in LLVM's spelling, as merge-fdata-22 writes names of functions. */
TEST(test_yaml_quotes)
{
    static const struct {
        const char *text;
        const char *yaml;
    } names[] = {
        {"main", "main"},
        {"", "''"},
        {"a b", "a b"},
        {" a", "' a'"},
        {"null", "'null'"},
        {"~", "'~'"},
        {"true", "'true'"},
        {"yes", "yes"},
        {"123", "'123'"},
        {"-5", "'-5'"},
        {"+", "'+'"},
        {"-", "'-'"},
        {".5", "'.5'"},
        {"1e5", "'1e5'"},
        {"1e", "1e"},
        {"e5", "e5"},
        {"0x1F", "'0x1F'"},
        {"0x", "0x"},
        {"0o17", "'0o17'"},
        {"0o8", "0o8"},
        {".inf", "'.inf'"},
        {".nan", "'.nan'"},
        {"1.2.3", "1.2.3"},
        {"a/b", "'a/b'"},
        {"a@PLT", "'a@PLT'"},
        {"a'b", "'a''b'"},
        {"a$b", "'a$b'"},
        {"_Z1fv", "_Z1fv"},
        {"a^b", "a^b"},
        {"a,b", "a,b"},
        {"[a]", "'[a]'"},
        {"12e", "12e"},
        {"1.e5", "'1.e5'"},
        {".", "."},
        {"...", "..."},
        {"1E-", "1E-"},
        {"a\012b", "\"a\\nb\""},
        {"a\015b", "\"a\\rb\""},
        {"a\007b", "\"a\\ab\""},
        {"a\302\205b", "\"a\\Nb\""},
        {"a\342\200\250b", "\"a\\Lb\""},
        {"\303\251", "\"\303\251\""},
    };
    for (size_t i = 0; i < COUNT(names); i++) {
        char *text = written(bat_yaml_string, names[i].text);
        assert_string_equal(text, names[i].yaml);
    }
}

/* Strings longer than the writer's buffer: no character is cut in two. */
TEST(test_long_strings)
{
    enum { REPEATS = 100000 };
    static const char unit[] = "\xf0\x9f\x98\x80\n b";
    static const char unit_escaped[] = "\xf0\x9f\x98\x80\\x0a_b";
    for (size_t shift = 0; shift < 4; shift++) {
        size_t size = shift + REPEATS * (sizeof(unit) - 1);
        char *string = malloc(size + 1);
        char *expected = malloc(shift + REPEATS * (sizeof(unit_escaped) - 1) + 1);
        assert_non_null(string);
        assert_non_null(expected);
        memset(string, 'x', shift);
        memset(expected, 'x', shift);
        char *at = string + shift;
        char *to = expected + shift;
        for (size_t i = 0; i < REPEATS; i++) {
            at = stpcpy(at, unit);
            to = stpcpy(to, unit_escaped);
        }
        char *text = written(bat_text_word, string);
        assert_true(strcmp(text, expected) == 0);
        free(string);
        free(expected);
    }
}
