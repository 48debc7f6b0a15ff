/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Escapes text from files, which may have any bytes, for terminals and for JSON. */
#ifndef BAT_ESCAPE_H
#define BAT_ESCAPE_H

#include "output.h"

/* text with control characters as "\x1b" (escape_controls.h): a name cannot control a terminal. */
void output_escaped(struct output *output, const char *text);

/*
 * text as a JSON string, quotes included. Each byte that is not part of a UTF-8 character becomes
 * U+FFFD.
 */
void output_json_string(struct output *output, const char *text);

#endif
