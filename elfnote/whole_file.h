/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files that are read as a whole. Internal to the library. */
#pragma once

#include "bat.h"

/*
 * Read all of a file, or of standard input ("-"), and put a zero byte behind it. The caller frees
 * *text, which is NULL after a failure: BAT_ERR_IO, BAT_ERR_MEMORY.
 */
enum bat_code bat_whole_file_read(const char *path, char **text, size_t *size,
                                  struct bat_error *error);

/*
 * Append the rest of an open file to a buffer of *size bytes, which grows and has a byte more at
 * the end; bytes is the address of the pointer to it. 0, or -1 with errno, which is ENOMEM without
 * memory.
 */
int bat_read_rest(int file, void *bytes, size_t *size, size_t *capacity);
