/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "mapped.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bat_profile.h"
#include "separate_symbols.h"

void mapped_free(struct mapped *mapped)
{
    for (size_t i = 0; i < mapped->count; i++)
        free(mapped->paths[i]);
    free(mapped->paths);
    *mapped = (struct mapped){0};
}

/* True if that path, or the same file under another one, is there already. */
static bool is_known(const struct mapped *mapped, const struct bat_mapped_file *file)
{
    for (size_t i = 0; i < mapped->count; i++) {
        struct stat known;
        struct stat status;
        if (strcmp(mapped->paths[i], file->path) == 0 ||
            (stat(mapped->paths[i], &known) == 0 && stat(file->path, &status) == 0 &&
             known.st_dev == status.st_dev && known.st_ino == status.st_ino))
            return true;
    }
    return false;
}

static bool has_some_symbols(const char *path, const struct bat_elf *elf)
{
    if (has_symbols(elf))
        return true;
    struct bat_elf *symbols = separate_symbols_open(path, NULL);
    bat_elf_close(symbols);
    return symbols != NULL;
}

/* True if this machine has that file, with symbols. Other builds of it are left out. */
static bool is_usable(const struct bat_mapped_file *file)
{
    struct bat_elf *elf;
    if (file->path[0] != '/' || bat_elf_open(file->path, &elf, NULL) != BAT_OK)
        return false;
    size_t size;
    const uint8_t *build_id = bat_elf_build_id(elf, &size);
    /* A build-id whose size is not known is padded with zeros. */
    bool is_same = !build_id || file->build_id_size == 0 ||
                   (size <= file->build_id_size && memcmp(build_id, file->build_id, size) == 0);
    bool is_fine = is_same && has_some_symbols(file->path, elf);
    bat_elf_close(elf);
    return is_fine;
}

static bool add_file(const struct bat_mapped_file *file, void *context)
{
    struct mapped *mapped = context;
    if (is_known(mapped, file) || !is_usable(file))
        return true;
    if (mapped->count == mapped->capacity) {
        size_t capacity = mapped->capacity ? mapped->capacity * 2 : 32;
        char **paths = realloc(mapped->paths, capacity * sizeof(*paths));
        if (!paths)
            return false;
        mapped->paths = paths;
        mapped->capacity = capacity;
    }
    mapped->paths[mapped->count] = strdup(file->path);
    if (!mapped->paths[mapped->count])
        return false;
    mapped->count++;
    return true;
}

enum tool_exit mapped_find(struct mapped *mapped, const struct translate_request *request)
{
    *mapped = (struct mapped){0};
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
    if (mapped->count != 0)
        return TOOL_FINE;
    tool_message(NULL, "expected mapped files with symbols on this machine, found none");
    return TOOL_BAD;
}
