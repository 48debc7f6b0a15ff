/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Lines of standard input, of which programs that ask and wait for an answer may be at the end. */
#ifndef BAT_TEXT_LINES_H
#define BAT_TEXT_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "output.h"

/* Longer lines come in parts. */
#define TEXT_LINE_MAX ((size_t)1 << 20)

struct text_lines;

/* Read the file descriptor; output is flushed before each wait for more. NULL without memory. */
struct text_lines *text_lines_begin(int file, struct output *output);

struct text_line {
    const char *text; /* valid until the next call */
    size_t length;    /* without the newline */
    bool is_part;     /* of a line that is too long */
    bool is_end;      /* nothing of the line follows */
};

/* The next line. False at the end, and where reading fails: then *error, else 0, has errno. */
bool text_lines_next(struct text_lines *lines, struct text_line *line, int *error);
void text_lines_end(struct text_lines *lines);

#endif
