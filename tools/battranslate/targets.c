/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "targets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elfnote/replace_file.h"
#include "spec/array.h"
#include "store/find/mapped.h"
#include "support/string_table.h"

/* --- Outputs -------------------------------------------------------------------------------- */

/* "FOLDER/NAME.EXTENSION"; NULL if there is no memory. */
static char *path_in(const char *folder, const char *binary, enum translate_format format)
{
    const char *extension = translate_formats[format].extension;
    char *path;
    return asprintf(&path, "%s/%s.%s", folder, basename(binary), extension) < 0 ? NULL : path;
}

/* The "=" of BINARY=OUT; NULL for a path alone. A file whose name has a "=" is one. */
static const char *find_separator(const char *argument)
{
    const char *first = strchr(argument, '=');
    if (!first || access(argument, F_OK) == 0)
        return NULL;
    for (const char *at = first; at; at = strchr(at + 1, '=')) {
        char *path = strndup(argument, (size_t)(at - argument));
        bool exists = path && access(path, F_OK) == 0;
        free(path);
        if (exists)
            return at;
    }
    return first;
}

/* stored is the target's from now on, or NULL. */
static enum tool_exit add_target(struct targets *targets, const struct translate_request *request,
                                 const char *argument, struct bat_stored *stored)
{
    const char *separator = request->all ? NULL : find_separator(argument);
    struct target *target = &targets->items[targets->count++];
    target->work.stored = bat_stored_nothing();
    size_t length = separator ? (size_t)(separator - argument) : strlen(argument);
    const char *folder = request->output_folder;
    target->binary = strndup(argument, length);
    if (!target->binary)
        return tool_no_memory(NULL);
    bool has_output = separator || folder;
    if (separator)
        target->output = strdup(separator + 1);
    else if (folder)
        target->output = path_in(folder, target->binary, request->format);
    if (folder && request->also_yaml)
        target->yaml = path_in(folder, target->binary, FORMAT_YAML);
    if ((has_output && !target->output) || (folder && request->also_yaml && !target->yaml))
        return tool_no_memory(NULL);
    if (separator && (length == 0 || !separator[1])) {
        tool_message(NULL, "expected a binary and its output (BINARY=OUT), found \"%s\"", argument);
        return TOOL_USAGE;
    }
    if (!has_output && !(request->output && request->format == FORMAT_PREAGG)) {
        tool_message(NULL,
                     "expected --output-dir=DIR, or an output for each binary (BINARY=OUT), found "
                     "\"%s\"",
                     argument);
        return TOOL_USAGE;
    }
    target->request = *request;
    target->request.binary = target->binary;
    target->request.output = target->output;
    target->request.yaml = target->yaml;
    target->request.is_one_of_several = true;
    target->work.arguments = &target->request;
    if (stored) {
        target->work.stored = *stored;
        *stored = bat_stored_nothing();
    }
    return TOOL_FINE;
}

static int compare_outputs(const void *left, const void *right)
{
    const struct target *const *one = left;
    const struct target *const *other = right;
    return strcmp((*one)->output, (*other)->output);
}

/* The outputs of a target get another name in the folder. */
static enum tool_exit rename_outputs(struct target *target, const char *folder, const char *name)
{
    bool has_yaml = target->yaml != NULL;
    BAT_FREE_ALL(target->output, target->yaml);
    target->output = path_in(folder, name, target->request.format);
    target->yaml = has_yaml ? path_in(folder, name, FORMAT_YAML) : NULL;
    target->request.output = target->output;
    target->request.yaml = target->yaml;
    return target->output && (target->yaml || !has_yaml) ? TOOL_FINE : tool_no_memory(NULL);
}

static enum tool_exit add_name(struct bat_strings *names, const char *name, uint32_t *number)
{
    return bat_strings_add(names, name, strlen(name), number) == BAT_OK ? TOOL_FINE
                                                                        : tool_no_memory(NULL);
}

/* "BASE-NUMBER" with the next number whose name is not taken; NULL if there is no memory. */
static char *next_name(const struct bat_strings *names, const char *base, uint32_t *number)
{
    for (;;) {
        char *name;
        if (asprintf(&name, "%s-%u", base, ++*number) < 0)
            return NULL;
        if (bat_strings_find(names, name, strlen(name)) == BAT_NONE)
            return name;
        free(name);
    }
}

/*
 * Rename the outputs of all but the first target of each name. names has the names of all targets,
 * numbers a zero for each of them.
 */
static enum tool_exit number_repeated(const struct targets *targets, const char *folder,
                                      struct bat_strings *names, uint32_t *numbers)
{
    enum tool_exit status = TOOL_FINE;
    for (size_t i = 0; i < targets->count && status == TOOL_FINE; i++) {
        struct target *target = &targets->items[i];
        const char *base = basename(target->binary);
        uint32_t *number = &numbers[bat_strings_find(names, base, strlen(base))];
        uint32_t added;
        if (*number == 0 || !target->output) {
            *number = 1;
            continue;
        }
        char *name = next_name(names, base, number);
        status = name ? add_name(names, name, &added) : tool_no_memory(NULL);
        status = status ? status : rename_outputs(target, folder, name);
        free(name);
    }
    return status;
}

/* For --all: number the outputs of files of one name, NAME-2.EXTENSION and so on. */
static enum tool_exit number_outputs(const struct targets *targets, const char *folder)
{
    struct bat_strings names = {0};
    uint32_t *numbers = calloc(targets->count + 1, sizeof(*numbers));
    enum tool_exit status = numbers ? TOOL_FINE : tool_no_memory(NULL);
    uint32_t added;
    for (size_t i = 0; i < targets->count && status == TOOL_FINE; i++)
        status = add_name(&names, basename(targets->items[i].binary), &added);
    status = status ? status : number_repeated(targets, folder, &names, numbers);
    bat_strings_free(&names);
    free(numbers);
    return status;
}

static enum tool_exit check_outputs(const struct targets *targets)
{
    const struct target **sorted = malloc((targets->count + 1) * sizeof(struct target *));
    if (!sorted)
        return tool_no_memory(NULL);
    size_t count = 0;
    for (size_t i = 0; i < targets->count; i++)
        if (targets->items[i].output)
            sorted[count++] = &targets->items[i];
    if (count > 1)
        qsort(sorted, count, sizeof(struct target *), compare_outputs);
    enum tool_exit status = TOOL_FINE;
    for (size_t i = 1; i < count && status == TOOL_FINE; i++) {
        if (strcmp(sorted[i - 1]->output, sorted[i]->output) != 0)
            continue;
        status =
            tool_message(NULL,
                         "expected an output for each binary, found %s for %s and %s: name them "
                         "(BINARY=OUT)",
                         sorted[i]->output, sorted[i - 1]->binary, sorted[i]->binary);
    }
    free(sorted);
    return status;
}

/* Make --output-dir, if it does not exist. */
static enum tool_exit make_folder(struct targets *targets, const char *folder)
{
    if (!folder || access(folder, F_OK) == 0)
        return TOOL_FINE;
    if (mkdir(folder, 0777) != 0)
        return tool_message(folder, "cannot make the folder: %s", strerror(errno));
    targets->made_folder = strdup(folder);
    if (!targets->made_folder)
        return tool_no_memory(NULL);
    if (bat_write_folder_of(folder) == 0)
        return TOOL_FINE;
    return tool_message(folder, "cannot make the folder: %s", strerror(errno));
}

/* --- All targets ---------------------------------------------------------------------------- */

enum tool_exit targets_make(struct targets *targets, const struct translate_request *request)
{
    *targets = (struct targets){0};
    struct mapped mapped = {0};
    size_t count = request->binary_count;
    enum tool_exit status = TOOL_FINE;
    if (request->all) {
        const struct mapped_request all = {.profiles = request->profiles,
                                           .profile_count = request->profile_count,
                                           .stores = &request->stores,
                                           .keep_going = request->keep_going,
                                           .report = tool_tell_error};
        status = mapped_find(&mapped, &all) ? TOOL_FINE : TOOL_BAD;
        count = mapped.count;
    }
    if (status == TOOL_FINE) {
        targets->items = calloc(count + 1, sizeof(*targets->items));
        status = targets->items ? TOOL_FINE : tool_no_memory(NULL);
    }
    for (size_t i = 0; i < count && status == TOOL_FINE; i++)
        status =
            add_target(targets, request, request->all ? mapped.items[i].path : request->binaries[i],
                       request->all ? &mapped.items[i].stored : NULL);
    if (status == TOOL_FINE && request->all && count != 0)
        status = number_outputs(targets, request->output_folder);
    status = status ? status : check_outputs(targets);
    status = status ? status : make_folder(targets, request->output_folder);
    mapped_free(&mapped);
    return status;
}

void targets_remove_folder(struct targets *targets)
{
    if (targets->made_folder)
        rmdir(targets->made_folder);
}

void targets_free(struct targets *targets)
{
    for (size_t i = 0; i < targets->count; i++) {
        struct target *target = &targets->items[i];
        work_close(&target->work);
        BAT_FREE_ALL(target->binary, target->output, target->yaml, target->original,
                     target->report);
    }
    BAT_FREE_ALL(targets->items, targets->made_folder);
    *targets = (struct targets){0};
}

/* --- Told apart ----------------------------------------------------------------------------- */

/* What tells a binary from others. */
struct identity {
    const struct target *target;
    struct stat status;
    const uint8_t *build_id;
    size_t build_id_size;
};

static int compare_ids(const void *left_pointer, const void *right_pointer)
{
    const struct identity *left = left_pointer;
    const struct identity *right = right_pointer;
    if (left->build_id_size != right->build_id_size)
        return left->build_id_size < right->build_id_size ? -1 : 1;
    if (left->build_id_size != 0)
        return memcmp(left->build_id, right->build_id, left->build_id_size);
    return strcmp(basename(left->target->binary), basename(right->target->binary));
}

static int compare_files(const void *left_pointer, const void *right_pointer)
{
    const struct stat *left = &((const struct identity *)left_pointer)->status;
    const struct stat *right = &((const struct identity *)right_pointer)->status;
    if (left->st_dev != right->st_dev)
        return left->st_dev < right->st_dev ? -1 : 1;
    return left->st_ino < right->st_ino ? -1 : left->st_ino > right->st_ino;
}

typedef int compare_fn(const void *left, const void *right);

static enum tool_exit check_different(struct identity *all, size_t count, compare_fn *compare,
                                      const char *what)
{
    qsort(all, count, sizeof(*all), compare);
    for (size_t i = 1; i < count; i++) {
        if (compare(&all[i - 1], &all[i]) != 0)
            continue;
        return tool_message(all[i].target->binary,
                            "expected binaries whose samples can be told apart, found %s %s", what,
                            all[i - 1].target->binary);
    }
    return TOOL_FINE;
}

enum tool_exit targets_check(const struct targets *targets)
{
    struct identity *all = calloc(targets->count + 1, sizeof(*all));
    if (!all)
        return tool_no_memory(NULL);
    for (size_t i = 0; i < targets->count; i++) {
        const struct target *target = &targets->items[i];
        all[i].target = target;
        all[i].build_id = bat_elf_build_id(target->work.binary.elf, &all[i].build_id_size);
        if (!all[i].build_id)
            all[i].build_id_size = 0;
        if (stat(target->binary, &all[i].status) != 0)
            all[i].status = (struct stat){.st_ino = i};
    }
    enum tool_exit status = check_different(all, targets->count, compare_files, "the same file as");
    if (status == TOOL_FINE)
        status = check_different(all, targets->count, compare_ids,
                                 "the same build-id, or without one the same name, as that of");
    free(all);
    return status;
}
