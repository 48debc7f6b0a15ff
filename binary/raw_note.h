/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Raw notes: files and pipes that hold the content of .note.bolt_bat. Internal to binary/. */
#ifndef BAT_BINARY_RAW_NOTE_H
#define BAT_BINARY_RAW_NOTE_H

#include "bat.h"

/* The bytes of a file: read, or mapped if it is a large regular one. */
struct bat_raw_note {
    uint8_t *bytes; /* NULL if there are none */
    size_t size;
    bool is_mapped;
};

/*
 * Look at path ("-": standard input) and, unless it is an ELF file (then *is_elf is true and there
 * are no bytes), take all of it; bat_raw_note_free() has to follow. Fails with BAT_ERR_IO,
 * BAT_ERR_MEMORY, or BAT_ERR_NOT_ELF for a file that is neither.
 */
enum bat_code bat_raw_note_read(const char *path, bool *is_elf, struct bat_raw_note *note,
                                struct bat_error *error);

void bat_raw_note_free(struct bat_raw_note *note);

/* Bytes that are not needed soon leave memory, if they can be had again. */
void bat_raw_note_release(const struct bat_raw_note *note, const uint8_t *bytes, size_t size);

#endif
