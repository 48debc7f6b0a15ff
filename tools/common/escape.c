/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "output.h"

#include "spec/escape_controls.h"

void output_escaped(struct output *output, const char *text)
{
    size_t size = strlen(text);
    if (!bat_has_controls(text, size)) {
        output_bytes(output, text, size);
        return;
    }
    for (size_t length; size != 0; text += length, size -= length) {
        char escaped[BAT_ESCAPED_BYTE * 2];
        if (bat_is_control(text, size, &length))
            output_bytes(output, escaped,
                         (size_t)(bat_put_bytes_escaped(escaped, text, length) - escaped));
        else
            output_bytes(output, text, length);
    }
}

/* One character of a JSON string. length is its bytes, 0 for a byte that is no character. */
static void json_character(struct output *output, const char *text, size_t length)
{
    size_t bytes;
    if (length == 0)
        output_text(output, "\\ufffd");
    else if (bat_is_control(text, length, &bytes))
        /* Up to U+009F the number of a character is its last byte in UTF-8. */
        output_format(output, "\\u%04x", (unsigned)(unsigned char)text[length - 1]);
    else if (*text == '"' || *text == '\\')
        output_format(output, "\\%c", *text);
    else
        output_bytes(output, text, length);
}

void output_json_string(struct output *output, const char *text)
{
    output_text(output, "\"");
    for (size_t size = strlen(text); size != 0;) {
        size_t length = bat_utf8_length(text, size);
        json_character(output, text, length);
        length += length == 0;
        text += length;
        size -= length;
    }
    output_text(output, "\"");
}
