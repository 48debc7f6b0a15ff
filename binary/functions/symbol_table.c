/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "symbol_table.h"

#include <inttypes.h>

#include "spec/keep_bytes.h"

/* Find the table of section indices that need more than 16 bits. */
static void find_section_indices(struct symbol_table *table)
{
    for (size_t i = 0; i < table->section_count && !table->section_indices; i++) {
        const struct bat_section *section = &table->sections[i];
        if (section->type != SHT_SYMTAB_SHNDX || section->link != table->in->index)
            continue;
        uint64_t size;
        const uint8_t *bytes = bat_elf_section_bytes(table->elf, section, &size);
        if (bytes && size / sizeof(uint32_t) >= table->count) {
            bat_keep_bytes(bytes, size);
            table->section_indices = bytes;
        }
    }
}

static enum bat_code read_table(struct symbol_table *table, struct bat_error *error)
{
    const struct bat_section *in = table->in;
    uint64_t size;
    table->symbols = bat_elf_section_bytes(table->elf, in, &size);
    if (!table->symbols)
        return BAT_OK;
    if (size / sizeof(Elf64_Sym) >= BAT_NONE)
        return bat_fail(error, BAT_ERR_ELF, "the symbol table holds more than 2^32 symbols");
    if (in->link >= table->section_count)
        return bat_fail(error, BAT_ERR_ELF,
                        "the symbol table's strings are in section %" PRIu32
                        ", but there are only %zu sections",
                        in->link, table->section_count);
    const uint8_t *strings =
        bat_elf_section_bytes(table->elf, &table->sections[in->link], &table->strings_size);
    bat_keep_bytes(table->symbols, size);
    bat_keep_bytes(strings, table->strings_size);
    if (!strings || table->strings_size == 0 || strings[table->strings_size - 1] != 0)
        return bat_fail(error, BAT_ERR_ELF, "the symbol table's strings do not end in a zero byte");
    table->strings = (const char *)strings;
    table->count = (uint32_t)(size / sizeof(Elf64_Sym));
    find_section_indices(table);
    return BAT_OK;
}

enum bat_code symbol_table_open(struct symbol_table *table, const struct bat_elf *elf,
                                uint32_t type, struct bat_error *error)
{
    *table = (struct symbol_table){.elf = elf};
    table->sections = bat_elf_sections(elf, &table->section_count);
    for (size_t i = 0; i < table->section_count && !table->in; i++)
        if (table->sections[i].type == type)
            table->in = &table->sections[i];
    return table->in ? read_table(table, error) : BAT_OK;
}

const struct bat_section *symbol_table_section(const struct symbol_table *table, uint32_t index,
                                               const Elf64_Sym *symbol)
{
    uint32_t section = symbol->st_shndx;
    if (section == SHN_XINDEX && table->section_indices)
        memcpy(&section, table->section_indices + (size_t)index * sizeof(section), sizeof(section));
    else if (section >= SHN_LORESERVE)
        return NULL;
    return section != SHN_UNDEF && section < table->section_count ? &table->sections[section]
                                                                  : NULL;
}
