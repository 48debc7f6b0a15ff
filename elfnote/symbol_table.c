/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "symbol_table.h"

#include "elf_file.h"
#include "spec/keep_bytes.h"

const struct bat_section *symbol_table_find(const struct bat_elf *elf, uint32_t type)
{
    for (size_t i = 0; i < elf->section_count; i++)
        if (elf->sections[i].type == type)
            return &elf->sections[i];
    return NULL;
}

/* Find the table of section indices that need more than 16 bits, if there is one. */
static enum bat_code read_indices(struct symbol_table *table, struct bat_error *error)
{
    const struct bat_section *found = NULL;
    for (size_t i = 0; i < table->section_count && !found; i++)
        if (table->sections[i].type == SHT_SYMTAB_SHNDX &&
            table->sections[i].link == table->in->index)
            found = &table->sections[i];
    if (!found)
        return BAT_OK;
    uint64_t size;
    table->section_indices = bat_elf_section_bytes(table->elf, found, &size);
    if (size / sizeof(uint32_t) >= table->count)
        return BAT_OK;
    return bat_fail_at(error, BAT_ERR_ELF, BAT_PLACE_FILE, found->offset,
                       "%s of %u symbols has section indices in %lu bytes",
                       symbol_table_kind(table->in), table->count, size);
}

static enum bat_code read_strings(struct symbol_table *table, bool keeps, struct bat_error *error)
{
    const struct bat_section *in = table->in;
    if (in->link >= table->section_count || table->sections[in->link].type != SHT_STRTAB)
        return bat_fail_at(error, BAT_ERR_ELF, BAT_PLACE_FILE, in->offset,
                           "%s has its names in section %u, which is not a string table",
                           symbol_table_kind(in), in->link);
    const struct bat_section *from = &table->sections[in->link];
    const struct elf_strings strings =
        keeps ? elf_strings(table->elf, from) : elf_strings_unkept(table->elf, from);
    if (strings.size != from->size)
        return bat_fail_at(error, BAT_ERR_ELF, BAT_PLACE_FILE, in->offset,
                           "%s has its names in section %u, which does not end in a zero byte",
                           symbol_table_kind(in), in->link);
    table->strings = strings.bytes;
    table->strings_size = strings.size;
    return BAT_OK;
}

static enum bat_code read_table(struct symbol_table *table, bool keeps, struct bat_error *error)
{
    const struct bat_section *in = table->in;
    const char *what = symbol_table_kind(in);
    const uint64_t count = in->size / sizeof(Elf64_Sym);
    if ((in->flags & SHF_COMPRESSED) != 0)
        return bat_fail_at(error, BAT_ERR_UNSUPPORTED, BAT_PLACE_FILE, in->offset,
                           "%s is compressed", what);
    if (in->entry_size != sizeof(Elf64_Sym) || in->size % sizeof(Elf64_Sym) != 0)
        return bat_fail_at(error, BAT_ERR_ELF, BAT_PLACE_FILE, in->offset,
                           "%s of %lu bytes with entries of %lu: expected entries of %zu bytes, "
                           "and a multiple of that",
                           what, in->size, in->entry_size, sizeof(Elf64_Sym));
    if (count > INT32_MAX)
        return bat_fail(error, BAT_ERR_UNSUPPORTED, "%s has %lu symbols: at most %d can be read",
                        what, count, INT32_MAX);
    BAT_TRY(read_strings(table, keeps, error));
    uint64_t size;
    table->symbols = bat_elf_section_bytes(table->elf, in, &size);
    table->count = (uint32_t)count;
    return read_indices(table, error);
}

static enum bat_code open_table(struct symbol_table *table, const struct bat_elf *elf,
                                const struct bat_section *in, bool keeps, struct bat_error *error)
{
    struct symbol_table read = {.elf = elf, .in = in};
    read.sections = bat_elf_sections(elf, &read.section_count);
    enum bat_code code = in ? read_table(&read, keeps, error) : BAT_OK;
    *table = code == BAT_OK ? read : (struct symbol_table){.elf = elf};
    return code;
}

enum bat_code symbol_table_read(struct symbol_table *table, const struct bat_elf *elf,
                                const struct bat_section *in, struct bat_error *error)
{
    return open_table(table, elf, in, true, error);
}

enum bat_code symbol_table_open_unkept(struct symbol_table *table, const struct bat_elf *elf,
                                       uint32_t type, struct bat_error *error)
{
    return open_table(table, elf, symbol_table_find(elf, type), false, error);
}

void symbol_table_release(const struct symbol_table *table)
{
    if (!table->symbols)
        return;
    bat_elf_release(table->elf, table->symbols, table->in->size);
    /* Another thread may be reading the strings to keep them. */
    pthread_mutex_t *lock = (pthread_mutex_t *)&table->elf->symbols_lock;
    pthread_mutex_lock(lock);
    if (!table->elf->symbols.is_read && !table->elf->dynamic_symbols.is_read)
        bat_elf_release(table->elf, (const uint8_t *)table->strings, table->strings_size);
    pthread_mutex_unlock(lock);
}

enum bat_code symbol_table_open(struct symbol_table *table, const struct bat_elf *elf,
                                uint32_t type, struct bat_error *error)
{
    enum bat_code code = open_table(table, elf, symbol_table_find(elf, type), true, error);
    bat_keep_bytes(table->symbols, table->count * sizeof(Elf64_Sym));
    if (table->section_indices)
        bat_keep_bytes(table->section_indices, table->count * sizeof(uint32_t));
    return code;
}

enum bat_code symbol_table_fail_name(const struct symbol_table *table, uint32_t index,
                                     const Elf64_Sym *symbol, struct bat_error *error)
{
    return bat_fail(error, BAT_ERR_ELF,
                    "%s: name of symbol %u, at 0x%x, does not end inside the string table",
                    symbol_table_kind(table->in), index, symbol->st_name);
}

const struct bat_section *symbol_table_section(const struct symbol_table *table, uint32_t index,
                                               const Elf64_Sym *symbol)
{
    uint32_t section = symbol->st_shndx;
    if (section == SHN_XINDEX)
        section = symbol_table_extended_index(table, index);
    else if (section >= SHN_LORESERVE)
        return NULL;
    return section != SHN_UNDEF && section < table->section_count ? &table->sections[section]
                                                                  : NULL;
}
