/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "elf_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "spec/array.h"
#include "text_budget.h"

/* A symbol table that is being read. */
struct symbol_reader {
    const struct bat_elf *elf;
    const struct bat_section *section;
    Elf_Data *symbols;
    Elf_Data *indices; /* section indices that do not fit in a symbol; NULL if there are none */
    struct elf_strings names;
    size_t count;
    struct bat_budget names_left;
    const char *file; /* name of the last FILE symbol, or NULL */
};

static const struct bat_section *find_by_type(const struct bat_elf *elf, uint32_t type)
{
    for (size_t i = 0; i < elf->section_count; i++) {
        if (elf->sections[i].type == type)
            return &elf->sections[i];
    }
    return NULL;
}

/* The table's name in messages. */
static const char *table_name(const struct bat_section *section)
{
    return section->type == SHT_DYNSYM ? "dynamic symbol table" : "symbol table";
}

static Elf_Data *section_data(const struct bat_elf *elf, const struct bat_section *section)
{
    return elf_getdata(elf_getscn(elf->libelf, section->index), NULL);
}

/* Find the SHT_SYMTAB_SHNDX section that belongs to the table, if there is one. */
static enum bat_code open_indices(struct symbol_reader *reader, struct bat_error *error)
{
    for (size_t i = 0; i < reader->elf->section_count; i++) {
        const struct bat_section *section = &reader->elf->sections[i];
        if (section->type != SHT_SYMTAB_SHNDX || section->link != reader->section->index)
            continue;
        reader->indices = section_data(reader->elf, section);
        if (!reader->indices)
            return bat_fail_at(error, elf_libelf_code(), BAT_PLACE_FILE, section->offset,
                               "section indices of the %s: %s", table_name(reader->section),
                               elf_errmsg(-1));
        return BAT_OK;
    }
    return BAT_OK;
}

static enum bat_code open_table(struct symbol_reader *reader, struct bat_error *error)
{
    const struct bat_section *section = reader->section;
    const char *what = table_name(section);
    if ((section->flags & SHF_COMPRESSED) != 0)
        return bat_fail_at(error, BAT_ERR_UNSUPPORTED, BAT_PLACE_FILE, section->offset,
                           "%s is compressed", what);
    if (section->entry_size != sizeof(Elf64_Sym) || section->size % sizeof(Elf64_Sym) != 0)
        return bat_fail_at(error, BAT_ERR_ELF, BAT_PLACE_FILE, section->offset,
                           "%s of %" PRIu64 " bytes with entries of %" PRIu64
                           ": expected entries of %zu bytes, and a multiple of that",
                           what, section->size, section->entry_size, sizeof(Elf64_Sym));
    if (section->link >= reader->elf->section_count ||
        reader->elf->sections[section->link].type != SHT_STRTAB)
        return bat_fail_at(error, BAT_ERR_ELF, BAT_PLACE_FILE, section->offset,
                           "%s has its names in section %" PRIu32 ", which is not a string table",
                           what, section->link);
    reader->names = elf_strings(reader->elf, &reader->elf->sections[section->link]);
    reader->count = (size_t)(section->size / sizeof(Elf64_Sym));
    errno = 0;
    reader->symbols = section_data(reader->elf, section);
    if (!reader->symbols)
        return bat_fail_at(error, elf_libelf_code(), BAT_PLACE_FILE, section->offset, "%s: %s",
                           what, elf_errmsg(-1));
    return open_indices(reader, error);
}

/*
 * Set *section to a symbol's section index or BAT_SECTION_*. An index that does not fit in 16 bits
 * is in extended.
 */
static enum bat_code find_section(const struct symbol_reader *reader, size_t position,
                                  const GElf_Sym *symbol, GElf_Word extended, uint32_t *section,
                                  struct bat_error *error)
{
    *section = symbol->st_shndx;
    if (symbol->st_shndx >= SHN_LORESERVE && symbol->st_shndx != SHN_XINDEX) {
        *section |= BAT_SECTION_RESERVED;
        return BAT_OK;
    }
    if (symbol->st_shndx == SHN_XINDEX) {
        if (!reader->indices)
            return bat_fail(error, BAT_ERR_ELF,
                            "%s: symbol %zu has its section index in a missing table",
                            table_name(reader->section), position);
        *section = extended;
    }
    if (*section < reader->elf->section_count)
        return BAT_OK;
    return bat_fail(error, BAT_ERR_ELF,
                    "%s: symbol %zu is in section %" PRIu32 ", but there are %zu sections",
                    table_name(reader->section), position, *section, reader->elf->section_count);
}

/* Read one symbol. *kept is false for symbols without a name and for SECTION and FILE symbols. */
static enum bat_code read_symbol(struct symbol_reader *reader, size_t position,
                                 struct bat_symbol *symbol, bool *kept, struct bat_error *error)
{
    GElf_Sym raw;
    GElf_Word extended = 0;
    *kept = false;
    if (!gelf_getsymshndx(reader->symbols, reader->indices, (int)position, &raw, &extended))
        return bat_fail(error, elf_libelf_code(), "%s: symbol %zu: %s", table_name(reader->section),
                        position, elf_errmsg(-1));
    const char *name = raw.st_name == 0 ? "" : elf_string(&reader->names, raw.st_name);
    if (!name)
        return bat_fail(error, BAT_ERR_ELF,
                        "%s: name of symbol %zu, at 0x%" PRIx32
                        ", does not end inside the string table",
                        table_name(reader->section), position, raw.st_name);
    uint8_t type = GELF_ST_TYPE(raw.st_info);
    if (type == STT_FILE)
        reader->file = name[0] ? name : NULL;
    if (type == STT_FILE || type == STT_SECTION || !name[0])
        return BAT_OK;

    uint64_t length = strlen(name);
    enum bat_code code = bat_budget_spend_names(&reader->names_left, length + 1, error);
    if (code != BAT_OK)
        return code;
    if (length > UINT32_MAX)
        return bat_fail(error, BAT_ERR_ELF, "a symbol's name is longer than 4 GB");
    uint8_t binding = GELF_ST_BIND(raw.st_info);
    *symbol = (struct bat_symbol){
        .address = raw.st_value,
        .size = raw.st_size,
        .name = name,
        .file = binding == STB_LOCAL ? reader->file : NULL,
        .order = (uint32_t)position,
        .type = type,
        .binding = binding,
        .name_length = (uint32_t)length,
    };
    *kept = true;
    return find_section(reader, position, &raw, extended, &symbol->section, error);
}

static enum bat_code read_table(struct symbol_reader *reader, struct elf_symbols *table,
                                struct bat_error *error)
{
    enum bat_code code = open_table(reader, error);
    if (code != BAT_OK || reader->count == 0)
        return code;
    if (reader->count > INT32_MAX)
        return bat_fail(error, BAT_ERR_UNSUPPORTED, "%s has %zu symbols: at most %d can be read",
                        table_name(reader->section), reader->count, INT32_MAX);
    table->symbols = bat_array_new(reader->count, sizeof(*table->symbols));
    if (!table->symbols)
        return bat_fail_memory(error, "for %zu symbols", reader->count);
    reader->names_left = bat_budget_of_names(reader->elf);
    for (size_t i = 0; i < reader->count; i++) {
        bool kept = false;
        code = read_symbol(reader, i, &table->symbols[table->count], &kept, error);
        if (code != BAT_OK)
            return code;
        table->count += kept;
    }
    /* Everything but the names has been copied. */
    bat_elf_release(reader->elf, reader->symbols->d_buf, reader->symbols->d_size);
    return BAT_OK;
}

/* Read a table unless it has been read. */
static enum bat_code read_once(struct bat_elf *elf, bool dynamic, struct elf_symbols *table,
                               struct bat_error *error)
{
    if (table->is_read)
        return BAT_OK;
    struct symbol_reader reader = {.elf = elf,
                                   .section = find_by_type(elf, dynamic ? SHT_DYNSYM : SHT_SYMTAB)};
    enum bat_code code = reader.section ? read_table(&reader, table, error) : BAT_OK;
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
    struct symbol_reader reader = {.elf = elf, .section = section};
    if (open_table(&reader, NULL) != BAT_OK || reader.count > INT32_MAX)
        return true;
    for (size_t i = 0; i < reader.count; i++) {
        GElf_Sym symbol;
        GElf_Word extended = 0;
        if (!gelf_getsymshndx(reader.symbols, reader.indices, (int)i, &symbol, &extended))
            return true;
        if (symbol.st_shndx == SHN_XINDEX ? extended == index
                                          : symbol.st_shndx == index && index < SHN_LORESERVE)
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
