/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Keeps files off the standard descriptors. Internal to the library. */
#ifndef BAT_ELF_HIGH_DESCRIPTOR_H
#define BAT_ELF_HIGH_DESCRIPTOR_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

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

#endif
