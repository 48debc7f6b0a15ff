/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Symbols in the file that has the debug information. */
#include <gelf.h>
#include <string.h>

#include "debuginfo.h"
#include "spec/order.h"

static bool is_function(const GElf_Sym *symbol)
{
    int type = GELF_ST_TYPE(symbol->st_info);
    return symbol->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC);
}

/* The first symbol table, of which files have one, with its names. NULL where either is missing. */
static Elf_Data *find_table(Elf *elf, Elf_Data **names)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB)
            continue;
        Elf_Scn *names_section = elf_getscn(elf, header.sh_link);
        *names = names_section ? elf_getdata(names_section, NULL) : NULL;
        return *names && (*names)->d_buf && (*names)->d_size != 0 ? elf_getdata(section, NULL)
                                                                  : NULL;
    }
    return NULL;
}

/* Fill debuginfo->symbols. Leaves them empty where the table is damaged. */
static bool read_symbols(struct bat_debuginfo *debuginfo)
{
    Elf_Data *names;
    Elf_Data *data = find_table(debuginfo->image.elf, &names);
    if (!data || ((const char *)names->d_buf)[names->d_size - 1] != '\0')
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
    BAT_SORT_BY_TWO(debuginfo->symbols, *count, address, order);
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

bool bat_debuginfo_has_fs_discriminators(struct bat_debuginfo *debuginfo)
{
    static const char wanted[] = "__llvm_fs_discriminator__";
    Elf_Data *names;
    Elf_Data *data = find_table(debuginfo->image.elf, &names);
    GElf_Sym symbol;
    /* elf_strptr() looks for the end of each name. */
    for (int i = 0; data && gelf_getsym(data, i, &symbol); i++)
        if (symbol.st_name < names->d_size && names->d_size - symbol.st_name >= sizeof(wanted) &&
            memcmp((char *)names->d_buf + symbol.st_name, wanted, sizeof(wanted)) == 0)
            return true;
    return false;
}
