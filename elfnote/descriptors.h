/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Descriptors of files: none below 3, of regular files alone, closed once. Internal to the library.
 */
#ifndef BAT_ELFNOTE_DESCRIPTORS_H
#define BAT_ELFNOTE_DESCRIPTORS_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "spec/bat.h"

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

/*
 * Moves a file just opened (or -1) to a descriptor above the standard ones. open() may return one
 * of those if the caller has closed it, and then text that the program prints would go into the
 * file. On failure returns -1, sets errno and closes the file.
 */
static inline int bat_high_descriptor(int file)
{
    if (file < 0 || file > STDERR_FILENO)
        return file;
    int higher = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int reason = errno;
    close(file);
    errno = reason;
    return higher;
}

/*
 * Open a regular file for reading; a relative path begins in folder, or for AT_FDCWD in the current
 * one. Nothing else is opened, not even for a moment: a FIFO may wait for a writer, or take one
 * from another reader, and a device may do something, such as rewind a tape. The result is no
 * standard descriptor. -1 with errno on failure: EISDIR for a folder, ENXIO for whatever else is no
 * file.
 */
int bat_regular_open(int folder, const char *path);

/* Fail with BAT_ERR_IO for the errno of bat_regular_open(). */
enum bat_code bat_regular_fail(struct bat_error *error);

#endif
