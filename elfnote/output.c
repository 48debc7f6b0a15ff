/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "output.h"

#include "bat_elf.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* How much is read at once where the kernel cannot copy by itself. */
#define COPY_BUFFER_SIZE ((size_t)256 << 10)

/* How much is copied before the disk is set to work on it. */
#define COPY_STEP ((size_t)8 << 20)

/* How often another name is tried for a temporary file whose name is taken. */
#define NAME_ATTEMPTS 100

/* BAT_ERR_IO for the system call that just failed. */
static enum bat_code fail(const struct output *output, struct bat_error *error)
{
    bat_fail(error, BAT_ERR_IO, "cannot write %s: %m", output->path);
    return BAT_ERR_IO;
}

/* --- Which file ----------------------------------------------------------------------------- */

/* A file that is there: it has to be one that can be replaced. */
static enum bat_code check_existing(struct output *output, struct bat_error *error)
{
    struct stat status;
    if (stat(output->target, &status) != 0)
        return fail(output, error);
    if (!S_ISREG(status.st_mode))
        return bat_fail(error, BAT_ERR_IO, "cannot write %s: it is %s, not a regular file",
                        output->path,
                        S_ISDIR(status.st_mode) ? "a directory" : "a pipe or a device");
    if (!output->has_model) {
        output->model = status;
        output->has_model = true;
    }
    return BAT_OK;
}

/* The path of a file that is not there yet, in its real folder; NULL, with error, if there is no
 * such folder. */
static char *resolve_new(const struct output *output, struct bat_error *error)
{
    struct stat status;
    const char *slash = strrchr(output->path, '/');
    const char *name = slash ? slash + 1 : output->path;
    if (!name[0]) {
        bat_fail(error, BAT_ERR_IO, "cannot write '%s': this names no file", output->path);
        return NULL;
    }
    if (lstat(output->path, &status) == 0) {
        bat_fail(error, BAT_ERR_IO,
                 "cannot write %s: it is a symbolic link to a file that does not exist",
                 output->path);
        return NULL;
    }
    char *target = NULL;
    char *copy = strdup(output->path);
    char *folder = copy ? realpath(dirname(copy), NULL) : NULL;
    if (!folder || asprintf(&target, "%s/%s", folder, name) < 0) {
        fail(output, error);
        target = NULL;
    }
    free(copy);
    free(folder);
    return target;
}

/* Fill target and folder. */
static enum bat_code resolve(struct output *output, struct bat_error *error)
{
    output->target = realpath(output->path, NULL);
    if (output->target) {
        enum bat_code code = check_existing(output, error);
        if (code != BAT_OK)
            return code;
    } else if (errno != ENOENT) {
        return fail(output, error);
    } else {
        output->target = resolve_new(output, error);
        if (!output->target)
            return BAT_ERR_IO;
    }
    output->folder = strdup(output->target);
    if (!output->folder)
        return fail(output, error);
    char *slash = strrchr(output->folder, '/');
    slash[slash == output->folder ? 1 : 0] = '\0';
    return BAT_OK;
}

/* --- The new file --------------------------------------------------------------------------- */

/* A new name in the folder, in memory that the caller frees. */
static char *make_name(const struct output *output)
{
    uint64_t random = 0;
    char *name = NULL;
    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random) ||
        asprintf(&name, "%s/.bat-%016" PRIx64, output->folder, random) < 0)
        return NULL;
    return name;
}

/* Give the new file a name: by way of /proc if it is open without one. */
static enum bat_code make_named(struct output *output, mode_t mode, struct bat_error *error)
{
    for (int attempt = 0; attempt < NAME_ATTEMPTS; attempt++) {
        char *name = make_name(output);
        if (!name)
            return fail(output, error);
        int made = -1;
        if (output->file >= 0) {
            char open_file[64];
            snprintf(open_file, sizeof(open_file), "/proc/self/fd/%d", output->file);
            made = linkat(AT_FDCWD, open_file, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
        } else {
            made = output->file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        }
        if (made >= 0) {
            output->temporary = name;
            return BAT_OK;
        }
        int reason = errno;
        free(name);
        errno = reason;
        if (reason != EEXIST)
            break;
    }
    return bat_fail(error, BAT_ERR_IO, "cannot write %s: no temporary file in %s: %m", output->path,
                    output->folder);
}

/*
 * Open the new file, without a name where the file system can: then nothing is left behind even
 * if the program is killed.
 */
static enum bat_code open_new(struct output *output, struct bat_error *error)
{
    /* Nobody may read it who may not read the file whose mode it gets in the end. */
    mode_t mode = output->has_model ? S_IRUSR | S_IWUSR
                                    : S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;
    output->file = -1;
    if (access("/proc/self/fd", X_OK) == 0)
        output->file = open(output->folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    return output->file >= 0 ? BAT_OK : make_named(output, mode, error);
}

enum bat_code output_begin(struct output *output, const char *path, const struct stat *model,
                           struct bat_error *error)
{
    *output = (struct output){.path = path, .file = -1};
    if (model) {
        output->model = *model;
        output->has_model = true;
    }
    enum bat_code code = resolve(output, error);
    if (code == BAT_OK)
        code = open_new(output, error);
    if (code != BAT_OK)
        output_discard(output);
    return code;
}

/* --- Its content ---------------------------------------------------------------------------- */

enum bat_code output_write(struct output *output, const void *bytes, uint64_t size, uint64_t offset,
                           struct bat_error *error)
{
    const char *from = bytes;
    while (size > 0) {
        ssize_t written = pwrite(output->file, from, (size_t)size, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return fail(output, error);
        from += written;
        offset += (uint64_t)written;
        size -= (uint64_t)written;
    }
    return BAT_OK;
}

/* Copy through memory. */
static enum bat_code copy_by_hand(struct output *output, int source, uint64_t from, uint64_t size,
                                  uint64_t to, struct bat_error *error)
{
    char *buffer = malloc(COPY_BUFFER_SIZE);
    if (!buffer)
        return bat_fail(error, BAT_ERR_MEMORY, "no memory to copy the file");
    enum bat_code code = BAT_OK;
    while (size > 0 && code == BAT_OK) {
        size_t wanted = size < COPY_BUFFER_SIZE ? (size_t)size : COPY_BUFFER_SIZE;
        ssize_t got = pread(source, buffer, wanted, (off_t)from);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            code = bat_fail(error, BAT_ERR_IO, "cannot be read: %m");
        } else if (got == 0) {
            code = bat_fail(error, BAT_ERR_IO, "became shorter while it was copied");
        } else {
            code = output_write(output, buffer, (uint64_t)got, to, error);
            from += (uint64_t)got;
            to += (uint64_t)got;
            size -= (uint64_t)got;
        }
    }
    free(buffer);
    return code;
}

/* Copy bytes that are all there. What the kernel cannot copy, for whatever reason, is copied by
 * hand: if that is impossible too, it tells why. */
static enum bat_code copy_data(struct output *output, int source, uint64_t from, uint64_t size,
                               uint64_t to, struct bat_error *error)
{
    while (size > 0) {
        off_t from_offset = (off_t)from;
        off_t to_offset = (off_t)to;
        size_t step = size < COPY_STEP ? (size_t)size : COPY_STEP;
        ssize_t copied = copy_file_range(source, &from_offset, output->file, &to_offset, step, 0);
        if (copied < 0 && errno == EINTR)
            continue;
        if (copied <= 0)
            return copy_by_hand(output, source, from, size, to, error);
        /* The disk writes while the rest is copied: less to wait for at the end. An error of it
         * comes back from fsync(). */
        sync_file_range(output->file, (off_t)to, (off_t)copied, SYNC_FILE_RANGE_WRITE);
        from += (uint64_t)copied;
        to += (uint64_t)copied;
        size -= (uint64_t)copied;
    }
    return BAT_OK;
}

enum bat_code output_copy(struct output *output, int source, uint64_t from, uint64_t size,
                          uint64_t to, struct bat_error *error)
{
    uint64_t end = from + size;
    uint64_t position = from;
    while (position < end) {
        off_t data = lseek(source, (off_t)position, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            return BAT_OK;
        off_t hole = data < 0 ? -1 : lseek(source, data, SEEK_HOLE);
        /* Where holes cannot be told, all is data. */
        uint64_t start = data < 0 || hole < 0 ? position : (uint64_t)data;
        uint64_t stop = data < 0 || hole < 0 || (uint64_t)hole > end ? end : (uint64_t)hole;
        if (start >= end)
            return BAT_OK;
        enum bat_code code =
            copy_data(output, source, start, stop - start, to + (start - from), error);
        if (code != BAT_OK)
            return code;
        position = stop;
    }
    return BAT_OK;
}

enum bat_code output_resize(struct output *output, uint64_t size, struct bat_error *error)
{
    if (ftruncate(output->file, (off_t)size) != 0)
        return fail(output, error);
    return BAT_OK;
}

/* --- The end -------------------------------------------------------------------------------- */

/* Owner first: changing it clears the set-id bits, which only belong to the same owner. */
static enum bat_code take_mode(struct output *output, struct bat_error *error)
{
    struct stat now;
    if (fstat(output->file, &now) != 0)
        return fail(output, error);
    mode_t mode =
        output->model.st_mode & (S_ISUID | S_ISGID | S_ISVTX | S_IRWXU | S_IRWXG | S_IRWXO);
    if (now.st_gid != output->model.st_gid &&
        fchown(output->file, (uid_t)-1, output->model.st_gid) != 0)
        mode &= ~(mode_t)S_ISGID;
    if (now.st_uid != output->model.st_uid &&
        fchown(output->file, output->model.st_uid, (gid_t)-1) != 0)
        mode &= ~(mode_t)S_ISUID;
    if (fchmod(output->file, mode) != 0)
        return fail(output, error);
    return BAT_OK;
}

enum bat_code output_finish(struct output *output, struct bat_error *error)
{
    enum bat_code code = output->has_model ? take_mode(output, error) : BAT_OK;
    if (code == BAT_OK && fsync(output->file) != 0)
        code = fail(output, error);
    if (code == BAT_OK && !output->temporary)
        code = make_named(output, 0, error);
    if (code == BAT_OK && rename(output->temporary, output->target) != 0)
        code = fail(output, error);
    if (code == BAT_OK) {
        free(output->temporary);
        output->temporary = NULL;
    }
    output_discard(output);
    return code;
}

void output_discard(struct output *output)
{
    if (output->temporary)
        unlink(output->temporary);
    if (output->file >= 0)
        close(output->file);
    free(output->temporary);
    free(output->folder);
    free(output->target);
    *output = (struct output){.file = -1};
}

enum bat_code bat_write_file(const char *path, const void *bytes, size_t size,
                             struct bat_error *error)
{
    struct output output;
    enum bat_code code = output_begin(&output, path, NULL, error);
    if (code != BAT_OK)
        return code;
    code = output_write(&output, bytes, size, 0, error);
    if (code != BAT_OK) {
        output_discard(&output);
        return code;
    }
    return output_finish(&output, error);
}
