/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "symbolize_input.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elfnote/descriptors.h"

struct text_lines {
    int file;
    void (*wait)(void *context);
    void *context;
    bool at_end;
    int error;    /* of the first bytes */
    bool in_line; /* a part of the current line was returned */
    size_t start; /* of the next line */
    size_t seen;  /* [start, seen) has no newline */
    size_t end;   /* of what was read */
    char bytes[TEXT_LINE_MAX];
};

struct text_lines *text_lines_begin(int file, void (*wait)(void *context), void *context)
{
    struct text_lines *lines = malloc(sizeof(*lines));
    if (!lines)
        return NULL;
    lines->file = file;
    lines->wait = wait;
    lines->context = context;
    lines->at_end = false;
    lines->error = 0;
    lines->in_line = false;
    lines->start = 0;
    lines->seen = 0;
    lines->end = 0;
    return lines;
}

void text_lines_end(struct text_lines *lines)
{
    free(lines);
}

static bool is_readable(int file)
{
    struct pollfd poll_file = {.fd = file, .events = POLLIN};
    return poll(&poll_file, 1, 0) == 1;
}

/* Read more bytes behind those that are left; false if there were none. */
static bool read_more(struct text_lines *lines, int *error)
{
    memmove(lines->bytes, lines->bytes + lines->start, lines->end - lines->start);
    lines->end -= lines->start;
    lines->seen -= lines->start;
    lines->start = 0;
    if (!is_readable(lines->file))
        lines->wait(lines->context);
    ssize_t size =
        bat_read_some(lines->file, lines->bytes + lines->end, TEXT_LINE_MAX - lines->end, -1);
    if (size < 0)
        *error = errno;
    lines->at_end = size <= 0;
    lines->end += size > 0 ? (size_t)size : 0;
    return size > 0;
}

const char *text_lines_first(struct text_lines *lines, size_t *size)
{
    read_more(lines, &lines->error);
    *size = lines->end;
    return lines->bytes;
}

bool text_lines_next(struct text_lines *lines, struct text_line *line, int *error)
{
    *error = lines->error;
    for (;;) {
        const char *newline = memchr(lines->bytes + lines->seen, '\n', lines->end - lines->seen);
        size_t next = newline ? (size_t)(newline - lines->bytes) + 1 : lines->end;
        bool is_full = lines->start == 0 && lines->end == TEXT_LINE_MAX;
        bool is_last = lines->at_end && lines->start != lines->end;
        if (newline || is_full || is_last) {
            line->text = lines->bytes + lines->start;
            line->length = next - lines->start - (newline ? 1 : 0);
            line->is_end = newline || is_last;
            line->is_part = lines->in_line || !line->is_end;
            lines->in_line = !line->is_end;
            lines->start = next;
            lines->seen = next;
            return true;
        }
        lines->seen = lines->end;
        if (lines->at_end || (!read_more(lines, error) && lines->start == lines->end))
            return false;
    }
}
