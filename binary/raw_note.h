/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Raw notes: files and pipes that hold the content of .note.bolt_bat. Internal to binary/. */
#ifndef BAT_BINARY_RAW_NOTE_H
#define BAT_BINARY_RAW_NOTE_H

#include "bat.h"

/*
 * Look at path ("-": standard input) and, unless it is an ELF file (then *is_elf is true and
 * *bytes NULL), read it whole: *bytes is to be freed with free(). Fails with BAT_ERR_IO,
 * BAT_ERR_MEMORY, or BAT_ERR_NOT_ELF for a file that is neither.
 */
enum bat_code bat_raw_note_read(const char *path, bool *is_elf, uint8_t **bytes, size_t *size,
                                struct bat_error *error);

#endif
