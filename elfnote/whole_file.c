/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "whole_file.h"

#include "descriptors.h"
#include "spec/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a pipe is read by, and what a file may have grown by since its size was asked. */
#define ROOM ((size_t)64 << 10)

int bat_read_rest(int file, void *bytes, size_t *size, size_t *capacity)
{
    for (;;) {
        char *to;
        if (!bat_reserve(bytes, capacity, *size, 2, 1)) {
            errno = ENOMEM;
            return -1;
        }
        memcpy(&to, bytes, sizeof(to));
        ssize_t got = bat_read_some(file, to + *size, *capacity - 1 - *size, -1);
        if (got <= 0)
            return got < 0 ? -1 : 0;
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
    enum bat_code code = *text ? BAT_OK : bat_fail_memory(error, "for the file");
    if (code == BAT_OK && bat_read_rest(file, text, size, &capacity) != 0)
        code = errno == ENOMEM ? bat_fail_memory(error, "for the file")
                               : bat_fail(error, BAT_ERR_IO, "%s", strerror(errno));
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
