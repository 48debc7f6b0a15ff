/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What all tools share: how they end, and how they tell an error. */
#ifndef BAT_TOOL_H
#define BAT_TOOL_H

#include "bat.h"
#include "bat_output.h"

enum tool_exit {
    TOOL_FINE = 0,
    TOOL_BAD = 1,   /* bad input, or a check failed */
    TOOL_USAGE = 2, /* wrong usage */
};

/*
 * Sets up argp's version text and its exit status for wrong usage, and takes standard descriptors
 * that are closed, so that no file gets one. Call first in main().
 */
void tool_begin(const char *name);

/*
 * Control characters in what the following print come out as "\x1b" (escape_controls.h), so that no
 * name or path can steer a terminal or begin a line.
 */

struct argp;

/* argp_parse(). False, with a message, where it had no memory; it exits by itself at wrong usage.
 */
bool tool_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);

/* Prints "<tool>: <file>: <place>: <message>" to standard error. file may be NULL. */
void tool_report(const char *file, const struct bat_error *error);

/* Prints "<tool>: <file>: <text>" to standard error. file may be NULL. */
void tool_complain(const char *file, const char *format, ...) BAT_PRINTF(2, 3);

/* Prints text, in which a newline is a control character too, and a newline to standard output. */
void tool_print(const char *format, ...) BAT_PRINTF(1, 2);

/*
 * Flush and check standard output. Returns status, or TOOL_BAD with a message if what was printed
 * could not all be written (disk full, closed pipe).
 */
enum tool_exit tool_end(enum tool_exit status);

/*
 * The last step that can fail: flush and check standard output as tool_end() does, then put the
 * outputs in their places, all or none. Frees them in any case; says what is wrong, with file,
 * which may be NULL, in front.
 */
enum tool_exit tool_commit(const char *file, struct bat_output **outputs, size_t count);

/* Parse "0x..." or plain hexadecimal digits as an address. False if text is anything else. */
bool tool_parse_address(const char *text, uint64_t *address);

#endif
