/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What all tools share: how they end, and how they tell an error. */
#ifndef BAT_TOOL_H
#define BAT_TOOL_H

#include "bat.h"

enum tool_exit {
    TOOL_FINE = 0,
    TOOL_BAD = 1,   /* bad input, or a check failed */
    TOOL_USAGE = 2, /* wrong usage */
};

/* Sets up argp's version text and its exit status for wrong usage. Call first in main(). */
void tool_begin(const char *name);

/* Prints "<tool>: <file>: <place>: <message>" to standard error. file may be NULL. */
void tool_report(const char *file, const struct bat_error *error);

/* Prints "<tool>: <file>: <text>" to standard error. file may be NULL. */
void tool_complain(const char *file, const char *format, ...) BAT_PRINTF(2, 3);

/*
 * Flush and check standard output. Returns status, or TOOL_BAD with a message if what was printed
 * could not all be written (disk full, closed pipe).
 */
enum tool_exit tool_end(enum tool_exit status);

/* Parse "0x..." or plain hexadecimal digits as an address. False if text is anything else. */
bool tool_parse_address(const char *text, uint64_t *address);

#endif
