/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define FLAGS (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

/* 0 for a regular file, else the reason why it is not to be opened. */
static int look(int file, struct stat *status)
{
    if (fstat(file, status) != 0)
        return errno;
    if (S_ISREG(status->st_mode))
        return 0;
    return S_ISDIR(status->st_mode) ? EISDIR : ENXIO;
}

/* Open what place, an O_PATH descriptor, stands for. Without /proc its path must lead there still.
 */
static int open_place(int place, const struct stat *status, int folder, const char *path)
{
    char name[32];
    struct stat opened;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", place);
    int file = open(name, FLAGS);
    if (file >= 0 || errno != ENOENT)
        return file;
    file = openat(folder, path, FLAGS);
    if (file < 0 || (look(file, &opened) == 0 && opened.st_dev == status->st_dev &&
                     opened.st_ino == status->st_ino))
        return file;
    close(file);
    errno = ENOENT;
    return -1;
}

int bat_regular_open(int folder, const char *path)
{
    struct stat status;
    int place = openat(folder, path, O_PATH | O_CLOEXEC);
    if (place < 0)
        return -1;
    int reason = look(place, &status);
    int file = reason == 0 ? open_place(place, &status, folder, path) : -1;
    if (reason == 0)
        reason = errno;
    close(place);
    errno = reason;
    return bat_high_descriptor(file);
}

enum bat_code bat_regular_fail(struct bat_error *error)
{
    if (errno == EISDIR || errno == ENXIO)
        return bat_fail(error, BAT_ERR_IO, "is %s, not a regular file",
                        errno == EISDIR ? "a directory" : "a pipe or a device");
    return bat_fail(error, BAT_ERR_IO, "cannot be opened: %m");
}

bool bat_is_special(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}
