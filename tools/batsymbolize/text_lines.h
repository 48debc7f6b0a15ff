/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reads lines of a file, which can come from a program that waits for the answer to each. */
#ifndef BAT_TOOLS_BATSYMBOLIZE_TEXT_LINES_H
#define BAT_TOOLS_BATSYMBOLIZE_TEXT_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* Longer lines are returned in parts. */
#define TEXT_LINE_MAX ((size_t)1 << 20)

struct text_lines;

/* Read the file descriptor; wait(context) is called before each read that may have to wait. NULL
 * without memory. */
struct text_lines *text_lines_begin(int file, void (*wait)(void *context), void *context);

struct text_line {
    const char *text; /* valid until the next call */
    size_t length;    /* without the newline */
    bool is_part;     /* of a line that is too long */
    bool is_end;      /* the line ends here */
};

/* Read the next line. False at the end or if reading fails: *error is set to 0 or errno. */
bool text_lines_next(struct text_lines *lines, struct text_line *line, int *error);
void text_lines_end(struct text_lines *lines);

#endif
