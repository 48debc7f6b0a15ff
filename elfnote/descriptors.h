/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Descriptors of files: none below 3, of regular files alone, closed once, and reading from them.
 * Internal to the library.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "spec/bat.h"

struct bat_elf;

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

/* read(), or with an offset other than -1 pread(), which signals do not interrupt. */
static inline ssize_t bat_read_some(int file, void *bytes, size_t size, off_t offset)
{
    ssize_t got;
    do
        got = offset == -1 ? read(file, bytes, size) : pread(file, bytes, size, offset);
    while (got < 0 && errno == EINTR);
    return got;
}

/* The same until all bytes are there or the file ends. */
static inline ssize_t bat_read_all(int file, void *bytes, size_t size, off_t offset)
{
    size_t done = 0;
    for (ssize_t got = 1; got > 0 && done < size; done += (size_t)got) {
        got = bat_read_some(file, (char *)bytes + done, size - done,
                            offset == -1 ? -1 : offset + (off_t)done);
        if (got < 0)
            return got;
    }
    return (ssize_t)done;
}

/*
 * Open a regular file for reading; a relative path begins in folder, or for AT_FDCWD in the current
 * one. Nothing else is opened, not even for a moment: a FIFO may wait for a writer, or take one
 * from another reader, and a device may do something, such as rewind a tape. The result is no
 * standard descriptor. -1 with errno on failure: EISDIR for a folder, ENXIO for whatever else is no
 * file.
 */
int bat_regular_open(int folder, const char *path);

/* A copy of an open file's descriptor, to be closed; that of its bytes if it was packed. -1 with
 * errno on failure. */
int bat_elf_descriptor(const struct bat_elf *elf);

/* True for devices, pipes and sockets. */
bool bat_is_special(const char *path);

/* Fail with BAT_ERR_IO for the errno of bat_regular_open(). */
enum bat_code bat_regular_fail(struct bat_error *error);
