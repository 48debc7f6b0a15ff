/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finds out what closing a file would report. Internal to the library. */
#ifndef BAT_ELF_TRY_CLOSE_H
#define BAT_ELF_TRY_CLOSE_H

#include <fcntl.h>
#include <unistd.h>

/*
 * Close a copy of the descriptor. NFS and file systems of user space write then, and some report
 * only then that a quota is full. 0, or -1 with errno; that there can be no copy says nothing of
 * the file.
 */
static inline int bat_try_close(int file)
{
    int copy = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return copy < 0 ? 0 : close(copy);
}

#endif
