/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elfnote/descriptors.h"

static ssize_t read_bytes(void *cookie, char *bytes, size_t size)
{
    const int *file = cookie;
    return bat_read_some(*file, bytes, size, -1);
}

static int close_file(void *cookie)
{
    const int *file = cookie;
    int result = *file == STDIN_FILENO ? 0 : close(*file);
    free(cookie);
    return result;
}

FILE *bat_text_file_open(const char *path)
{
    int *file = malloc(sizeof(*file));
    if (!file)
        return NULL;
    *file = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    const cookie_io_functions_t functions = {.read = read_bytes, .close = close_file};
    FILE *stream = *file >= 0 ? fopencookie(file, "r", functions) : NULL;
    if (stream)
        return stream;
    const int reason = errno;
    if (*file > STDIN_FILENO)
        close(*file);
    free(file);
    errno = reason;
    return NULL;
}

ssize_t bat_text_file_line(FILE *file, char **line, size_t *capacity)
{
    errno = 0;
    ssize_t size = getline(line, capacity, file);
    return ferror(file) ? -1 : size;
}
