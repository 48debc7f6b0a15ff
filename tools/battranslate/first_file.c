/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "first_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bat_yaml_profile.h"
#include "elfnote/descriptors.h"
#include "support/temporary.h"

/* True if the file goes on like YAML. Its offset stays. */
static bool begins_as_yaml(int file)
{
    char head[4];
    ssize_t got = bat_read_all(file, head, sizeof(head), lseek(file, 0, SEEK_CUR));
    /* Whoever reads it finds an error, too. */
    return got > 0 && bat_yaml_profile_is(head, (size_t)got);
}

static enum bat_code copy_pipe(int pipe, struct first_file *first, struct bat_error *error)
{
    BAT_TRY(bat_temporary_copy(pipe, NULL, 0, &first->copy, error));
    snprintf(first->copy_path, sizeof(first->copy_path), "/proc/self/fd/%d", first->copy);
    first->path = first->copy_path;
    return BAT_OK;
}

enum bat_code first_file_open(const char *path, struct first_file *first, struct bat_error *error)
{
    const bool is_standard = strcmp(path, "-") == 0;
    *first = (struct first_file){.path = path, .copy = -1};
    int file = is_standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return bat_fail(error, BAT_ERR_IO, "%s", strerror(errno));
    enum bat_code code = BAT_OK;
    if (lseek(file, 0, SEEK_CUR) < 0)
        code = copy_pipe(file, first, error);
    if (code == BAT_OK)
        first->is_yaml = begins_as_yaml(first->copy >= 0 ? first->copy : file);
    if (!is_standard)
        close(file);
    if (code != BAT_OK)
        first_file_close(first);
    return code;
}

void first_file_close(struct first_file *first)
{
    if (first->copy >= 0)
        close(first->copy);
    first->copy = -1;
}
