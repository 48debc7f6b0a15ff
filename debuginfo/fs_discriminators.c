/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <gelf.h>
#include <string.h>

#include "debuginfo.h"

bool bat_debuginfo_has_fs_discriminators(struct bat_debuginfo *debuginfo)
{
    Elf *elf = debuginfo->elf;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        GElf_Sym symbol;
        for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
            const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
            if (name && strcmp(name, "__llvm_fs_discriminator__") == 0)
                return true;
        }
    }
    return false;
}
