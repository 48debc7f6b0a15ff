/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Notices changes of a file. Internal to the library. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

/* True if it is the same file, and neither its content nor its attributes have changed. */
static inline bool bat_file_is_same(const struct stat *now, const struct stat *then)
{
    return now->st_dev == then->st_dev && now->st_ino == then->st_ino &&
           now->st_size == then->st_size && now->st_mtim.tv_sec == then->st_mtim.tv_sec &&
           now->st_mtim.tv_nsec == then->st_mtim.tv_nsec &&
           now->st_ctim.tv_sec == then->st_ctim.tv_sec &&
           now->st_ctim.tv_nsec == then->st_ctim.tv_nsec;
}
