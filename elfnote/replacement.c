/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the parts of a replacement share: its path, its errors. */
#include "replace_file.h"

#undef replacement_fail
#undef replacement_fail_changed

#include <stdio.h>
#include <unistd.h>

enum bat_code replacement_fail(const struct replacement *replacement, struct bat_error *error)
{
    bat_fail(error, BAT_ERR_IO, "cannot write %s: %m", replacement->path);
    return BAT_ERR_IO;
}

enum bat_code replacement_fail_changed(const struct replacement *replacement,
                                       struct bat_error *error)
{
    return bat_fail(error, BAT_ERR_IO,
                    "cannot write %s: another program made or replaced it meanwhile",
                    replacement->path);
}

const char *replacement_existing_path(const struct replacement *replacement,
                                      char path[REPLACEMENT_OPEN_PATH])
{
    snprintf(path, REPLACEMENT_OPEN_PATH, "/proc/self/fd/%d", replacement->existing_file);
    return access(path, F_OK) == 0 ? path : replacement->target;
}
