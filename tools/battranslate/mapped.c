/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "mapped.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bat_profile.h"
#include "optional_elf.h"
#include "separate_symbols.h"

void mapped_free(struct mapped *mapped)
{
    for (size_t i = 0; i < mapped->count; i++) {
        free(mapped->items[i].path);
        stored_close(&mapped->items[i].stored);
    }
    free(mapped->items);
    *mapped = (struct mapped){0};
}

/* True if that path, or the same file under another one, is there already. */
static bool is_known(const struct mapped *mapped, const struct bat_mapped_file *file)
{
    for (size_t i = 0; i < mapped->count; i++) {
        struct stat known;
        struct stat status;
        if (strcmp(mapped->items[i].path, file->path) == 0 ||
            (stat(mapped->items[i].path, &known) == 0 && stat(file->path, &status) == 0 &&
             known.st_dev == status.st_dev && known.st_ino == status.st_ino))
            return true;
    }
    return false;
}

/*
 * *result is true if this machine has that file, with symbols. Other builds of it are left out.
 * Fails if that cannot be found out.
 */
static enum bat_code is_usable(const struct bat_mapped_file *file, bool *result,
                               struct bat_error *error)
{
    struct bat_elf *elf;
    *result = false;
    if (file->path[0] != '/')
        return BAT_OK;
    enum bat_code code = optional_elf_open(file->path, &elf, error);
    if (code != BAT_OK || !elf)
        return code;
    size_t size;
    const uint8_t *build_id = bat_elf_build_id(elf, &size);
    /* A build-id whose size is not known is padded with zeros. */
    bool is_same = !build_id || file->build_id_size == 0 ||
                   (size <= file->build_id_size && memcmp(build_id, file->build_id, size) == 0);
    struct bat_elf *symbols = NULL;
    *result = is_same && has_symbols(elf);
    if (is_same && !*result)
        code = separate_symbols_open(file->path, NULL, &symbols, error);
    *result = *result || symbols;
    bat_elf_close(symbols);
    bat_elf_close(elf);
    return code;
}

/* True if the file of that build-id, whatever its path, is there already. */
static bool is_known_build(const struct mapped *mapped, const struct bat_mapped_file *file)
{
    for (size_t i = 0; i < mapped->count; i++) {
        const struct mapped_item *item = &mapped->items[i];
        if (item->build_id_size == file->build_id_size &&
            memcmp(item->build_id, file->build_id, file->build_id_size) == 0)
            return true;
    }
    return false;
}

/* *elf is the file itself without its symbols, if it is on this machine; NULL if not. */
static enum bat_code open_shipped(const struct bat_mapped_file *file, struct bat_elf **elf,
                                  struct bat_error *error)
{
    enum bat_code code = optional_elf_open(file->path, elf, error);
    if (code != BAT_OK || !*elf)
        return code;
    size_t size;
    const uint8_t *build_id = bat_elf_build_id(*elf, &size);
    if (build_id && size <= file->build_id_size && memcmp(build_id, file->build_id, size) == 0)
        return BAT_OK;
    bat_elf_close(*elf);
    *elf = NULL;
    return BAT_OK;
}

/* Returns true, as what is listed next may be read; mapped_find() fails at the end. */
static bool report(struct mapped *mapped, const struct bat_mapped_file *file,
                   const struct bat_error *error)
{
    tool_report(file->path, error);
    mapped->has_failed = true;
    return true;
}

/*
 * Find a file in the stores; stored->file is -1 if there is none. A build-id whose size is not
 * known is padded with zeros.
 */
static enum bat_code find_stored(struct mapped *mapped, const struct bat_mapped_file *file,
                                 struct stored *stored, struct bat_error *error)
{
    struct bat_elf *shipped;
    const size_t sizes[] = {file->build_id_size, 16, 8};
    *stored = stored_nothing();
    enum bat_code code = open_shipped(file, &shipped, error);
    if (code != BAT_OK)
        return code;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && stored->file < 0; i++) {
        bool is_padding = sizes[i] <= file->build_id_size;
        for (size_t k = sizes[i]; is_padding && k < file->build_id_size; k++)
            is_padding = file->build_id[k] == 0;
        if (is_padding && !stores_find(mapped->stores, file->build_id, sizes[i], shipped, stored))
            mapped->has_failed = true;
    }
    bat_elf_close(shipped);
    return BAT_OK;
}

static bool add_item(struct mapped *mapped, const struct bat_mapped_file *file,
                     struct stored stored)
{
    if (mapped->count == mapped->capacity) {
        size_t capacity = mapped->capacity ? mapped->capacity * 2 : 32;
        struct mapped_item *items = realloc(mapped->items, capacity * sizeof(*items));
        if (!items) {
            stored_close(&stored);
            return false;
        }
        mapped->items = items;
        mapped->capacity = capacity;
    }
    struct mapped_item *item = &mapped->items[mapped->count];
    *item = (struct mapped_item){.path = strdup(file->path), .stored = stored};
    if (file->build_id && file->build_id_size <= MAPPED_ID_MAX) {
        memcpy(item->build_id, file->build_id, file->build_id_size);
        item->build_id_size = file->build_id_size;
    }
    mapped->count++;
    return item->path != NULL;
}

static bool add_file(const struct bat_mapped_file *file, void *context)
{
    struct mapped *mapped = context;
    struct bat_error error;
    bool usable = false;
    if (!is_known(mapped, file) && is_usable(file, &usable, &error) != BAT_OK)
        return report(mapped, file, &error);
    if (usable)
        return add_item(mapped, file, stored_nothing());
    struct stored stored;
    bool may_be_stored = mapped->stores->count != 0 && file->build_id && file->build_id_size != 0 &&
                         file->build_id_size <= MAPPED_ID_MAX && file->path[0] == '/';
    if (!may_be_stored || is_known_build(mapped, file))
        return true;
    if (find_stored(mapped, file, &stored, &error) != BAT_OK)
        return report(mapped, file, &error);
    return stored.file < 0 || add_item(mapped, file, stored);
}

enum tool_exit mapped_find(struct mapped *mapped, const struct translate_request *request)
{
    *mapped = (struct mapped){.stores = &request->stores};
    for (size_t i = 0; i < request->profile_count; i++) {
        struct bat_error error;
        if (strcmp(request->profiles[i], "-") == 0) {
            tool_message(NULL, "expected files for --all, which reads them twice, found standard "
                               "input");
            return TOOL_BAD;
        }
        if (bat_mapped_files(request->profiles[i], add_file, mapped, &error) != BAT_OK) {
            /* What is wrong with it is said when it is read. */
            if (request->keep_going && error.code != BAT_ERR_MEMORY)
                continue;
            tool_report(request->profiles[i], &error);
            return TOOL_BAD;
        }
    }
    if (mapped->has_failed)
        return TOOL_BAD;
    if (mapped->count != 0)
        return TOOL_FINE;
    tool_message(NULL, "expected mapped files with symbols on this machine%s, found none",
                 request->stores.count != 0 ? " or in a store" : "");
    return TOOL_BAD;
}
