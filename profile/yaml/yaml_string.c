/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "yaml_out.h"

#include "spec/escape_controls.h"

/* Enough bytes for any escaped character. */
#define CHARACTER_ROOM 8u

/* --- Which quotes ------------------------------------------------------------------------- */

enum quotes { QUOTES_NONE, QUOTES_SINGLE, QUOTES_DOUBLE };

static bool is_one_of(const char *string, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(string, words[i]) == 0)
            return true;
    return false;
}

static const char *skip_digits(const char *at)
{
    return at + strspn(at, "0123456789");
}

/* True for an exponent, such as "e+5", or nothing. */
static bool is_exponent(const char *at)
{
    if (*at == '\0')
        return true;
    if (*at != 'e' && *at != 'E')
        return false;
    at += 1 + (at[1] == '+' || at[1] == '-');
    return *at != '\0' && *skip_digits(at) == '\0';
}

/* True for text that YAML reads as a number. */
static bool is_number(const char *string)
{
    static const char *const not_numbers[] = {".nan", ".NaN", ".NAN"};
    static const char *const infinite[] = {".inf", ".Inf", ".INF"};
    if (is_one_of(string, not_numbers, 3))
        return true;
    const char *tail = string + (*string == '-' || *string == '+');
    if (is_one_of(tail, infinite, 3))
        return true;
    if (strncmp(string, "0o", 2) == 0)
        return string[2] != '\0' && string[2 + strspn(string + 2, "01234567")] == '\0';
    if (strncmp(string, "0x", 2) == 0)
        return string[2] != '\0' &&
               string[2 + strspn(string + 2, "0123456789abcdefABCDEF")] == '\0';
    const char *after = skip_digits(tail);
    if (*after != '.')
        return after != tail && is_exponent(after);
    const char *end = skip_digits(after + 1);
    return (after != tail || end != after + 1) && is_exponent(end);
}

/* True for text that YAML reads as something else than a string. */
static bool is_reserved(const char *string, size_t size)
{
    static const char *const words[] = {"null", "Null", "NULL",  "~",     "true",
                                        "True", "TRUE", "false", "False", "FALSE"};
    /* Most strings are long names. */
    bool is_word =
        size <= strlen("false") && is_one_of(string, words, sizeof(words) / sizeof(words[0]));
    return is_word || (strchr("+-.0123456789", *string) && is_number(string));
}

static bool is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* True for the characters, besides letters and digits, that need no quotes inside a string. */
static bool is_plain_sign(unsigned char byte)
{
    switch (byte) {
    case '_':
    case '-':
    case '^':
    case '.':
    case ',':
    case ' ':
    case '\t':
        return true;
    default:
        return false;
    }
}

static enum quotes quotes_of(const char *string, size_t size)
{
    if (size == 0)
        return QUOTES_SINGLE;
    enum quotes quotes = QUOTES_NONE;
    if (is_space(string[0]) || is_space(string[size - 1]) || is_reserved(string, size) ||
        strchr("-?:\\,[]{}#&*!|>'\"%@`", string[0]))
        quotes = QUOTES_SINGLE;
    for (size_t i = 0; i < size; i++) {
        const unsigned char byte = (unsigned char)string[i];
        if (byte >= 0x7f || (byte < ' ' && byte != '\t'))
            return QUOTES_DOUBLE;
        bool is_letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
        if (!is_letter && !(byte >= '0' && byte <= '9') && !is_plain_sign(byte))
            quotes = QUOTES_SINGLE;
    }
    return quotes;
}

/* --- Writing ------------------------------------------------------------------------------ */

static void write_single_quoted(struct bat_text_writer *text, const char *string)
{
    bat_text_string(text, "'");
    for (const char *quote; (quote = strchr(string, '\'')) != NULL; string = quote + 1) {
        bat_text_bytes(text, string, (size_t)(quote - string));
        bat_text_string(text, "''");
    }
    bat_text_string(text, string);
    bat_text_string(text, "'");
}

/* The escape of a character that has a short or a long one, else NULL. */
static const char *escape_of(const char *character, size_t length)
{
    static const struct {
        char bytes[4];
        const char *escape;
    } escapes[] = {
        {"\"", "\\\""},
        {"\\", "\\\\"},
        {"\a", "\\a"},
        {"\b", "\\b"},
        {"\t", "\\t"},
        {"\n", "\\n"},
        {"\v", "\\v"},
        {"\f", "\\f"},
        {"\r", "\\r"},
        {"\x1b", "\\e"},
        {"\xc2\x85", "\\N"},
        {"\xc2\xa0", "\\_"},
        {"\xe2\x80\xa8", "\\L"},
        {"\xe2\x80\xa9", "\\P"},
        {"\xef\xbb\xbf", "\\uFEFF"},
        {"\xef\xbf\xbe", "\\uFFFE"},
        {"\xef\xbf\xbf", "\\uFFFF"},
    };
    for (size_t i = 0; length != 0 && i < sizeof(escapes) / sizeof(escapes[0]); i++)
        if (strlen(escapes[i].bytes) == length && memcmp(character, escapes[i].bytes, length) == 0)
            return escapes[i].escape;
    return NULL;
}

static char *put_byte(char *at, char byte)
{
    at = bat_put_text(at, "\\x");
    *at++ = "0123456789ABCDEF"[(unsigned char)byte >> 4];
    *at++ = "0123456789ABCDEF"[byte & 15];
    return at;
}

/* Put a character for double quotes. length is its bytes, 0 for a byte that is not UTF-8. */
static char *put_character(char *at, const char *character, size_t length)
{
    size_t bytes;
    const char *escape = escape_of(character, length);
    if (escape)
        return bat_put_text(at, escape);
    if (length == 0) {
        *at++ = '\\';
        return bat_put_bytes_escaped(at, character, 1);
    }
    /* Up to U+009F the number of a character is its last byte in UTF-8. */
    if (bat_is_control(character, length, &bytes))
        return put_byte(at, character[length - 1]);
    return (char *)memcpy(at, character, length) + length;
}

static void write_double_quoted(struct bat_text_writer *text, const char *string, size_t size)
{
    bat_text_string(text, "\"");
    while (size != 0) {
        size_t length = bat_utf8_length(string, size);
        bat_text_end(text, put_character(bat_text_room(text, CHARACTER_ROOM), string, length));
        length += length == 0;
        string += length;
        size -= length;
    }
    bat_text_string(text, "\"");
}

void bat_yaml_string(struct bat_text_writer *text, const char *string)
{
    size_t size = strlen(string);
    switch (quotes_of(string, size)) {
    case QUOTES_NONE:
        bat_text_string(text, string);
        return;
    case QUOTES_SINGLE:
        write_single_quoted(text, string);
        return;
    case QUOTES_DOUBLE:
        write_double_quoted(text, string, size);
        return;
    }
}
