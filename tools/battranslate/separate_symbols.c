/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "separate_symbols.h"

#include <elf.h>

#include "bat_debuginfo.h"

bool has_symbols(const struct bat_elf *elf)
{
    size_t count;
    const struct bat_section *sections = bat_elf_sections(elf, &count);
    for (size_t i = 0; i < count; i++)
        if (sections[i].type == SHT_SYMTAB && sections[i].size != 0)
            return true;
    return false;
}

struct bat_elf *separate_symbols_open(const char *path, const char *debug_file)
{
    struct bat_elf *elf;
    if (bat_elf_open(path, &elf, NULL) != BAT_OK)
        return NULL;
    bool is_stripped = !has_symbols(elf);
    bat_elf_close(elf);
    struct bat_debuginfo *debuginfo;
    if (!is_stripped || bat_debuginfo_open(path, debug_file, &debuginfo, NULL) != BAT_OK)
        return NULL;
    if (bat_elf_open(bat_debuginfo_path(debuginfo), &elf, NULL) != BAT_OK)
        elf = NULL;
    bat_debuginfo_close(debuginfo);
    return elf;
}
