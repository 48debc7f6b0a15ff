/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "escape.h"

#include <stdbool.h>

static bool is_control(unsigned char byte)
{
    return byte < 0x20 || byte == 0x7f;
}

void output_escaped(struct output *output, const char *text)
{
    for (; *text; text++) {
        if (is_control((unsigned char)*text))
            output_format(output, "\\x%02x", (unsigned)(unsigned char)*text);
        else
            output_bytes(output, text, 1);
    }
}

static bool continues(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/*
 * The number of bytes of the UTF-8 character that text starts with, 0 if it is none: overlong
 * forms, surrogates and what lies beyond U+10FFFF are no characters.
 */
static size_t utf8_length(const char *text)
{
    unsigned char first = (unsigned char)text[0];
    if (first < 0x80)
        return 1;
    size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    for (size_t i = 1; i < length; i++)
        if (!continues(text[i]))
            return 0;
    unsigned char second = (unsigned char)text[1];
    switch (first) {
    case 0xe0:
        return second >= 0xa0 ? length : 0;
    case 0xed:
        return second < 0xa0 ? length : 0;
    case 0xf0:
        return second >= 0x90 ? length : 0;
    case 0xf4:
        return second < 0x90 ? length : 0;
    default:
        return first >= 0xc2 && first < 0xf5 ? length : 0;
    }
}

void output_json_string(struct output *output, const char *text)
{
    output_text(output, "\"");
    while (*text) {
        size_t length = utf8_length(text);
        if (length == 0)
            output_text(output, "\\ufffd");
        else if (is_control((unsigned char)*text))
            output_format(output, "\\u%04x", (unsigned)(unsigned char)*text);
        else if (*text == '"' || *text == '\\')
            output_format(output, "\\%c", *text);
        else
            output_bytes(output, text, length);
        text += length ? length : 1;
    }
    output_text(output, "\"");
}
