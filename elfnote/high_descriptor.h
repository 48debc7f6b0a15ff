/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Descriptors that nothing prints to. Internal to the library. */
#ifndef BAT_ELF_HIGH_DESCRIPTOR_H
#define BAT_ELF_HIGH_DESCRIPTOR_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/*
 * A just opened file (or -1) under a descriptor that is none of the standard ones, which are free
 * where the caller has closed them: what a program prints must not get into a file. -1, errno set
 * and the file closed, if that fails.
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

#endif
