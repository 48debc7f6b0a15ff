/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "replace_file.h"

#include "descriptors.h"
#include "spec/array.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

/* Bytes read at once if the kernel cannot copy. */
#define COPY_BUFFER_SIZE ((size_t)256 << 10)

/* Bytes copied before the disk starts to write them. */
#define COPY_STEP ((size_t)8 << 20)

/* How many names are tried for a temporary file. */
#define NAME_ATTEMPTS 100

/* --- Which file ----------------------------------------------------------------------------- */

/* Refuse a file that a rename cannot replace now, not at the end of a long run. */
static enum bat_code check_mount(const struct replacement *replacement, struct bat_error *error)
{
    struct statx status;
    if (statx(replacement->existing_file, "", AT_EMPTY_PATH, 0, &status) != 0)
        return BAT_OK;
    uint64_t known = status.stx_attributes & status.stx_attributes_mask;
    if ((known & STATX_ATTR_MOUNT_ROOT) != 0)
        return bat_fail(error, BAT_ERR_IO, "cannot write %s: it is a mount point",
                        replacement->path);
    if ((known & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND)) != 0)
        return bat_fail(error, BAT_ERR_IO, "cannot write %s: it is immutable or append-only",
                        replacement->path);
    return BAT_OK;
}

/*
 * Look at the existing file: it must be one that can be replaced, and to which the caller may
 * write. A read-only file is refused although its folder would allow a rename. The file stays open,
 * so all that is asked is asked of this one, and no other can get its inode's number.
 */
static enum bat_code see_existing(struct replacement *replacement, struct bat_error *error)
{
    struct stat *status = &replacement->existing;
    char open_path[REPLACEMENT_OPEN_PATH];
    replacement->existing_file =
        bat_high_descriptor(open(replacement->target, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (replacement->existing_file < 0 || fstat(replacement->existing_file, status) != 0)
        return replacement_fail(replacement, error);
    if (S_ISLNK(status->st_mode))
        return replacement_fail_changed(replacement, error);
    if (!S_ISREG(status->st_mode))
        return bat_fail(error, BAT_ERR_IO, "cannot write %s: it is %s, not a regular file",
                        replacement->path,
                        S_ISDIR(status->st_mode) ? "a directory" : "a pipe or a device");
    if (!replacement->is_stored &&
        faccessat(AT_FDCWD, replacement_existing_path(replacement, open_path), W_OK, AT_EACCESS) !=
            0)
        return replacement_fail(replacement, error);
    replacement->exists = true;
    replacement->has_model = true;
    return check_mount(replacement, error);
}

/* The path of a file that does not exist yet, its folder without symbolic links; NULL, error set,
 * if there is no such folder. */
static char *resolve_new(const struct replacement *replacement, struct bat_error *error)
{
    struct stat status;
    const char *slash = strrchr(replacement->path, '/');
    const char *name = slash ? slash + 1 : replacement->path;
    if (!name[0]) {
        bat_fail(error, BAT_ERR_IO, "cannot write %s: the path names no file", replacement->path);
        return NULL;
    }
    if (lstat(replacement->path, &status) == 0) {
        /* /dev/stdout leads to a pipe by a path that does not exist. */
        const bool is_open = stat(replacement->path, &status) == 0;
        bat_fail(error, BAT_ERR_IO, "cannot write %s: it is %s", replacement->path,
                 is_open ? "a pipe or a device, not a regular file"
                         : "a symbolic link to a file that does not exist");
        return NULL;
    }
    char *target = NULL;
    char *copy = strdup(replacement->path);
    char *folder = copy ? realpath(dirname(copy), NULL) : NULL;
    if (!folder || asprintf(&target, "%s/%s", folder, name) < 0) {
        replacement_fail(replacement, error);
        target = NULL;
    }
    BAT_FREE_ALL(copy, folder);
    return target;
}

/* Fill target and folder. */
static enum bat_code resolve(struct replacement *replacement, struct bat_error *error)
{
    replacement->target = realpath(replacement->path, NULL);
    if (replacement->target) {
        BAT_TRY(see_existing(replacement, error));
    } else if (errno != ENOENT) {
        return replacement_fail(replacement, error);
    } else {
        replacement->target = resolve_new(replacement, error);
        if (!replacement->target)
            return BAT_ERR_IO;
    }
    replacement->folder = strdup(replacement->target);
    if (!replacement->folder)
        return replacement_fail(replacement, error);
    char *slash = strrchr(replacement->folder, '/');
    slash[slash == replacement->folder ? 1 : 0] = '\0';
    return BAT_OK;
}

/* --- The new file --------------------------------------------------------------------------- */

/* A new name in the folder, in memory that the caller frees. */
static char *make_name(const struct replacement *replacement)
{
    uint64_t random = 0;
    char *name = NULL;
    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random) ||
        asprintf(&name, "%s/.bat-%016lx", replacement->folder, random) < 0)
        return NULL;
    return name;
}

/* Open a file for the new content; -1, errno set, if that fails. */
static int open_content(const char *path, int flags, mode_t mode)
{
    return bat_high_descriptor(open(path, flags | O_RDWR | O_CLOEXEC, mode));
}

/* Give the new file, which is open and has no name, this name, through /proc. */
static int link_open(const struct replacement *replacement, const char *name)
{
    char open_file[REPLACEMENT_OPEN_PATH];
    snprintf(open_file, sizeof(open_file), "/proc/self/fd/%d", replacement->file);
    return linkat(AT_FDCWD, open_file, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

enum bat_code replacement_make_named(struct replacement *replacement, mode_t mode,
                                     struct bat_error *error)
{
    for (int attempt = 0; attempt < NAME_ATTEMPTS; attempt++) {
        char *name = make_name(replacement);
        if (!name)
            return replacement_fail(replacement, error);
        int made = -1;
        if (replacement->file >= 0)
            made = link_open(replacement, name);
        else
            made = replacement->file = open_content(name, O_CREAT | O_EXCL, mode);
        if (made >= 0) {
            replacement->temporary = name;
            return BAT_OK;
        }
        int reason = errno;
        free(name);
        errno = reason;
        if (reason != EEXIST)
            break;
    }
    return bat_fail(error, BAT_ERR_IO, "cannot write %s: cannot make a temporary file in %s: %m",
                    replacement->path, replacement->folder);
}

/*
 * Open the new file, without a name if the file system supports that: then nothing is left behind
 * even if the program is killed.
 */
static enum bat_code open_new(struct replacement *replacement, struct bat_error *error)
{
    /* Owner only: others may not be allowed to read the file whose mode it gets in the end. */
    mode_t mode = replacement->has_model
                      ? S_IRUSR | S_IWUSR
                      : S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;
    if (access("/proc/self/fd", X_OK) == 0)
        replacement->file = open_content(replacement->folder, O_TMPFILE, mode);
    return replacement->file >= 0 ? BAT_OK : replacement_make_named(replacement, mode, error);
}

enum bat_code replacement_begin(struct replacement *replacement, const char *path, int model,
                                bool is_stored, struct bat_error *error)
{
    *replacement = (struct replacement){.path = path,
                                        .file = -1,
                                        .model = model,
                                        .has_model = model >= 0,
                                        .is_stored = is_stored,
                                        .existing_file = -1};
    enum bat_code code = resolve(replacement, error);
    code = code ? code : open_new(replacement, error);
    if (code != BAT_OK)
        replacement_discard(replacement);
    return code;
}

/* --- Its content ---------------------------------------------------------------------------- */

/* The disk begins to write after so many bytes. */
#define DISK_STEP (UINT64_C(1) << 20)

/* The disk writes while the rest is made, which shortens the wait in fsync(). Errors are reported
 * by fsync(). */
static void begin_to_disk(const struct replacement *replacement, uint64_t from, uint64_t end)
{
    sync_file_range(replacement->file, (off_t)from, (off_t)(end - from), SYNC_FILE_RANGE_WRITE);
}

enum bat_code replacement_write(struct replacement *replacement, const void *bytes, uint64_t size,
                                uint64_t offset, struct bat_error *error)
{
    const char *from = bytes;
    while (size > 0) {
        ssize_t written = pwrite(replacement->file, from, (size_t)size, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return replacement_fail(replacement, error);
        uint64_t end = offset + (uint64_t)written;
        if (offset / DISK_STEP != end / DISK_STEP)
            begin_to_disk(replacement, offset - offset % DISK_STEP, end - end % DISK_STEP);
        from += written;
        offset = end;
        size -= (uint64_t)written;
    }
    return BAT_OK;
}

/* Copy through memory, without the kernel's help. */
static enum bat_code copy_by_hand(struct replacement *replacement, int source, uint64_t from,
                                  uint64_t size, uint64_t to, struct bat_error *error)
{
    char *buffer = malloc(COPY_BUFFER_SIZE);
    BAT_TRY_MEMORY(buffer, error, "to copy the file");
    enum bat_code code = BAT_OK;
    while (size > 0 && code == BAT_OK) {
        size_t wanted = size < COPY_BUFFER_SIZE ? (size_t)size : COPY_BUFFER_SIZE;
        ssize_t got = bat_read_some(source, buffer, wanted, (off_t)from);
        if (got < 0) {
            code = bat_fail(error, BAT_ERR_IO, "cannot be read: %m");
        } else if (got == 0) {
            code = bat_fail(error, BAT_ERR_IO, "became shorter while it was copied");
        } else {
            code = replacement_write(replacement, buffer, (uint64_t)got, to, error);
            from += (uint64_t)got;
            to += (uint64_t)got;
            size -= (uint64_t)got;
        }
    }
    free(buffer);
    return code;
}

/* Copy bytes that are not in a hole. If the kernel's copy fails for any reason, copy_by_hand() goes
 * on, and reports the reason if it fails too. */
static enum bat_code copy_data(struct replacement *replacement, int source, uint64_t from,
                               uint64_t size, uint64_t to, struct bat_error *error)
{
    while (size > 0) {
        off_t from_offset = (off_t)from;
        off_t to_offset = (off_t)to;
        size_t step = size < COPY_STEP ? (size_t)size : COPY_STEP;
        ssize_t copied =
            copy_file_range(source, &from_offset, replacement->file, &to_offset, step, 0);
        if (copied < 0 && errno == EINTR)
            continue;
        if (copied <= 0)
            return copy_by_hand(replacement, source, from, size, to, error);
        begin_to_disk(replacement, to, to + (uint64_t)copied);
        from += (uint64_t)copied;
        to += (uint64_t)copied;
        size -= (uint64_t)copied;
    }
    return BAT_OK;
}

enum bat_code replacement_copy(struct replacement *replacement, int source, uint64_t from,
                               uint64_t size, uint64_t to, struct bat_error *error)
{
    uint64_t end = from + size;
    uint64_t position = from;
    while (position < end) {
        off_t data = lseek(source, (off_t)position, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            return BAT_OK;
        off_t hole = data < 0 ? -1 : lseek(source, data, SEEK_HOLE);
        /* If the file system does not report holes, everything is data. */
        uint64_t start = data < 0 || hole < 0 ? position : (uint64_t)data;
        uint64_t stop = data < 0 || hole < 0 || (uint64_t)hole > end ? end : (uint64_t)hole;
        if (start >= end)
            return BAT_OK;
        BAT_TRY(copy_data(replacement, source, start, stop - start, to + (start - from), error));
        position = stop;
    }
    return BAT_OK;
}

enum bat_code replacement_resize(struct replacement *replacement, uint64_t size,
                                 struct bat_error *error)
{
    if (ftruncate(replacement->file, (off_t)size) != 0)
        return replacement_fail(replacement, error);
    return BAT_OK;
}

/* --- The end -------------------------------------------------------------------------------- */

/* Write a file or a folder to the disk. 0, or -1 with errno. Not all file systems write folders. */
static int write_to_disk(int file)
{
    int result;
    do
        result = fsync(file);
    while (result != 0 && errno == EINTR);
    return result != 0 && errno != EINVAL && errno != EBADF ? -1 : 0;
}

enum bat_code replacement_check_written(const struct replacement *replacement,
                                        struct bat_error *error)
{
    if (write_to_disk(replacement->file) != 0 || bat_try_close(replacement->file) != 0)
        return replacement_fail(replacement, error);
    return BAT_OK;
}

enum bat_code replacement_prepare(struct replacement *replacement, struct bat_error *error)
{
    enum bat_code code =
        replacement->has_model ? replacement_take_attributes(replacement, error) : BAT_OK;
    code = code ? code : replacement_check_written(replacement, error);
    if (code == BAT_OK && fstat(replacement->file, &replacement->made) != 0)
        return replacement_fail(replacement, error);
    return code;
}

enum bat_code replacement_name(struct replacement *replacement, struct bat_error *error)
{
    if (!replacement->exists || replacement->temporary)
        return BAT_OK;
    return replacement_make_named(replacement, 0, error);
}

/* True if path names this file. */
static bool is_file(const char *path, const struct stat *file)
{
    struct stat found;
    return lstat(path, &found) == 0 && found.st_dev == file->st_dev && found.st_ino == file->st_ino;
}

/* rename() that never replaces a file: errno is EEXIST then. 0, or -1 with errno. */
static int rename_to_new(const char *from, const char *to)
{
    struct stat found;
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    /* Not all file systems can do that, and some have no links. */
    if (errno != EEXIST && link(from, to) == 0) {
        unlink(from);
        return 0;
    }
    if (errno == EEXIST)
        return -1;
    if (lstat(to, &found) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(from, to);
}

static int exchange(const char *one, const char *other)
{
    return renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
}

/* The result of a rename of the new file to target. */
static int set_placed(struct replacement *replacement, int result)
{
    replacement->is_placed = result == 0;
    if (result == 0) {
        free(replacement->temporary);
        replacement->temporary = NULL;
    }
    return result;
}

/* Put the new file at a path where there is none. 0, or -1 with errno. */
static int place_new(struct replacement *replacement)
{
    return set_placed(replacement, rename_to_new(replacement->temporary, replacement->target));
}

/*
 * Put the new file in the place of the existing one where files cannot be exchanged: the existing
 * one gets a second name first, or, without links, another one. 0, or -1 with errno.
 */
static int place_over(struct replacement *replacement)
{
    char *name = make_name(replacement);
    if (!name)
        return -1;
    bool is_linked = link(replacement->target, name) == 0;
    if (!is_linked && rename_to_new(replacement->target, name) != 0) {
        free(name);
        /* The existing file may be gone. */
        return errno == ENOENT ? place_new(replacement) : -1;
    }
    replacement->old = name;
    if (!is_file(name, &replacement->existing)) {
        errno = ESTALE;
        return -1;
    }
    return is_linked ? set_placed(replacement, rename(replacement->temporary, replacement->target))
                     : place_new(replacement);
}

/* Put the new file in the place of the existing one, which keeps a name. 0, or -1 with errno. */
static int place_by_exchange(struct replacement *replacement)
{
    if (exchange(replacement->temporary, replacement->target) != 0)
        return place_over(replacement);
    replacement->old = replacement->temporary;
    replacement->temporary = NULL;
    replacement->is_placed = true;
    errno = ESTALE;
    return is_file(replacement->old, &replacement->existing) ? 0 : -1;
}

enum bat_code replacement_place(struct replacement *replacement, struct bat_error *error)
{
    /* A new file without a name is linked to target directly: killed here, the program leaves no
     * temporary file. */
    if (!replacement->temporary) {
        replacement->is_placed = link_open(replacement, replacement->target) == 0;
        if (replacement->is_placed)
            return BAT_OK;
        if (errno == EEXIST)
            return replacement_fail_changed(replacement, error);
        BAT_TRY(replacement_make_named(replacement, 0, error));
    }
    if ((replacement->exists ? place_by_exchange(replacement) : place_new(replacement)) == 0)
        return BAT_OK;
    return errno == EEXIST || errno == ESTALE ? replacement_fail_changed(replacement, error)
                                              : replacement_fail(replacement, error);
}

enum bat_code replacement_close(struct replacement *replacement, struct bat_error *error)
{
    int file = replacement->file;
    replacement->file = -1;
    return close(file) == 0 ? BAT_OK : replacement_fail(replacement, error);
}

int bat_write_folder_of(const char *path)
{
    char *copy = strdup(path);
    int folder = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(copy);
    if (folder < 0)
        return errno == EACCES ? 0 : -1;
    int result = write_to_disk(folder);
    int reason = errno;
    close(folder);
    errno = reason;
    return result;
}

enum bat_code replacement_write_folder(struct replacement *replacement, struct bat_error *error)
{
    return bat_write_folder_of(replacement->target) == 0 ? BAT_OK
                                                         : replacement_fail(replacement, error);
}

/* Give the existing file its path again. False if that fails. */
static bool restore_old(const struct replacement *replacement)
{
    struct stat old;
    if (!replacement->is_placed)
        return (lstat(replacement->old, &old) == 0 && is_file(replacement->target, &old)) ||
               rename_to_new(replacement->old, replacement->target) == 0;
    if (exchange(replacement->old, replacement->target) != 0)
        return is_file(replacement->target, &replacement->made) &&
               rename(replacement->old, replacement->target) == 0;
    if (is_file(replacement->old, &replacement->made))
        return true;
    /* Another program has replaced the new file: its file stays. */
    exchange(replacement->old, replacement->target);
    return false;
}

void replacement_undo(struct replacement *replacement, struct bat_error *error)
{
    if (!replacement->old && replacement->is_placed &&
        is_file(replacement->target, &replacement->made))
        unlink(replacement->target);
    if (!replacement->old || restore_old(replacement))
        return;
    struct bat_error first = error ? *error : (struct bat_error){0};
    bat_fail(error, BAT_ERR_IO, "%s; the file that was there is now %s", first.message,
             replacement->old);
    free(replacement->old);
    replacement->old = NULL;
}

void replacement_discard(struct replacement *replacement)
{
    /* Closed first: on NFS, what is removed while it is open gets another name. */
    if (replacement->existing_file >= 0)
        close(replacement->existing_file);
    if (replacement->file >= 0)
        close(replacement->file);
    if (replacement->temporary)
        unlink(replacement->temporary);
    if (replacement->old)
        unlink(replacement->old);
    BAT_FREE_ALL(replacement->temporary, replacement->old, replacement->folder,
                 replacement->target);
    *replacement = (struct replacement){.file = -1, .model = -1, .existing_file = -1};
}
