/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "code_blocks_symbols.h"

/* An unreadable table has no symbols here; bat_functions_create() has told of it. */
static struct code_symbols open_table(const struct bat_elf *elf)
{
    struct code_symbols table = {0};
    table.sections = bat_elf_sections(elf, &table.section_count);
    const struct bat_section *symtab = bat_elf_section(elf, ".symtab");
    if (!symtab || symtab->type != SHT_SYMTAB || symtab->link >= table.section_count)
        return table;
    uint64_t size;
    table.symbols = bat_elf_section_bytes(elf, symtab, &size);
    table.strings = (const char *)bat_elf_section_bytes(elf, &table.sections[symtab->link],
                                                        &table.strings_size);
    if (table.symbols && table.strings && table.strings_size > 0 &&
        table.strings[table.strings_size - 1] == '\0')
        table.count = size / sizeof(Elf64_Sym);
    return table;
}

/* --- Data in code ------------------------------------------------------------------------- */

/* BOLT moves sections, but not all of their mapping symbols. */
static bool is_in_its_section(const struct code_symbols *table, const Elf64_Sym *symbol)
{
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= table->section_count)
        return false;
    const struct bat_section *section = &table->sections[symbol->st_shndx];
    return (section->flags & SHF_EXECINSTR) && symbol->st_value - section->address <= section->size;
}

/* A mapping symbol of AArch64: $x, $d, also with a dot and anything behind. */
static bool is_marker(const struct code_symbols *table, const Elf64_Sym *symbol)
{
    if (ELF64_ST_TYPE(symbol->st_info) != STT_NOTYPE || symbol->st_size != 0)
        return false;
    const char *name = code_symbol_name(table, symbol);
    return name[0] == '$' && (name[1] == 'x' || name[1] == 'd') &&
           (name[2] == '\0' || name[2] == '.') && is_in_its_section(table, symbol);
}

static int by_address(const void *left, const void *right)
{
    const struct code_marker *a = left;
    const struct code_marker *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return (a->is_data > b->is_data) - (a->is_data < b->is_data);
}

/* Keep those markers where something changes. */
static void unite_markers(struct bat_code_reader *reader)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < reader->marker_count; i++) {
        const struct code_marker *marker = &reader->markers[i];
        if (kept > 0 && reader->markers[kept - 1].is_data == marker->is_data)
            continue;
        if (kept > 0 && reader->markers[kept - 1].address == marker->address)
            continue;
        reader->markers[kept++] = *marker;
    }
    reader->marker_count = kept;
}

static enum bat_code find_markers(struct bat_code_reader *reader, const struct code_symbols *table,
                                  struct bat_error *error)
{
    uint64_t count = 0;
    for (uint64_t i = 1; i < table->count; i++) {
        Elf64_Sym symbol = code_symbol_at(table, i);
        count += is_marker(table, &symbol);
    }
    if (count >= BAT_NONE)
        return bat_fail(error, BAT_ERR_ELF, "the symbol table holds more than 2^32 symbols");
    reader->markers = malloc((size_t)(count + 1) * sizeof(*reader->markers));
    if (!reader->markers)
        return bat_fail(error, BAT_ERR_MEMORY, "out of memory for %" PRIu64 " mapping symbols",
                        count);
    for (uint64_t i = 1; i < table->count; i++) {
        Elf64_Sym symbol = code_symbol_at(table, i);
        if (is_marker(table, &symbol))
            reader->markers[reader->marker_count++] = (struct code_marker){
                .address = symbol.st_value, .is_data = code_symbol_name(table, &symbol)[1] == 'd'};
    }
    qsort(reader->markers, reader->marker_count, sizeof(*reader->markers), by_address);
    unite_markers(reader);
    return BAT_OK;
}

enum bat_code code_read_symbols(struct bat_code_reader *reader, const struct bat_elf *symbols,
                                struct bat_error *error)
{
    struct code_symbols table = open_table(symbols);
    enum bat_code code = code_find_split(reader, &table, error);
    if (!code && reader->machine == EM_AARCH64)
        code = find_markers(reader, &table, error);
    return code;
}
