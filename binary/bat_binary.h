/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A BOLTed binary: its ELF file and its decoded note together, with names for the tables. A raw
 * note (the content of .note.bolt_bat in a file of its own) is a binary without an ELF file.
 */
#ifndef BAT_BINARY_H
#define BAT_BINARY_H

#include "bat.h"
#include "bat_elf.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bat_binary {
    struct bat_elf *elf;    /* NULL for a raw note */
    struct bat_map *map;
    const uint8_t *note;    /* the section's content */
    size_t note_size;
    uint8_t *owned;         /* the bytes of a raw note, or NULL */
};

/*
 * Open path, "-" meaning a raw note on standard input, and decode its note. What the file is, ELF
 * or raw note, is told by its first bytes. Where the note alone leaves open how hot indices are
 * meant (BAT.md 7.2), symbols decide. On success binary is to be closed with
 * bat_binary_close(); on failure it is empty.
 */
BAT_API enum bat_code bat_binary_open(const char *path, struct bat_binary *binary,
                                      struct bat_error *error);
BAT_API void bat_binary_close(struct bat_binary *binary);

/*
 * The first half of bat_binary_open(): find the note's bytes, map stays NULL.
 * bat_binary_decode() is the second half.
 */
BAT_API enum bat_code bat_binary_find_note(const char *path, struct bat_binary *binary,
                                           struct bat_error *error);
BAT_API enum bat_code bat_binary_decode(struct bat_binary *binary, struct bat_error *error);

/*
 * A name for each table, from the symbols at its address: a function symbol that has a size
 * before others, global before weak before local, and then the first in the symbol table.
 * *names is an array of bat_map_tables() pointers into the ELF file, NULL where there is no
 * symbol; to be freed with free(). All NULL for a raw note.
 */
BAT_API enum bat_code bat_binary_table_names(struct bat_binary *binary, const char ***names,
                                             struct bat_error *error);

#ifdef __cplusplus
}
#endif

#endif
