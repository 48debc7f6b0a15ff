/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "yaml_string.h"

#include "spec/escape_controls.h"

/* Enough bytes for any escaped character. */
#define CHARACTER_ROOM 8u

/* The escape of U+FEFF, U+FFFE or U+FFFF, which YAML allows as escapes only; else NULL. */
static const char *escape_of(const char *character, size_t length)
{
    static const struct {
        char bytes[4];
        const char *escape;
    } escapes[] = {
        {"\xef\xbb\xbf", "\\ufeff"},
        {"\xef\xbf\xbe", "\\ufffe"},
        {"\xef\xbf\xbf", "\\uffff"},
    };
    for (size_t i = 0; length == 3 && i < sizeof(escapes) / sizeof(escapes[0]); i++)
        if (memcmp(character, escapes[i].bytes, 3) == 0)
            return escapes[i].escape;
    return NULL;
}

static bool needs_escapes(const char *string, size_t size)
{
    if (bat_has_controls(string, size))
        return true;
    for (size_t i = 0, length; i < size; i += length) {
        length = bat_utf8_length(string + i, size - i);
        if (length == 0 || escape_of(string + i, length))
            return true;
    }
    return false;
}

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
        return bat_put_bytes_escaped(at, character + length - 1, 1);
    if (*character == '"' || *character == '\\')
        *at++ = '\\';
    return (char *)memcpy(at, character, length) + length;
}

void bat_yaml_string(struct bat_text_writer *text, const char *string)
{
    size_t size = strlen(string);
    if (!needs_escapes(string, size)) {
        write_single_quoted(text, string);
        return;
    }
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
