/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <gelf.h>
#include <string.h>

#include "debuginfo.h"

static const char wanted[] = "__llvm_fs_discriminator__";

static bool has_symbol(Elf *elf, Elf_Scn *section, size_t names_index)
{
    Elf_Scn *names_section = elf_getscn(elf, names_index);
    Elf_Data *names = names_section ? elf_getdata(names_section, NULL) : NULL;
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Sym symbol;
    /* elf_strptr() looks for the end of each name. */
    for (int i = 0; names && names->d_buf && data && gelf_getsym(data, i, &symbol); i++)
        if (symbol.st_name < names->d_size && names->d_size - symbol.st_name >= sizeof(wanted) &&
            memcmp((char *)names->d_buf + symbol.st_name, wanted, sizeof(wanted)) == 0)
            return true;
    return false;
}

bool bat_debuginfo_has_fs_discriminators(struct bat_debuginfo *debuginfo)
{
    Elf *elf = debuginfo->image.elf;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB &&
            has_symbol(elf, section, header.sh_link))
            return true;
    }
    return false;
}
