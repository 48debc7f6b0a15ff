/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Text from files, which may hold any bytes, made fit for a terminal and for JSON. */
#ifndef BAT_ESCAPE_H
#define BAT_ESCAPE_H

#include "output.h"

/* text with control characters as "\x1b" (escape_controls.h), so that a name cannot steer a
 * terminal. */
void output_escaped(struct output *output, const char *text);
void output_escaped_bytes(struct output *output, const char *text, size_t size);

/*
 * text as a JSON string, quotes included. What is not UTF-8 becomes U+FFFD, a character for each
 * byte that belongs to none.
 */
void output_json_string(struct output *output, const char *text);

#endif
