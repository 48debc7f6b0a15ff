/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A symbol table as it is in the file. bat_elf_symbols() leaves out section symbols, FILE symbols
 * and symbols without names, which perf2bolt's rules for functions need. Internal to the library.
 */
#pragma once

#include <elf.h>

#include "bat_elf.h"
#include "spec/little_endian.h"

struct symbol_table {
    const struct bat_elf *elf;
    const struct bat_section *in; /* the section that it is; NULL if the file has none */
    const struct bat_section *sections;
    size_t section_count;
    const uint8_t *symbols;
    uint32_t count;                 /* below 2^31 */
    const uint8_t *section_indices; /* SHT_SYMTAB_SHNDX, a word for each symbol; or NULL */
    const char *strings;            /* ends in a zero byte; NULL if it has no bytes */
    uint64_t strings_size;
};

/*
 * Opens the first table of a type (SHT_SYMTAB, SHT_DYNSYM), and keeps its bytes as they are
 * (spec/keep_bytes.h). It is empty if there is none, and after an error. Symbols and strings belong
 * to the file. Errors are those of symbol_table_read().
 */
enum bat_code symbol_table_open(struct symbol_table *table, const struct bat_elf *elf,
                                uint32_t type, struct bat_error *error);

/*
 * The same for the table in a section. Only the strings are kept: whatever else is to stay the same
 * is to be read once. Fails with BAT_ERR_ELF for a damaged table, BAT_ERR_UNSUPPORTED for a
 * compressed one or one of more than 2^31 - 1 symbols.
 */
enum bat_code symbol_table_read(struct symbol_table *table, const struct bat_elf *elf,
                                const struct bat_section *in, struct bat_error *error);

/*
 * The first table of a type, of which nothing is kept but the terminator of the last string: the
 * same bytes may be others when they are read again. For tables that are read once, and are large.
 */
enum bat_code symbol_table_open_unkept(struct symbol_table *table, const struct bat_elf *elf,
                                       uint32_t type, struct bat_error *error);

/* Give back the memory of a table and, unless bat_elf_symbols() keeps them, of its strings. */
void symbol_table_release(const struct symbol_table *table);

/* The first section of a type, or NULL. */
const struct bat_section *symbol_table_find(const struct bat_elf *elf, uint32_t type);

/* What messages call the table in a section. */
static inline const char *symbol_table_kind(const struct bat_section *in)
{
    return in->type == SHT_DYNSYM ? "dynamic symbol table" : "symbol table";
}

static inline Elf64_Sym symbol_table_at(const struct symbol_table *table, uint32_t index)
{
    Elf64_Sym symbol;
    memcpy(&symbol, table->symbols + (size_t)index * sizeof(symbol), sizeof(symbol));
    return symbol;
}

/* The section index of a symbol with SHN_XINDEX; 0 if there is no table of them. */
static inline uint32_t symbol_table_extended_index(const struct symbol_table *table, uint32_t index)
{
    return table->section_indices ? bat_load32(table->section_indices + (size_t)index * 4) : 0;
}

/* The name of a symbol; "" if it is not in the strings. */
static inline const char *symbol_table_name(const struct symbol_table *table,
                                            const Elf64_Sym *symbol)
{
    return symbol->st_name < table->strings_size ? table->strings + symbol->st_name : "";
}

/* The error of a symbol whose name is not in the strings. Returns BAT_ERR_ELF. */
enum bat_code symbol_table_fail_name(const struct symbol_table *table, uint32_t index,
                                     const Elf64_Sym *symbol, struct bat_error *error);

/* The section of the symbol of that index; NULL for an undefined, absolute or common one. */
const struct bat_section *symbol_table_section(const struct symbol_table *table, uint32_t index,
                                               const Elf64_Sym *symbol);
