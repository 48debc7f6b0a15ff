/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Symbols of functions in the file that has the debug information. */
#include <gelf.h>

#include "debuginfo.h"
#include "spec/order.h"

static bool is_function(const GElf_Sym *symbol)
{
    int type = GELF_ST_TYPE(symbol->st_info);
    return symbol->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC);
}

/* Fill debuginfo->symbols from a section. Leaves them empty where the table is damaged. */
static bool read_table(struct bat_debuginfo *debuginfo, Elf_Scn *section, size_t names_index)
{
    Elf_Scn *names_section = elf_getscn(debuginfo->image.elf, names_index);
    Elf_Data *names = names_section ? elf_getdata(names_section, NULL) : NULL;
    Elf_Data *data = elf_getdata(section, NULL);
    if (!data || !names || !names->d_buf || names->d_size == 0 ||
        ((const char *)names->d_buf)[names->d_size - 1] != '\0')
        return true;
    size_t capacity = 0;
    size_t *count = &debuginfo->symbol_count;
    GElf_Sym symbol;
    for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
        if (!is_function(&symbol) || symbol.st_name >= names->d_size)
            continue;
        if (!BAT_APPEND(debuginfo->symbols, *count, capacity,
                        (struct debug_symbol){.address = symbol.st_value,
                                              .name = (const char *)names->d_buf + symbol.st_name,
                                              .order = (uint32_t)i}))
            return false;
    }
    return true;
}

/* Read the first symbol table; files have one. */
static bool read_symbols(struct bat_debuginfo *debuginfo)
{
    Elf *elf = debuginfo->image.elf;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB)
            continue;
        if (!read_table(debuginfo, section, header.sh_link))
            return false;
        BAT_SORT_BY_TWO(debuginfo->symbols, debuginfo->symbol_count, address, order);
        return true;
    }
    return true;
}

const char *bat_debuginfo_symbol(struct bat_debuginfo *debuginfo, uint64_t address, size_t i)
{
    if (!debuginfo->has_symbols) {
        debuginfo->has_symbols = true;
        if (!read_symbols(debuginfo)) {
            debuginfo->no_memory = true;
            debuginfo->symbol_count = 0;
        }
    }
    size_t found = BAT_COUNT_BELOW(debuginfo->symbols, debuginfo->symbol_count, address, address);
    if (i >= debuginfo->symbol_count - found || debuginfo->symbols[found + i].address != address)
        return NULL;
    return debuginfo->symbols[found + i].name;
}
