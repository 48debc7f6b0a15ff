/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What batsymbolize reads: its arguments, lines of text, and files with code. */
#ifndef BAT_TOOLS_BATSYMBOLIZE_SYMBOLIZE_INPUT_H
#define BAT_TOOLS_BATSYMBOLIZE_SYMBOLIZE_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "bat_symbolizer.h"
#include "tools/common/stores.h"

struct symbolize_files_options {
    const char *path;                     /* the binary of addresses without a file name; or NULL */
    struct bat_symbolizer_options binary; /* with its size */
    struct bat_stores stores;             /* with the whole of shipped files */
};

struct symbolize_files;

/*
 * Open options->path, if it is given. options and its strings must outlive the result. NULL, with a
 * message on standard error, if it or its original cannot be opened.
 */
struct symbolize_files *symbolize_files_open(const struct symbolize_files_options *options);
void symbolize_files_close(struct symbolize_files *files);

/* The given binary, or NULL. */
struct bat_symbolizer *symbolize_files_given(const struct symbolize_files *files);

/*
 * The binary that a text names: the given one if the name can be its, else the file at that path,
 * which is opened and kept. The original is the given binary's; if no binary is given, it is that
 * of every file that BOLT made from it. NULL, with *error, if the file cannot be opened.
 */
struct bat_symbolizer *symbolize_files_find(struct symbolize_files *files, struct bat_slice module,
                                            struct bat_error *error);

/*
 * The path of opened binary number i, from 0, or NULL behind the last. *symbolizer is set to the
 * binary, or to NULL if it could not be opened.
 */
const char *symbolize_files_at(const struct symbolize_files *files, size_t i,
                               const struct bat_symbolizer **symbolizer);

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
