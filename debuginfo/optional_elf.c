/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "optional_elf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "bat_debuginfo.h"
#include "elfnote/descriptors.h"

bool optional_is_missing(int error)
{
    return error == ENOENT || error == ENOTDIR || error == EACCES || error == EPERM ||
           error == ELOOP || error == ENAMETOOLONG || error == EISDIR || error == ENXIO;
}

enum bat_code optional_elf_open(const char *path, struct bat_elf **elf, struct bat_error *error)
{
    *elf = NULL;
    int file = bat_regular_open(AT_FDCWD, path);
    if (file < 0)
        return optional_is_missing(errno) ? BAT_OK : bat_regular_fail(error);
    enum bat_code code = bat_elf_open_file(file, path, elf, error);
    return code == BAT_ERR_MEMORY || code == BAT_ERR_IO ? code : BAT_OK;
}

bool optional_elf_is(const struct bat_elf *elf, const uint8_t *build_id, size_t size)
{
    size_t own_size;
    const uint8_t *own = bat_elf_build_id(elf, &own_size);
    return !own || size == 0 || (own_size <= size && memcmp(own, build_id, own_size) == 0);
}

enum bat_code separate_symbols_open(const char *path, const char *debug_file, struct bat_elf **elf,
                                    struct bat_error *error)
{
    struct bat_elf *program;
    enum bat_code code = optional_elf_open(path, &program, error);
    bool is_stripped = program && !bat_elf_has_symbols(program);
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
