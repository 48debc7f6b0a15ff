/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Raw notes: files and pipes that hold the content of .note.bolt_bat. Internal to binary/. */
#ifndef BAT_BINARY_RAW_NOTE_H
#define BAT_BINARY_RAW_NOTE_H

#include <sys/stat.h>

#include "bat.h"
#include "bat_elf.h"

/* The bytes of a file: read, or mapped if it is a large regular one. */
struct bat_raw_note {
    uint8_t *bytes; /* NULL if there are none */
    size_t size;
    struct bat_mapped_file *mapped; /* NULL if they were read */
};

/* A file that is mapped, open to see whether it changes. */
struct bat_mapped_file {
    int file;
    struct stat status; /* when it was opened */
};

/*
 * Open path ("-": standard input) and take all of it, as an ELF file (*elf) or as bytes; the file
 * is opened once. bat_elf_close() and bat_raw_note_free() have to follow. Fails with
 * BAT_ERR_IO, BAT_ERR_MEMORY, BAT_ERR_NOT_ELF for a file that is neither, or as bat_elf_open().
 */
enum bat_code bat_raw_note_read(const char *path, struct bat_elf **elf, struct bat_raw_note *note,
                                struct bat_error *error);

void bat_raw_note_free(struct bat_raw_note *note);

/* Bytes that are not needed soon leave memory, if they can be had again. */
void bat_raw_note_release(const struct bat_raw_note *note, const uint8_t *bytes, size_t size);

#endif
