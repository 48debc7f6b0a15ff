/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "targets.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "binary/build_ids.h"
#include "binary/note_facts.h"
#include "optional_elf.h"
#include "spec/grow.h"

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
};

void originals_free(struct originals *originals)
{
    if (!originals)
        return;
    for (size_t i = 0; i < originals->count; i++) {
        free(originals->files[i].path);
        free(originals->files[i].build_id);
    }
    free(originals->files);
    free(originals);
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

/* Returns false. */
static bool fail(const char *path, const char *what, int error)
{
    return tool_refuse(path, "%s: %s", what, strerror(error));
}

/* Add an open file. As all that follow, false with a message on failure. */
static bool add_elf(struct originals *originals, const char *path, const struct bat_elf *elf)
{
    size_t size;
    const uint8_t *build_id = bat_elf_build_id(elf, &size);
    if (!build_id || size == 0 || note_is_bolted(elf) || !has_code(elf))
        return true;
    if (!bat_grow(&originals->files, &originals->capacity, originals->count,
                  sizeof(*originals->files)))
        return tool_refuse(NULL, "not enough memory");
    struct file *file = &originals->files[originals->count];
    *file = (struct file){.path = strdup(path),
                          .build_id = malloc(size),
                          .build_id_size = size,
                          .has_symbols = bat_elf_has_symbols(elf)};
    originals->count++;
    if (!file->path || !file->build_id)
        return tool_refuse(NULL, "not enough memory");
    memcpy(file->build_id, build_id, size);
    return true;
}

static bool add_file(struct originals *originals, const char *path)
{
    struct bat_elf *elf;
    struct bat_error error;
    if (optional_elf_open(path, &elf, &error) != BAT_OK)
        return tool_complain(path, &error);
    bool is_added = !elf || add_elf(originals, path, elf);
    bat_elf_close(elf);
    return is_added;
}

static bool add_folder(struct originals *originals, const char *folder, unsigned depth);

static bool add_path(struct originals *originals, const char *path, unsigned depth)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return optional_is_missing(errno) || fail(path, "cannot be read", errno);
    if (S_ISREG(status.st_mode))
        return add_file(originals, path);
    if (!S_ISDIR(status.st_mode) || depth == DEPTH_MAX)
        return true;
    /* Links to folders are not followed. */
    if (lstat(path, &status) != 0)
        return optional_is_missing(errno) || fail(path, "cannot be read", errno);
    return !S_ISDIR(status.st_mode) || add_folder(originals, path, depth + 1);
}

static bool add_entry(struct originals *originals, const char *folder, const char *name,
                      unsigned depth)
{
    char *path;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return tool_refuse(NULL, "not enough memory");
    bool is_fine = add_path(originals, path, depth);
    free(path);
    return is_fine;
}

static int by_name(const struct dirent **left, const struct dirent **right)
{
    return strcmp((*left)->d_name, (*right)->d_name);
}

/* A folder below that this user cannot read is left out. */
static bool add_folder(struct originals *originals, const char *folder, unsigned depth)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, by_name);
    if (count < 0)
        return (depth != 0 && optional_is_missing(errno)) ||
               fail(folder, "cannot read the folder", errno);
    bool is_fine = true;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (is_fine && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
            is_fine = add_entry(originals, folder, name, depth);
        free(entries[i]);
    }
    free(entries);
    return is_fine;
}

struct originals *originals_open(const char *folder)
{
    struct originals *originals = calloc(1, sizeof(*originals));
    if (originals ? add_folder(originals, folder, 0) : tool_refuse(NULL, "not enough memory"))
        return originals;
    originals_free(originals);
    return NULL;
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
