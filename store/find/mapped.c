/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "mapped.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bat_profile.h"
#include "debuginfo/optional_elf.h"
#include "spec/array.h"
#include "spec/hex_bytes.h"

void mapped_free(struct mapped *mapped)
{
    for (size_t i = 0; i < mapped->count; i++) {
        free(mapped->items[i].path);
        bat_stored_close(&mapped->items[i].stored);
    }
    free(mapped->items);
    bat_strings_free(&mapped->paths);
    bat_strings_free(&mapped->files);
    bat_strings_free(&mapped->builds);
    *mapped = (struct mapped){0};
}

/* --- What is there already ------------------------------------------------------------------ */

/* A key of a set of items; its size is 0 if an item has none. */
struct key {
    char text[2 * MAPPED_ID_MAX + 1];
    size_t size;
};

/* Of a file on this machine. */
static struct key file_key(const char *path)
{
    struct key key = {.size = 0};
    struct stat status;
    if (stat(path, &status) == 0)
        key.size = (size_t)snprintf(key.text, sizeof(key.text), "%jx:%jx", (uintmax_t)status.st_dev,
                                    (uintmax_t)status.st_ino);
    return key;
}

static struct key build_key(const struct bat_mapped_file *file)
{
    struct key key = {.size = 0};
    if (!file->build_id || file->build_id_size > MAPPED_ID_MAX)
        return key;
    bat_hex_bytes(key.text, sizeof(key.text), file->build_id, file->build_id_size);
    key.size = 2 * file->build_id_size;
    return key;
}

static bool has_key(const struct bat_strings *keys, const struct key *key)
{
    return key->size != 0 && bat_strings_find(keys, key->text, key->size) != BAT_NONE;
}

static bool add_key(struct bat_strings *keys, const struct key *key)
{
    uint32_t number;
    return key->size == 0 || bat_strings_add(keys, key->text, key->size, &number) == BAT_OK;
}

/* True if that path, or the same file under another one, is there already. */
static bool is_known(const struct mapped *mapped, const struct bat_mapped_file *file)
{
    struct key key = file_key(file->path);
    return bat_strings_find(&mapped->paths, file->path, strlen(file->path)) != BAT_NONE ||
           has_key(&mapped->files, &key);
}

/* --- Finding -------------------------------------------------------------------------------- */

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
    bool is_same = optional_elf_is(elf, file->build_id, file->build_id_size);
    struct bat_elf *symbols = NULL;
    *result = is_same && bat_elf_has_symbols(elf);
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
    struct key key = build_key(file);
    return has_key(&mapped->builds, &key);
}

/* *elf is the file itself without its symbols, if it is on this machine; NULL if not. */
static enum bat_code open_shipped(const struct bat_mapped_file *file, struct bat_elf **elf,
                                  struct bat_error *error)
{
    enum bat_code code = optional_elf_open(file->path, elf, error);
    if (code != BAT_OK || !*elf)
        return code;
    size_t size;
    if (bat_elf_build_id(*elf, &size) && optional_elf_is(*elf, file->build_id, file->build_id_size))
        return BAT_OK;
    bat_elf_close(*elf);
    *elf = NULL;
    return BAT_OK;
}

/* Returns true, as what is listed next may be read; mapped_find() fails at the end. */
static bool report(struct mapped *mapped, const struct bat_mapped_file *file,
                   const struct bat_error *error)
{
    mapped->request->report(file->path, error);
    mapped->has_failed = true;
    return true;
}

/*
 * Find a file in the stores; stored->file is -1 if there is none. A build-id whose size is not
 * known is padded with zeros.
 */
static enum bat_code find_stored(struct mapped *mapped, const struct bat_mapped_file *file,
                                 struct bat_stored *stored, struct bat_error *error)
{
    struct bat_elf *shipped;
    const size_t sizes[] = {file->build_id_size, 16, 8};
    *stored = bat_stored_nothing();
    BAT_TRY(open_shipped(file, &shipped, error));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && stored->file < 0; i++) {
        bool is_padding = sizes[i] <= file->build_id_size;
        for (size_t k = sizes[i]; is_padding && k < file->build_id_size; k++)
            is_padding = file->build_id[k] == 0;
        if (is_padding && bat_stores_find(mapped->request->stores, file->build_id, sizes[i],
                                          shipped, stored, error) != BAT_OK) {
            mapped->request->report(NULL, error);
            mapped->has_failed = true;
            mapped->has_stopped |= stored->is_system_full;
        }
    }
    bat_elf_close(shipped);
    return BAT_OK;
}

static bool add_item(struct mapped *mapped, const struct bat_mapped_file *file,
                     struct bat_stored stored)
{
    if (!BAT_GROW(mapped->items, mapped->count, mapped->capacity)) {
        bat_stored_close(&stored);
        return false;
    }
    struct mapped_item *item = &mapped->items[mapped->count];
    *item = (struct mapped_item){.path = strdup(file->path), .stored = stored};
    mapped->count++;
    struct key at = file_key(file->path);
    struct key build = build_key(file);
    uint32_t number;
    return item->path &&
           bat_strings_add(&mapped->paths, file->path, strlen(file->path), &number) == BAT_OK &&
           add_key(&mapped->files, &at) && add_key(&mapped->builds, &build);
}

static bool add_file(const struct bat_mapped_file *file, void *context)
{
    struct mapped *mapped = context;
    struct bat_error error;
    bool usable = false;
    if (!is_known(mapped, file) && is_usable(file, &usable, &error) != BAT_OK)
        return report(mapped, file, &error);
    if (usable)
        return add_item(mapped, file, bat_stored_nothing());
    struct bat_stored stored;
    bool may_be_stored = mapped->request->stores->count != 0 && file->build_id &&
                         file->build_id_size != 0 && file->build_id_size <= MAPPED_ID_MAX &&
                         file->path[0] == '/';
    if (!may_be_stored || is_known_build(mapped, file))
        return true;
    if (find_stored(mapped, file, &stored, &error) != BAT_OK)
        return report(mapped, file, &error);
    return !mapped->has_stopped && (stored.file < 0 || add_item(mapped, file, stored));
}

/* Report an error that is not of a file. Returns false. */
static bool fail(const struct mapped_request *request, const char *path,
                 const struct bat_error *error)
{
    request->report(path, error);
    return false;
}

bool mapped_find(struct mapped *mapped, const struct mapped_request *request)
{
    struct bat_error error;
    *mapped = (struct mapped){.request = request};
    for (size_t i = 0; i < request->profile_count; i++) {
        if (strcmp(request->profiles[i], "-") == 0) {
            bat_fail(&error, BAT_ERR_ARGUMENT,
                     "expected files for --all, which reads them twice, found standard input");
            return fail(request, NULL, &error);
        }
        if (bat_mapped_files(request->profiles[i], add_file, mapped, &error) != BAT_OK) {
            if (mapped->has_stopped)
                return false;
            /* What is wrong with it is said when it is read. */
            if (request->keep_going && error.code != BAT_ERR_MEMORY)
                continue;
            return fail(request, request->profiles[i], &error);
        }
    }
    if (mapped->has_failed || mapped->count != 0)
        return !mapped->has_failed;
    bat_fail(&error, BAT_ERR_MISMATCH,
             "expected mapped files with symbols on this machine%s, found none",
             request->stores->count != 0 ? " or in a store" : "");
    return fail(request, NULL, &error);
}
