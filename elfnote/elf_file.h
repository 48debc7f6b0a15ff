/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* struct bat_elf, and the functions that fill its parts. Internal to elfnote/. */
#pragma once

#include "bat_elf.h"
#include "mapping.h"

#include <errno.h>
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
    int named;          /* what path names: file, or a packed file, and file is in memory */
    struct stat status; /* of what path names, at the time of opening, to notice changes */
    struct bat_mapping mapping;
    const uint8_t *bytes; /* the whole file, mapped for reading only */
    uint64_t size;

    Elf *libelf;
    GElf_Ehdr header;
    struct bat_section *sections;
    size_t section_count; /* 0 without a section header table */
    size_t names_index;   /* section that holds the section names, or SHN_UNDEF */
    GElf_Phdr *segments;
    size_t segment_count;
    struct bat_segment *loads; /* the PT_LOAD ones among them */
    size_t load_count;

    char *bolt_info;              /* text of .note.bolt_info, or NULL */
    pthread_mutex_t symbols_lock; /* threads may ask for symbols at the same time */
    struct elf_symbols symbols;
    struct elf_symbols dynamic_symbols;
    struct bat_elf *debugdata; /* has the names of some of the symbols; or NULL */
};

/* A string table. size ends at its last terminator, so every string in it is terminated. */
struct elf_strings {
    const char *bytes;
    uint64_t size;
};

/* The strings of a section; size is 0 if it has no bytes in the file. */
struct elf_strings elf_strings(const struct bat_elf *elf, const struct bat_section *section);

/* The same strings, of which only the last terminator is kept (spec/keep_bytes.h). */
struct elf_strings elf_strings_unkept(const struct bat_elf *elf, const struct bat_section *section);

/*
 * The error's code after a failure of libelf: BAT_ERR_MEMORY if memory was missing, BAT_ERR_ELF for
 * all else. libelf's own numbers are not public; the C library's errno, which is to be 0 before
 * libelf is called, is.
 */
static inline enum bat_code elf_libelf_code(void)
{
    return errno == ENOMEM ? BAT_ERR_MEMORY : BAT_ERR_ELF;
}

/* Fill sections, section_count and names_index; checks every extent and name. */
enum bat_code elf_read_sections(struct bat_elf *elf, struct bat_error *error);

/*
 * Set the number of section headers, and the index of the names among them. What does not fit in
 * the ELF header is in the first section header.
 */
void elf_set_numbers(Elf64_Ehdr *header, Elf64_Shdr *first, size_t count, size_t names_index);

/*
 * True if a section header or a symbol refers to the section with that index, or if a damaged
 * symbol table may do so.
 */
bool elf_is_referenced(const struct bat_elf *elf, uint32_t index);

enum bat_code elf_read_bolt_info(struct bat_elf *elf, struct bat_error *error);

/* Where the BAT note is. */
struct elf_note_place {
    const struct bat_section *section; /* NULL if the file has no BAT note */
    uint64_t offset;                   /* of the note in the section */
    uint64_t size;                     /* of the note: less than the section's if it is shared */
};

/* Find the note as bat_elf_note() does; the content of .note.bolt_bat is not checked. */
struct elf_note_place elf_find_note(const struct bat_elf *elf);

/* Fails with BAT_ERR_NO_NOTE; the message says why this file has no note. */
enum bat_code elf_no_note(const struct bat_elf *elf, struct bat_error *error);
