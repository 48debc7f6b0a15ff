/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "text_writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "spec/escape_controls.h"

enum bat_code bat_text_begin(struct bat_text_writer *writer, struct bat_output *output,
                             struct bat_error *error)
{
    *writer = (struct bat_text_writer){
        .output = output, .error = error, .buffer = malloc(BAT_TEXT_BUFFER + BAT_PUT_SLACK)};
    BAT_TRY_MEMORY(writer->buffer, error, "to write the profile");
    return BAT_OK;
}

void bat_text_flush(struct bat_text_writer *writer)
{
    if (writer->code == BAT_OK && writer->used != 0 && writer->before_output)
        writer->code = writer->before_output(writer->context);
    if (writer->code == BAT_OK && writer->used != 0)
        writer->code =
            bat_output_write(writer->output, writer->buffer, writer->used, writer->error);
    writer->used = 0;
}

void bat_text_long(struct bat_text_writer *writer, const char *bytes, size_t size)
{
    while (size > BAT_TEXT_BUFFER - writer->used) {
        size_t part = BAT_TEXT_BUFFER - writer->used;
        memcpy(writer->buffer + writer->used, bytes, part);
        writer->used += part;
        bytes += part;
        size -= part;
        bat_text_flush(writer);
    }
    memcpy(writer->buffer + writer->used, bytes, size);
    writer->used += size;
}

size_t bat_text_part(const char *text, size_t size, size_t most)
{
    if (size <= most)
        return size;
    size_t part = most;
    while (most - part < 3 && ((unsigned char)text[part] & 0xc0) == 0x80)
        part--;
    return part;
}

static void write_escaped(struct bat_text_writer *writer, const char *string, bool is_word)
{
    for (size_t size = strlen(string); size != 0;) {
        size_t part = bat_text_part(string, size, BAT_TEXT_BUFFER / BAT_ESCAPED_BYTE);
        char *at = bat_text_room(writer, BAT_ESCAPED_BYTE * part);
        char *end = bat_put_escaped(at, string, part);
        while (is_word && (at = memchr(at, ' ', (size_t)(end - at))))
            *at = '_';
        bat_text_end(writer, end);
        string += part;
        size -= part;
    }
}

void bat_text_escaped(struct bat_text_writer *writer, const char *string)
{
    write_escaped(writer, string, false);
}

void bat_text_word(struct bat_text_writer *writer, const char *string)
{
    write_escaped(writer, string, true);
}

/* One character of a JSON string. length is its bytes, 0 for a byte that is no character. */
static void write_json_character(struct bat_text_writer *writer, const char *text, size_t length)
{
    size_t bytes;
    if (length == 0)
        bat_text_string(writer, "\\ufffd");
    else if (bat_is_control(text, length, &bytes))
        /* Up to U+009F the number of a character is its last byte in UTF-8. */
        bat_text_format(writer, "\\u%04x", (unsigned)(unsigned char)text[length - 1]);
    else if (*text == '"' || *text == '\\')
        bat_text_format(writer, "\\%c", *text);
    else
        bat_text_bytes(writer, text, length);
}

void bat_text_json(struct bat_text_writer *writer, const char *string)
{
    bat_text_string(writer, "\"");
    for (size_t size = strlen(string); size != 0;) {
        size_t length = bat_utf8_length(string, size);
        write_json_character(writer, string, length);
        length += length == 0;
        string += length;
        size -= length;
    }
    bat_text_string(writer, "\"");
}

void bat_text_format(struct bat_text_writer *writer, const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length >= 0)
        bat_text_bytes(writer, text, (size_t)length);
    else if (writer->code == BAT_OK)
        writer->code = bat_fail_memory(writer->error, "to write the text");
    if (length >= 0)
        free(text);
}

enum bat_code bat_text_finish(struct bat_text_writer *writer, enum bat_code code)
{
    if (code == BAT_OK) {
        bat_text_flush(writer);
        code = writer->code;
    }
    free(writer->buffer);
    return code;
}
