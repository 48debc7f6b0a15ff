/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "whole_file.h"

#include "descriptors.h"
#include "spec/grow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a pipe is read by, and what a file may have grown by since its size was asked. */
#define ROOM ((size_t)64 << 10)

/* Read to the end. *text has *capacity bytes. */
static enum bat_code read_all(int file, char **text, size_t *size, size_t capacity,
                              struct bat_error *error)
{
    for (;;) {
        if (!bat_reserve(text, &capacity, *size, 2, 1))
            return bat_fail_memory(error, "for the file");
        ssize_t got = bat_read_some(file, *text + *size, capacity - 1 - *size, -1);
        if (got < 0)
            return bat_fail(error, BAT_ERR_IO, "%s", strerror(errno));
        if (got == 0)
            return BAT_OK;
        *size += (size_t)got;
    }
}

enum bat_code bat_whole_file_read(const char *path, char **text, size_t *size,
                                  struct bat_error *error)
{
    bool is_standard = strcmp(path, "-") == 0;
    struct stat status;
    *text = NULL;
    *size = 0;
    int file = is_standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return bat_fail(error, BAT_ERR_IO, "%s", strerror(errno));
    size_t capacity = ROOM;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode))
        capacity += (size_t)status.st_size;
    *text = malloc(capacity);
    enum bat_code code = *text ? read_all(file, text, size, capacity, error)
                               : bat_fail_memory(error, "for the file");
    if (!is_standard)
        close(file);
    if (code == BAT_OK) {
        (*text)[*size] = '\0';
    } else {
        free(*text);
        *text = NULL;
    }
    return code;
}
