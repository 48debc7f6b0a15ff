/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Mini debug information: an ELF file, packed by xz, whose symbols the file itself has lost. */
#include "debugdata.h"

#include <stdlib.h>

#include "unpack.h"

enum bat_code elf_debugdata_open(const struct bat_elf *elf, struct bat_elf **opened,
                                 struct bat_error *error)
{
    const struct bat_section *section = bat_elf_section(elf, ".gnu_debugdata");
    *opened = NULL;
    if (!section)
        return BAT_OK;
    uint64_t size;
    const uint8_t *bytes = bat_elf_section_bytes(elf, section, &size);
    struct bat_unpacked unpacked = {0};
    int file;
    enum bat_code code = bat_unpack(".gnu_debugdata: ", BAT_PACKING_XZ, bytes, size,
                                    bat_unpacked_most(size), NULL, &unpacked, error);
    code = code ? code : bat_unpacked_file(&unpacked, &file, error);
    free(unpacked.bytes);
    return code ? code : bat_elf_open_file(file, bat_elf_path(elf), opened, error);
}
