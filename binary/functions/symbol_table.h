/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A symbol table as it is in the file. bat_elf_symbols() leaves out section symbols, FILE symbols
 * and symbols without names, which perf2bolt's rules for functions need. Internal to binary/.
 */
#ifndef BAT_BINARY_SYMBOL_TABLE_H
#define BAT_BINARY_SYMBOL_TABLE_H

#include <elf.h>
#include <string.h>

#include "bat_elf.h"

struct symbol_table {
    const struct bat_elf *elf;
    const struct bat_section *in; /* the section that it is; NULL if the file has none */
    const struct bat_section *sections;
    size_t section_count;
    const uint8_t *symbols;
    uint32_t count;
    const uint8_t *section_indices; /* SHT_SYMTAB_SHNDX, a word for each symbol; or NULL */
    const char *strings;            /* ends in a zero byte */
    uint64_t strings_size;
};

/*
 * Opens the first table of a type (SHT_SYMTAB, SHT_DYNSYM). It is empty if there is none, if its
 * bytes are not in the file (in files with debug information only), and after an error. Symbols and
 * strings belong to the file.
 */
enum bat_code symbol_table_open(struct symbol_table *table, const struct bat_elf *elf,
                                uint32_t type, struct bat_error *error);

static inline Elf64_Sym symbol_table_at(const struct symbol_table *table, uint32_t index)
{
    Elf64_Sym symbol;
    memcpy(&symbol, table->symbols + (size_t)index * sizeof(symbol), sizeof(symbol));
    return symbol;
}

/* The name of a symbol; "" if it is not in the strings. */
static inline const char *symbol_table_name(const struct symbol_table *table,
                                            const Elf64_Sym *symbol)
{
    return symbol->st_name < table->strings_size ? table->strings + symbol->st_name : "";
}

/* The section of the symbol of that index; NULL for an undefined, absolute or common one. */
const struct bat_section *symbol_table_section(const struct symbol_table *table, uint32_t index,
                                               const Elf64_Sym *symbol);

#endif
