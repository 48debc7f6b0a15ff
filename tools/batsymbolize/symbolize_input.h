/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What batsymbolize reads: its arguments, and lines of text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A program's arguments. */
struct symbolize_argv {
    char **values;
    int count;
    char **owned; /* strings that were allocated, up to NULL */
    char *environment;
};

/*
 * Make the arguments, with those of BATSYMBOLIZE_OPTS in front; "-obj=FILE" becomes "--obj=FILE",
 * "-e=FILE" becomes "-e" "FILE", "-f=VALUE" becomes "--functions=VALUE". False without memory. Free
 * them with symbolize_argv_free() in any case.
 */
bool symbolize_argv_make(struct symbolize_argv *made, int argc, char **argv);
void symbolize_argv_free(struct symbolize_argv *made);

/* True if the program is called under such a name. */
bool symbolize_is_addr2line(const char *program);
bool symbolize_is_stand_in(const char *program); /* addr2line or llvm-symbolizer */

/* Longer lines are returned in parts. */
#define TEXT_LINE_MAX ((size_t)1 << 20)

struct text_lines;

/* Read the file descriptor; wait(context) is called before each read that may have to wait. NULL
 * without memory. */
struct text_lines *text_lines_begin(int file, void (*wait)(void *context), void *context);

/* Read the first bytes, and leave them to text_lines_next(). They are valid until then. */
const char *text_lines_first(struct text_lines *lines, size_t *size);

struct text_line {
    const char *text; /* valid until the next call */
    size_t length;    /* without the newline */
    bool is_part;     /* of a line that is too long */
    bool is_end;      /* the line ends here */
};

/* Read the next line. False at the end or if reading fails: *error is set to 0 or errno. */
bool text_lines_next(struct text_lines *lines, struct text_line *line, int *error);
void text_lines_end(struct text_lines *lines);
