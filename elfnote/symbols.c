/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "elf_file.h"

#include <stdlib.h>
#include <string.h>

#include "debugdata.h"
#include "spec/array.h"
#include "symbol_table.h"
#include "text_budget.h"

/* A section is searched for the symbols of mini debug information, unless both are many. */
#define SYMBOLS_WITH_SEARCH 65536u
#define SECTIONS_WITH_SEARCH 4096u

/* A symbol table that is being read. */
struct symbol_reader {
    struct symbol_table table;
    struct bat_budget names_left;
    const char *file; /* name of the last FILE symbol, or NULL */
};

/*
 * Set *section to a symbol's section index or BAT_SECTION_*. An index that does not fit in 16 bits
 * is in extended.
 */
static enum bat_code find_section(const struct symbol_table *table, uint32_t position,
                                  const Elf64_Sym *symbol, uint32_t *section,
                                  struct bat_error *error)
{
    *section = symbol->st_shndx;
    if (symbol->st_shndx >= SHN_LORESERVE && symbol->st_shndx != SHN_XINDEX) {
        *section |= BAT_SECTION_RESERVED;
        return BAT_OK;
    }
    if (symbol->st_shndx == SHN_XINDEX) {
        if (!table->section_indices)
            return bat_fail(error, BAT_ERR_ELF,
                            "%s: symbol %u has its section index in a missing table",
                            symbol_table_kind(table->in), position);
        *section = symbol_table_extended_index(table, position);
    }
    if (*section < table->section_count)
        return BAT_OK;
    return bat_fail(error, BAT_ERR_ELF,
                    "%s: symbol %u is in section %u, but there are %zu sections",
                    symbol_table_kind(table->in), position, *section, table->section_count);
}

/* Read one symbol. *kept is false for symbols without a name and for SECTION and FILE symbols. */
static enum bat_code read_symbol(struct symbol_reader *reader, uint32_t position,
                                 struct bat_symbol *symbol, bool *kept, struct bat_error *error)
{
    const Elf64_Sym raw = symbol_table_at(&reader->table, position);
    *kept = false;
    if (raw.st_name != 0 && raw.st_name >= reader->table.strings_size)
        return symbol_table_fail_name(&reader->table, position, &raw, error);
    const char *name = raw.st_name == 0 ? "" : symbol_table_name(&reader->table, &raw);
    const uint8_t type = ELF64_ST_TYPE(raw.st_info);
    if (type == STT_FILE)
        reader->file = name[0] ? name : NULL;
    if (type == STT_FILE || type == STT_SECTION || !name[0])
        return BAT_OK;

    uint64_t length = strlen(name);
    BAT_TRY(bat_budget_spend_names(&reader->names_left, length + 1, error));
    if (length > UINT32_MAX)
        return bat_fail(error, BAT_ERR_ELF, "a symbol's name is longer than 4 GB");
    const uint8_t binding = ELF64_ST_BIND(raw.st_info);
    *symbol = (struct bat_symbol){
        .address = raw.st_value,
        .size = raw.st_size,
        .name = name,
        .file = binding == STB_LOCAL ? reader->file : NULL,
        .order = position,
        .type = type,
        .binding = binding,
        .name_length = (uint32_t)length,
    };
    *kept = true;
    enum bat_code code = find_section(&reader->table, position, &raw, &symbol->section, error);
    /* In a relocatable file a symbol is at an offset in its section. */
    if (code == BAT_OK && reader->table.elf->header.e_type == ET_REL &&
        symbol->section < reader->table.section_count)
        symbol->address += reader->table.sections[symbol->section].address;
    return code;
}

static enum bat_code read_table(const struct bat_elf *elf, const struct bat_section *section,
                                struct elf_symbols *symbols, struct bat_error *error)
{
    struct symbol_reader reader = {.names_left = bat_budget_of_names(elf)};
    const struct symbol_table *table = &reader.table;
    enum bat_code code = symbol_table_read(&reader.table, elf, section, error);
    if (code != BAT_OK || table->count == 0)
        return code;
    symbols->symbols = bat_array_new(table->count, sizeof(*symbols->symbols));
    BAT_TRY_MEMORY(symbols->symbols, error, "for %u symbols", table->count);
    for (uint32_t i = 0; i < table->count; i++) {
        bool kept = false;
        BAT_TRY(read_symbol(&reader, i, &symbols->symbols[symbols->count], &kept, error));
        symbols->count += kept;
    }
    /* Everything but the names has been copied. */
    bat_elf_release(elf, table->symbols, table->count * sizeof(Elf64_Sym));
    return BAT_OK;
}

/* --- Mini debug information ------------------------------------------------------------------ */

/* The section of a file that is where a section of its mini debug information is; its own index in
 * the other file may differ. */
static uint32_t own_section(const struct bat_elf *elf, const struct bat_symbol *symbol)
{
    if (symbol->section >= BAT_SECTION_RESERVED)
        return symbol->section;
    for (uint32_t i = 1; i < elf->section_count; i++) {
        const struct bat_section *section = &elf->sections[i];
        if (section->flags & SHF_ALLOC && !(section->flags & SHF_TLS) &&
            symbol->address - section->address < section->size)
            return i;
    }
    return BAT_SECTION_UNDEFINED;
}

/* Append symbols to a table that has room for them. Those of the file itself keep their sections.
 */
static void append(const struct bat_elf *elf, struct elf_symbols *table,
                   const struct elf_symbols *from, bool is_own)
{
    for (size_t i = 0; i < from->count; i++) {
        struct bat_symbol *symbol = &table->symbols[table->count];
        *symbol = from->symbols[i];
        symbol->order = (uint32_t)table->count++;
        /* Neighbours are mostly in one section. */
        const struct bat_symbol *before = i == 0 ? NULL : symbol - 1;
        if (is_own)
            continue;
        symbol->section = before && before->section < elf->section_count &&
                                  symbol->address - elf->sections[before->section].address <
                                      elf->sections[before->section].size
                              ? before->section
                              : own_section(elf, symbol);
    }
}

static enum bat_code read_once(struct bat_elf *elf, bool dynamic, struct elf_symbols *table,
                               struct bat_error *error);

/* Symbols that the file has lost and its mini debug information has, behind the dynamic ones, which
 * that leaves out. */
static enum bat_code read_debugdata(struct bat_elf *elf, struct elf_symbols *table,
                                    struct bat_error *error)
{
    struct elf_symbols *dynamic = &elf->dynamic_symbols;
    struct elf_symbols others = {.count = 0};
    const struct bat_symbol *symbols;
    bat_elf_close(elf->debugdata);
    enum bat_code code = elf_debugdata_open(elf, &elf->debugdata, error);
    /* It has no mini debug information of its own. */
    if (code != BAT_OK || !elf->debugdata || !symbol_table_find(elf->debugdata, SHT_SYMTAB))
        return code;
    code = bat_elf_symbols(elf->debugdata, false, &symbols, &others.count, error);
    code = code ? code : read_once(elf, true, dynamic, error);
    if (code != BAT_OK || others.count == 0)
        return code;
    if (others.count > SYMBOLS_WITH_SEARCH && elf->section_count > SECTIONS_WITH_SEARCH)
        return bat_fail(error, BAT_ERR_ELF,
                        ".gnu_debugdata: expected at most %u symbols in a file of %zu sections, "
                        "found %zu",
                        SYMBOLS_WITH_SEARCH, elf->section_count, others.count);
    others.symbols = (struct bat_symbol *)symbols;
    table->symbols = bat_array_new(dynamic->count + others.count, sizeof(*table->symbols));
    BAT_TRY_MEMORY(table->symbols, error, "for symbols");
    append(elf, table, dynamic, true);
    append(elf, table, &others, false);
    return BAT_OK;
}

/* Read a table unless it has been read. */
static enum bat_code read_once(struct bat_elf *elf, bool dynamic, struct elf_symbols *table,
                               struct bat_error *error)
{
    if (table->is_read)
        return BAT_OK;
    const struct bat_section *section = symbol_table_find(elf, dynamic ? SHT_DYNSYM : SHT_SYMTAB);
    enum bat_code code = section   ? read_table(elf, section, table, error)
                         : dynamic ? BAT_OK
                                   : read_debugdata(elf, table, error);
    if (code != BAT_OK) {
        free(table->symbols);
        *table = (struct elf_symbols){.is_read = false};
        return code;
    }
    table->is_read = true;
    return BAT_OK;
}

enum bat_code bat_elf_symbols(struct bat_elf *elf, bool dynamic, const struct bat_symbol **symbols,
                              size_t *count, struct bat_error *error)
{
    struct elf_symbols *table = dynamic ? &elf->dynamic_symbols : &elf->symbols;
    pthread_mutex_lock(&elf->symbols_lock);
    enum bat_code code = read_once(elf, dynamic, table, error);
    pthread_mutex_unlock(&elf->symbols_lock);
    *symbols = code == BAT_OK ? table->symbols : NULL;
    *count = code == BAT_OK ? table->count : 0;
    return code;
}

/* True if a symbol of the table is in the section with that index, or the table is damaged. */
static bool table_refers_to(const struct bat_elf *elf, const struct bat_section *section,
                            uint32_t index)
{
    struct symbol_table table;
    if (symbol_table_read(&table, elf, section, NULL) != BAT_OK)
        return true;
    for (uint32_t i = 0; i < table.count; i++) {
        const uint16_t in = symbol_table_at(&table, i).st_shndx;
        if (in == SHN_XINDEX ? symbol_table_extended_index(&table, i) == index
                             : in == index && index < SHN_LORESERVE)
            return true;
    }
    return false;
}

bool elf_is_referenced(const struct bat_elf *elf, uint32_t index)
{
    /* A file may have one .symtab and one .dynsym. More would cost time in a damaged file. */
    unsigned tables_left = 2;
    for (size_t i = 1; i < elf->section_count; i++) {
        const struct bat_section *section = &elf->sections[i];
        bool info_is_section = section->type == SHT_RELA || section->type == SHT_REL ||
                               (section->flags & SHF_INFO_LINK) != 0;
        if (section->link == index || (info_is_section && section->info == index))
            return true;
        if ((section->type == SHT_SYMTAB || section->type == SHT_DYNSYM) && section->size > 0 &&
            (tables_left-- == 0 || table_refers_to(elf, section, index)))
            return true;
    }
    return false;
}
