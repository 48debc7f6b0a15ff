/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "line_blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elfnote/descriptors.h"

/* Bytes that are read at a time. Only longer lines use more of the buffer, and so more memory. */
#define FILL_SIZE ((size_t)1 << 18)

enum bat_code bat_input_open(struct bat_input *input, int file, bool is_stream, uint64_t offset,
                             uint64_t stop, struct bat_error *error)
{
    *input = (struct bat_input){.file = file,
                                .is_stream = is_stream,
                                .offset = offset ? offset - 1 : 0,
                                .stop = stop,
                                /* A full buffer without a newline holds too long a line. */
                                .capacity = BAT_LINE_MAX + 1,
                                .skips_line = offset != 0};
    input->buffer = malloc(input->capacity + 1);
    BAT_TRY_MEMORY(input->buffer, error, "to read the profile");
    return BAT_OK;
}

void bat_input_put(struct bat_input *input, const uint8_t *bytes, size_t size)
{
    if (size == 0)
        return;
    memcpy(input->buffer + input->end, bytes, size);
    input->end += size;
    input->offset += size;
}

void bat_input_close(struct bat_input *input)
{
    free(input->buffer);
    *input = (struct bat_input){0};
}

/* Read into the buffer behind input->end. Sets at_end at the end of the file. */
static enum bat_code fill(struct bat_input *input, struct bat_error *error)
{
    if (input->start != 0)
        memmove(input->buffer, input->buffer + input->start, input->end - input->start);
    input->end -= input->start;
    input->start = 0;
    size_t stop =
        input->end + FILL_SIZE < input->capacity ? input->end + FILL_SIZE : input->capacity;
    while (input->end < stop && !input->at_end) {
        size_t wanted = stop - input->end;
        ssize_t got = bat_read_some(input->file, input->buffer + input->end, wanted,
                                    input->is_stream ? -1 : (off_t)input->offset);
        if (got < 0)
            return bat_fail(error, BAT_ERR_IO, "reading: %s", strerror(errno));
        input->at_end = got == 0;
        input->end += (size_t)got;
        input->offset += (uint64_t)got;
        /* Return what a pipe has now instead of waiting for more. */
        if (input->is_stream && got > 0)
            break;
    }
    return BAT_OK;
}

/* The number of bytes in the buffer that belong to lines starting before input->stop. */
static size_t bytes_before_stop(const struct bat_input *input)
{
    size_t available = input->end - input->start;
    uint64_t position = input->offset - available;
    if (position >= input->stop)
        return 0;
    if (input->stop - position >= available)
        return available;
    /* The line with the byte before stop starts before stop: all of it is in this stretch. */
    const uint8_t *from = input->buffer + input->start + (size_t)(input->stop - position) - 1;
    const uint8_t *newline = memchr(from, '\n', (size_t)(input->buffer + input->end - from));
    return newline ? (size_t)(newline + 1 - (input->buffer + input->start)) : available;
}

/* The length of the whole lines at the start of [text, text + size), 0 if there is none. */
static size_t whole_lines(const uint8_t *text, size_t size)
{
    const uint8_t *newline = size ? memrchr(text, '\n', size) : NULL;
    return newline ? (size_t)(newline + 1 - text) : 0;
}

/* Skip the line that the stretch before this one ends with. */
static void skip_first_line(struct bat_input *input)
{
    const uint8_t *from = input->buffer + input->start;
    const uint8_t *newline = memchr(from, '\n', input->end - input->start);
    input->start = newline ? (size_t)(newline + 1 - input->buffer) : input->end;
}

/* Find the size of the whole lines at the buffer's start; reads on until there is a line. */
static enum bat_code find_lines(struct bat_input *input, uint64_t line, size_t *size,
                                struct bat_error *error)
{
    for (;;) {
        size_t available = input->end - input->start;
        size_t own_size = bytes_before_stop(input);
        *size = whole_lines(input->buffer + input->start, own_size);
        if (*size != 0 || own_size < available)
            return BAT_OK;
        if (input->at_end) {
            *size = own_size;
            return BAT_OK;
        }
        if (available > BAT_LINE_MAX)
            return bat_fail_text(error, BAT_ERR_SYNTAX, line, 1,
                                 "expected a line of at most %zu bytes, found a longer one",
                                 BAT_LINE_MAX);
        BAT_TRY(fill(input, error));
        if (input->skips_line)
            skip_first_line(input);
        input->skips_line = false;
    }
}

enum bat_code bat_input_next(struct bat_input *input, uint64_t line, const uint8_t **text,
                             size_t *size, struct bat_error *error)
{
    *size = 0;
    enum bat_code code = find_lines(input, line, size, error);
    if (code != BAT_OK || *size == 0)
        return code;
    *text = input->buffer + input->start;
    input->start += *size;
    /* Only the file's last line can lack its newline. The buffer has a spare byte for it. */
    if (input->buffer[input->start - 1] != '\n') {
        input->buffer[input->start] = '\n';
        input->supplied_newline = true;
        (*size)++;
    }
    return BAT_OK;
}

enum bat_code bat_input_next_block(struct bat_input *input, const uint8_t **text, size_t *size,
                                   uint64_t line, uint64_t *end, struct bat_error *error)
{
    enum bat_code code = bat_input_next(input, line, text, size, error);
    /* A newline that the file does not have moves nothing else. */
    *end = input->offset - (input->end - input->start) +
           (input->supplied_newline && *size != 0 ? 1 : 0);
    return code;
}
