/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "symbolize_text.h"

#include <stdlib.h>
#include <string.h>

#include "spec/array.h"
#include "stacks/symbolizer.h"
#include "support/string_table.h"

struct opened_file {
    char *path;
    struct bat_symbolizer *symbolizer; /* NULL if it could not be opened */
    struct bat_error error;            /* why */
};

struct symbolize_files {
    const struct bat_symbolize_options *options;
    const struct bat_symbolizer_options *binary;
    struct bat_symbolizer *given;
    struct bat_stored stored; /* the whole of given; open, because other threads open it again */
    struct bat_strings names; /* of others, with their numbers */
    struct opened_file *others;
    size_t count;
    size_t capacity;
};

/* Tell why a store's file cannot be used, which is not the file that is named. */
static enum bat_code fail_store(const struct bat_symbolize_options *options,
                                struct bat_error *error)
{
    char text[BAT_MESSAGE_SIZE + 64];
    bat_error_text(error, text, sizeof(text));
    if (options->tell)
        options->tell(NULL, text, options->context);
    return bat_fail(error, BAT_ERR_IO, "the store's file cannot be used");
}

/* Open a file, or for a shipped one its whole by the shipped one's name. stored is the whole, which
 * the caller closes. */
static enum bat_code open_whole(const struct symbolize_files *files, const char *path,
                                const struct bat_symbolizer_options *options,
                                struct bat_stored *stored, struct bat_symbolizer **symbolizer,
                                struct bat_error *error)
{
    *symbolizer = NULL;
    *stored = bat_stored_nothing();
    const struct bat_stores *stores = files->options->stores;
    if (stores && bat_stores_find_whole(stores, path, stored, error) != BAT_OK)
        return fail_store(files->options, error);
    enum bat_code code =
        bat_symbolizer_open(bat_stored_or(stored, path), options, symbolizer, error);
    if (code == BAT_OK && stored->file >= 0)
        code = bat_symbolizer_rename(*symbolizer, path, error);
    if (code == BAT_OK)
        return BAT_OK;
    bat_symbolizer_close(*symbolizer);
    *symbolizer = NULL;
    return code;
}

enum bat_code symbolize_files_open(const struct bat_symbolize_options *options,
                                   const struct bat_symbolizer_options *binary,
                                   struct symbolize_files **files, struct bat_error *error)
{
    struct symbolize_files *opened = calloc(1, sizeof(*opened));
    *files = opened;
    BAT_TRY_MEMORY(opened, error, "for files");
    opened->options = options;
    opened->binary = binary;
    opened->stored = bat_stored_nothing();
    if (!options->path)
        return BAT_OK;
    return open_whole(opened, options->path, binary, &opened->stored, &opened->given, error);
}

void symbolize_files_close(struct symbolize_files *files)
{
    if (!files)
        return;
    for (size_t i = 0; i < files->count; i++) {
        bat_symbolizer_close(files->others[i].symbolizer);
        free(files->others[i].path);
    }
    free(files->others);
    bat_strings_free(&files->names);
    bat_symbolizer_close(files->given);
    bat_stored_close(&files->stored);
    free(files);
}

struct bat_symbolizer *symbolize_files_given(const struct symbolize_files *files)
{
    return files->given;
}

/* Open a file that a text names. */
static void open_other(struct symbolize_files *files, struct opened_file *other)
{
    /* The original and the debug file of the given binary are not those of others. */
    struct bat_symbolizer_options plain = {.size = sizeof(plain),
                                           .demangle = files->binary->demangle};
    const struct bat_symbolizer_options *options = files->given ? &plain : files->binary;
    struct bat_stored stored;
    enum bat_code code =
        open_whole(files, other->path, options, &stored, &other->symbolizer, &other->error);
    bat_stored_close(&stored);
    /* A library beside the BOLTed program has no note. */
    if (code == BAT_OK || !options->original || other->error.code != BAT_ERR_NO_NOTE)
        return;
    open_whole(files, other->path, &plain, &stored, &other->symbolizer, &other->error);
    bat_stored_close(&stored);
}

/* Add a file that is not open yet; NULL if there is no memory. */
static struct opened_file *add_other(struct symbolize_files *files, struct bat_slice module)
{
    if (!BAT_GROW(files->others, files->count, files->capacity))
        return NULL;
    char *path = strndup(module.text, module.length);
    uint32_t number;
    if (!path || bat_strings_add(&files->names, module.text, module.length, &number) != BAT_OK) {
        free(path);
        return NULL;
    }
    files->others[files->count] = (struct opened_file){.path = path};
    return &files->others[files->count++];
}

struct bat_symbolizer *symbolize_files_find(struct symbolize_files *files, struct bat_slice module,
                                            struct bat_error *error)
{
    if (files->given && bat_symbolizer_is(files->given, module))
        return files->given;
    uint32_t number = bat_strings_find(&files->names, module.text, module.length);
    struct opened_file *other = number == BAT_NONE ? NULL : &files->others[number];
    if (!other) {
        other = add_other(files, module);
        if (!other) {
            bat_fail_memory(error, "for the files that are named");
            return NULL;
        }
        open_other(files, other);
    }
    *error = other->error;
    return other->symbolizer;
}

const char *symbolize_files_at(const struct symbolize_files *files, size_t i,
                               const struct bat_symbolizer **symbolizer, struct bat_error *error)
{
    if (i == 0 && files->given) {
        *symbolizer = files->given;
        return files->options->path;
    }
    i -= files->given != NULL;
    if (i >= files->count)
        return NULL;
    *symbolizer = files->others[i].symbolizer;
    if (error)
        *error = files->others[i].error;
    return files->others[i].path;
}
