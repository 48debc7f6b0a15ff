/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "separate_symbols.h"

#include "bat_debuginfo.h"
#include "optional_elf.h"
#include "tools/common/store.h"

enum bat_code separate_symbols_open(const char *path, const char *debug_file, struct bat_elf **elf,
                                    struct bat_error *error)
{
    struct bat_elf *program;
    enum bat_code code = optional_elf_open(path, &program, error);
    bool is_stripped = program && !has_symbols(program);
    bat_elf_close(program);
    *elf = NULL;
    if (code != BAT_OK || !is_stripped)
        return code;
    struct bat_debuginfo *debuginfo;
    code = bat_debuginfo_open(path, debug_file, &debuginfo, error);
    if (code != BAT_OK)
        return code == BAT_ERR_MEMORY ? code : BAT_OK;
    code = optional_elf_open(bat_debuginfo_path(debuginfo), elf, error);
    bat_debuginfo_close(debuginfo);
    return code;
}
