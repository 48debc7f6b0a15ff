/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files and folders of tests. */
#pragma once

#include <dirent.h>
#include <unistd.h>

#include "unit_test.h"

/* The number of files in a folder, to check that no temporary one is left. */
static inline unsigned count_files(const char *folder)
{
    unsigned count = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count - 2; /* "." and ".." */
}

/* A file of these bytes in the folder for temporary files, to be removed with remove_file(). */
static inline char *new_file(const void *bytes, size_t size)
{
    char *path = strdup("/tmp/test_profile.XXXXXX");
    assert_non_null(path);
    int file = mkstemp(path);
    assert_true(file >= 0);
    for (size_t written = 0; written < size;) {
        ssize_t now = write(file, (const char *)bytes + written, size - written);
        assert_true(now > 0);
        written += (size_t)now;
    }
    close(file);
    return path;
}

static inline void remove_file(void *path)
{
    unlink(path);
    free(path);
}

/* A file of these bytes until the test ends. */
static inline char *write_file(const void *bytes, size_t size)
{
    char *path = new_file(bytes, size);
    keep(remove_file, path);
    return path;
}

/* The bytes of a file, with a zero behind them; size may be NULL. */
static inline char *file_bytes(const char *path, size_t *size)
{
    FILE *file = fopen(path, "re");
    if (!file)
        fail_msg("cannot open %s", path);
    char *bytes = NULL;
    size_t all = 0;
    for (size_t got = 1; got != 0; all += got) {
        bytes = kept_memory(bytes, all + 65536 + 1);
        got = fread(bytes + all, 1, 65536, file);
    }
    fclose(file);
    bytes[all] = 0;
    if (size)
        *size = all;
    return bytes;
}
