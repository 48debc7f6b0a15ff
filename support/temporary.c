/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elfnote/descriptors.h"

enum bat_code bat_temporary_open(int *file, struct bat_error *error)
{
    const char *folder = getenv("TMPDIR");
    if (!folder || !folder[0])
        folder = "/tmp";
    *file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    char path[4096];
    /* Some file systems do not support O_TMPFILE. */
    if (*file < 0 && snprintf(path, sizeof(path), "%s/batkit-XXXXXX", folder) < (int)sizeof(path)) {
        *file = mkostemp(path, O_CLOEXEC);
        if (*file >= 0)
            unlink(path);
    }
    *file = bat_high_descriptor(*file);
    if (*file < 0)
        return bat_fail(error, BAT_ERR_IO, "making a temporary file in %s: %s", folder,
                        strerror(errno));
    return BAT_OK;
}

/* Bytes that are copied at a time. */
#define COPY_SIZE ((size_t)1 << 20)

/*
 * Move the next bytes of a stream to the end of a file. Returns their number, 0 at the end of the
 * stream. *buffer is NULL as long as the kernel moves them itself, which it does for pipes; what it
 * refuses is tried by read() and write(), whose errors say which side failed.
 */
static ssize_t move_bytes(int file, int stream, char **buffer, enum bat_code *code,
                          struct bat_error *error)
{
    if (!*buffer) {
        ssize_t moved = splice(stream, NULL, file, NULL, COPY_SIZE, SPLICE_F_MOVE);
        if (moved >= 0 || errno == EINTR)
            return moved;
        *buffer = malloc(COPY_SIZE);
        if (!*buffer) {
            *code = bat_fail_memory(error, "to read the profile");
            return -1;
        }
    }
    ssize_t got = read(stream, *buffer, COPY_SIZE);
    if (got < 0 && errno != EINTR)
        *code = bat_fail(error, BAT_ERR_IO, "reading: %s", strerror(errno));
    else if (got > 0)
        *code = bat_temporary_write(file, *buffer, (size_t)got, error);
    return got;
}

enum bat_code bat_temporary_append(int file, int stream, bat_appended_fn *appended, void *context,
                                   struct bat_error *error)
{
    char *buffer = NULL;
    enum bat_code code = BAT_OK;
    /* A larger pipe saves switches between its ends. It may be refused, or not be a pipe. */
    fcntl(stream, F_SETPIPE_SZ, (int)COPY_SIZE);
    for (ssize_t got = 1; got != 0 && code == BAT_OK;) {
        got = move_bytes(file, stream, &buffer, &code, error);
        if (got > 0 && code == BAT_OK && appended)
            appended((size_t)got, context);
    }
    free(buffer);
    return code;
}

/* Go to the start of a temporary file, or close it after a failure. */
static enum bat_code rewind_or_close(int *file, enum bat_code code, struct bat_error *error)
{
    if (code == BAT_OK && lseek(*file, 0, SEEK_SET) != 0)
        code = bat_fail(error, BAT_ERR_IO, "reading a temporary file: %s", strerror(errno));
    if (code == BAT_OK)
        return BAT_OK;
    close(*file);
    *file = -1;
    return code;
}

enum bat_code bat_temporary_copy(int stream, const void *bytes, size_t size, int *file,
                                 struct bat_error *error)
{
    BAT_TRY(bat_temporary_open(file, error));
    enum bat_code code = bat_temporary_write(*file, bytes, size, error);
    code = code ? code : bat_temporary_append(*file, stream, NULL, NULL, error);
    return rewind_or_close(file, code, error);
}

enum bat_code bat_temporary_of_bytes(const void *bytes, size_t size, int *file,
                                     struct bat_error *error)
{
    *file = bat_high_descriptor(memfd_create("profile", MFD_CLOEXEC));
    BAT_TRY(*file < 0 ? bat_temporary_open(file, error) : BAT_OK);
    enum bat_code code = bat_temporary_write(*file, bytes, size, error);
    return rewind_or_close(file, code, error);
}

enum bat_code bat_temporary_write(int file, const void *bytes, size_t size, struct bat_error *error)
{
    const char *at = bytes;
    while (size != 0) {
        ssize_t done = write(file, at, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return bat_fail(error, BAT_ERR_IO, "writing to a temporary file: %s", strerror(errno));
        at += done;
        size -= (size_t)done;
    }
    return BAT_OK;
}
