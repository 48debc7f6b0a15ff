/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "originals.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "binary/build_ids.h"
#include "binary/note_facts.h"
#include "debuginfo/optional_elf.h"
#include "spec/array.h"

/* Folders in folders. */
#define DEPTH_MAX 16u

struct file {
    char *path;
    uint8_t *build_id;
    size_t build_id_size;
    bool has_symbols;
};

struct originals {
    struct file *files;
    size_t count;
    size_t capacity;
    char *failed;            /* the path that the error is of; or NULL */
    struct bat_error *error; /* while they are listed */
};

void originals_free(struct originals *originals)
{
    if (!originals)
        return;
    for (size_t i = 0; i < originals->count; i++) {
        BAT_FREE_ALL(originals->files[i].path, originals->files[i].build_id);
    }
    BAT_FREE_ALL(originals->files, originals->failed, originals);
}

/* True if the file has the bytes of its code: a separate debug file has not. */
static bool has_code(const struct bat_elf *elf)
{
    size_t count;
    const struct bat_section *sections = bat_elf_sections(elf, &count);
    for (size_t i = 0; i < count; i++)
        if ((sections[i].flags & SHF_EXECINSTR) && sections[i].type != SHT_NOBITS)
            return true;
    return false;
}

static enum bat_code fail_memory(const struct originals *originals)
{
    return bat_fail_memory(originals->error, "for the folder of input binaries");
}

/* The error is of that file. Returns code. */
static enum bat_code fail_of(struct originals *originals, const char *path, enum bat_code code)
{
    if (!originals->failed)
        originals->failed = strdup(path);
    return code;
}

static enum bat_code fail(struct originals *originals, const char *path, const char *what)
{
    return fail_of(originals, path,
                   bat_fail(originals->error, BAT_ERR_IO, "%s: %s", what, strerror(errno)));
}

static enum bat_code add_elf(struct originals *originals, const char *path,
                             const struct bat_elf *elf)
{
    size_t size;
    const uint8_t *build_id = bat_elf_build_id(elf, &size);
    if (!build_id || size == 0 || note_is_bolted(elf) || !has_code(elf))
        return BAT_OK;
    if (!BAT_GROW(originals->files, originals->count, originals->capacity))
        return fail_memory(originals);
    struct file *file = &originals->files[originals->count];
    *file = (struct file){.path = strdup(path),
                          .build_id = malloc(size),
                          .build_id_size = size,
                          .has_symbols = bat_elf_has_symbols(elf)};
    originals->count++;
    if (!file->path || !file->build_id)
        return fail_memory(originals);
    memcpy(file->build_id, build_id, size);
    return BAT_OK;
}

static enum bat_code add_file(struct originals *originals, const char *path)
{
    struct bat_elf *elf;
    enum bat_code code = optional_elf_open(path, &elf, originals->error);
    if (code != BAT_OK)
        return fail_of(originals, path, code);
    code = elf ? add_elf(originals, path, elf) : BAT_OK;
    bat_elf_close(elf);
    return code;
}

static enum bat_code add_folder(struct originals *originals, const char *folder, unsigned depth);

static enum bat_code add_path(struct originals *originals, const char *path, unsigned depth)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return optional_is_missing(errno) ? BAT_OK : fail(originals, path, "cannot be read");
    if (S_ISREG(status.st_mode))
        return add_file(originals, path);
    if (!S_ISDIR(status.st_mode) || depth == DEPTH_MAX)
        return BAT_OK;
    /* Links to folders are not followed. */
    if (lstat(path, &status) != 0)
        return optional_is_missing(errno) ? BAT_OK : fail(originals, path, "cannot be read");
    return S_ISDIR(status.st_mode) ? add_folder(originals, path, depth + 1) : BAT_OK;
}

static enum bat_code add_entry(struct originals *originals, const char *folder, const char *name,
                               unsigned depth)
{
    char *path;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return fail_memory(originals);
    enum bat_code code = add_path(originals, path, depth);
    free(path);
    return code;
}

static int by_name(const struct dirent **left, const struct dirent **right)
{
    return strcmp((*left)->d_name, (*right)->d_name);
}

/* A folder below that this user cannot read is left out. */
static enum bat_code add_folder(struct originals *originals, const char *folder, unsigned depth)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, by_name);
    if (count < 0)
        return depth != 0 && optional_is_missing(errno)
                   ? BAT_OK
                   : fail(originals, folder, "cannot read the folder");
    enum bat_code code = BAT_OK;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (code == BAT_OK && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
            code = add_entry(originals, folder, name, depth);
        free(entries[i]);
    }
    free(entries);
    return code;
}

enum bat_code originals_open(const char *folder, struct originals **originals,
                             struct bat_error *error)
{
    *originals = calloc(1, sizeof(**originals));
    BAT_TRY_MEMORY(*originals, error, "for the folder of input binaries");
    (*originals)->error = error;
    return add_folder(*originals, folder, 0);
}

const char *originals_failed(const struct originals *originals)
{
    return originals ? originals->failed : NULL;
}

const char *originals_find(const struct originals *originals, const struct bat_elf *elf)
{
    size_t size;
    const uint8_t *build_id = bat_elf_build_id(elf, &size);
    const struct file *best = NULL;
    for (size_t i = 0; build_id && i < originals->count; i++) {
        const struct file *file = &originals->files[i];
        if (build_id_is_of_input(build_id, size, file->build_id, file->build_id_size) &&
            (!best || (file->has_symbols && !best->has_symbols)))
            best = file;
    }
    return best ? best->path : NULL;
}
