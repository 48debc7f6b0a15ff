/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Raw notes: files and pipes that hold the content of .note.bolt_bat. Internal to binary/. */
#pragma once

#include <sys/stat.h>

#include "bat.h"
#include "bat_elf.h"
#include "elfnote/mapping.h"

/* The bytes of a file: read, or mapped if it is a large regular one. */
struct bat_raw_note {
    uint8_t *bytes; /* NULL if the file was an ELF file */
    size_t size;
    struct bat_mapped_file *mapped; /* NULL if they were read */
};

/* A mapped file; it stays open so that changes can be noticed. */
struct bat_mapped_file {
    struct bat_mapping mapping;
    int file;
    struct stat status; /* at the time of opening */
};

/*
 * Open path ("-": standard input), once, and read it as an ELF file (*elf) or as the bytes of a
 * note. The caller calls bat_elf_close() and bat_raw_note_free(). Fails with BAT_ERR_IO,
 * BAT_ERR_MEMORY, BAT_ERR_NOT_ELF for a file that is neither, BAT_ERR_ARGUMENT for an ELF file on
 * standard input, or like bat_elf_open().
 */
enum bat_code bat_raw_note_read(const char *path, struct bat_elf **elf, struct bat_raw_note *note,
                                struct bat_error *error);

void bat_raw_note_free(struct bat_raw_note *note);

/* Give back the memory of these bytes if they are mapped from a file. */
void bat_raw_note_release(const struct bat_raw_note *note, const uint8_t *bytes, size_t size);
