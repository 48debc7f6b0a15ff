/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "optional_elf.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

bool optional_is_missing(int error)
{
    return error == ENOENT || error == ENOTDIR || error == EACCES || error == EPERM ||
           error == ELOOP || error == ENAMETOOLONG || error == ENXIO;
}

enum bat_code optional_elf_open(const char *path, struct bat_elf **elf, struct bat_error *error)
{
    *elf = NULL;
    /* O_NONBLOCK: opening a FIFO must not wait for a writer. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file < 0)
        return optional_is_missing(errno) ? BAT_OK
                                          : bat_fail(error, BAT_ERR_IO, "cannot be opened: %m");
    struct stat status;
    enum bat_code code = BAT_OK;
    if (fstat(file, &status) != 0)
        code = bat_fail(error, BAT_ERR_IO, "cannot be read: %m");
    if (code != BAT_OK || !S_ISREG(status.st_mode)) {
        close(file);
        return code;
    }
    code = bat_elf_open_file(file, path, elf, error);
    return code == BAT_ERR_MEMORY || code == BAT_ERR_IO ? code : BAT_OK;
}
