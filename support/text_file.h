/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files of text that are read line by line, for small ones. */
#pragma once

#include <stdio.h>

/*
 * Open a file, or standard input for "-". Unlike those of fopen(), its reads are repeated if a
 * signal interrupts them. NULL and errno on failure; else fclose() must follow, which leaves
 * standard input open.
 */
FILE *bat_text_file_open(const char *path);

/*
 * Read a line as getline() does. -1 at the end, and if reading fails, also in the middle of a line:
 * then feof() is false and errno tells why.
 */
ssize_t bat_text_file_line(FILE *file, char **line, size_t *capacity);
