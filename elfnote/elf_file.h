/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What struct bat_elf is, and how its parts are filled. Internal to elfnote/. */
#ifndef BAT_ELF_FILE_H
#define BAT_ELF_FILE_H

#include "bat_elf.h"

#include <gelf.h>
#include <pthread.h>
#include <sys/stat.h>

/* Symbols of .symtab or .dynsym, read at the first call that asks for them. */
struct elf_symbols {
    bool is_read;
    struct bat_symbol *symbols;
    size_t count;
};

struct bat_elf {
    char *path;
    int file;           /* stays open: writing copies from it */
    struct stat status; /* when it was opened, to notice changes */
    uint8_t *bytes;     /* the whole file, mapped for reading only */
    uint64_t size;

    Elf *libelf;
    GElf_Ehdr header;
    struct bat_section *sections;
    size_t section_count; /* 0 without a section header table */
    size_t names_index;   /* section of the section names; SHN_UNDEF if there is none */
    GElf_Phdr *segments;
    size_t segment_count;
    struct bat_segment *loads; /* the PT_LOAD ones among them */
    size_t load_count;

    char *bolt_info;              /* NULL if there is none */
    pthread_mutex_t symbols_lock; /* threads may ask for symbols at the same time */
    struct elf_symbols symbols;
    struct elf_symbols dynamic_symbols;
};

/* A string table: size reaches up to its last terminator, so that every string in it ends. */
struct elf_strings {
    const char *bytes;
    uint64_t size;
};

/* The strings of a section; none for one without bytes in the file. */
struct elf_strings elf_strings(const struct bat_elf *elf, const struct bat_section *section);

/* The string at offset, or NULL if none ends inside the table from there on. */
const char *elf_string(const struct elf_strings *strings, uint64_t offset);

/* Fill sections, section_count and names_index, every extent and name checked. */
enum bat_code elf_read_sections(struct bat_elf *elf, struct bat_error *error);

/*
 * True if a section header or a symbol refers to the section of that index, or if a damaged symbol
 * table leaves that open.
 */
bool elf_is_referenced(const struct bat_elf *elf, uint32_t index);

/* Fill bolt_info. */
enum bat_code elf_read_bolt_info(struct bat_elf *elf, struct bat_error *error);

/* Where the BAT note is. */
struct elf_note_place {
    const struct bat_section *section; /* NULL if the file has no BAT note */
    uint64_t offset;                   /* of the note in the section */
    uint64_t size;                     /* of the note: less than the section's if it is shared */
};

/* Find the note as bat_elf_note() does; a section called .note.bolt_bat is taken as it is. */
struct elf_note_place elf_find_note(const struct bat_elf *elf);

/* BAT_ERR_NO_NOTE with the sentence that fits the file. */
enum bat_code elf_no_note(const struct bat_elf *elf, struct bat_error *error);

/*
 * Write a copy of elf to path with section, size bytes, as its note; without a note if section is
 * NULL.
 */
enum bat_code elf_rewrite(const struct bat_elf *elf, const char *path, const void *section,
                          size_t size, struct bat_error *error);

#endif
