/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "optional_elf.h"

#include <errno.h>
#include <fcntl.h>

#include "elfnote/regular_file.h"

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
