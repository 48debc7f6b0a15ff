/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* In a minimal build, which has no liblzma. */
#include "elfnote/debugdata.h"

enum bat_code elf_debugdata_open(const struct bat_elf *elf, struct bat_elf **opened,
                                 struct bat_error *error)
{
    (void)elf;
    (void)error;
    *opened = NULL;
    return BAT_OK;
}
