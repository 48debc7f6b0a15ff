/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reads from the symbol table which functions compilers have split, and where AArch64 code holds
 * data. Both need what struct bat_function_symbol does not have: aliases, the order of the symbols,
 * and the mapping symbols $x and $d. Internal to binary/code/.
 */
#ifndef BAT_BINARY_CODE_MARKERS_H
#define BAT_BINARY_CODE_MARKERS_H

#include <elf.h>
#include <string.h>

#include "reader.h"

/* The symbol table's bytes in the file. */
struct code_symbols {
    const uint8_t *symbols;
    uint64_t count;
    const uint8_t *indices; /* of SHT_SYMTAB_SHNDX, a word for each symbol; or NULL */
    const char *strings;    /* ends in a zero byte */
    uint64_t strings_size;
    const struct bat_section *sections;
    size_t section_count;
    uint64_t file_size;
};

static inline Elf64_Sym code_symbol_at(const struct code_symbols *table, uint64_t index)
{
    Elf64_Sym symbol;
    memcpy(&symbol, table->symbols + index * sizeof(symbol), sizeof(symbol));
    return symbol;
}

static inline const char *code_symbol_name(const struct code_symbols *table,
                                           const Elf64_Sym *symbol)
{
    return symbol->st_name < table->strings_size ? table->strings + symbol->st_name : "";
}

/* Set is_split of wanted functions (split.c). */
enum bat_code code_find_split(struct bat_code_reader *reader, const struct code_symbols *table,
                              struct bat_error *error);

#endif
