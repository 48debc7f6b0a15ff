/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "output.h"

#include "descriptors.h"
#include "spec/array.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* --- Begin ---------------------------------------------------------------------------------- */

/*
 * True if path names standard output. /dev/stdout must not be opened as a file: if standard output
 * is redirected to a file, other programs may write to it too, and it may already have content.
 */
static bool is_standard(const char *path)
{
    return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
}

static struct bat_output *new_output(const char *path, struct bat_error *error)
{
    struct bat_output *output = calloc(1, sizeof(*output));
    char *own_path = strdup(path);
    if (!output || !own_path) {
        BAT_FREE_ALL(output, own_path);
        bat_fail_memory(error, "to write a file");
        return NULL;
    }
    output->path = own_path;
    output->file = -1;
    output->replacement.file = -1;
    output->replacement.existing_file = -1;
    return output;
}

/* True if the output replaces its source. */
static bool is_in_place(const struct bat_output *output)
{
    const struct stat *source = &output->source->status;
    const struct stat *existing = &output->replacement.existing;
    return output->replacement.exists && source->st_dev == existing->st_dev &&
           source->st_ino == existing->st_ino;
}

enum bat_code output_begin_file(const char *path, const struct bat_elf *source, bool is_stored,
                                struct bat_output **output, struct bat_error *error)
{
    *output = NULL;
    struct bat_output *made = new_output(path, error);
    if (!made)
        return BAT_ERR_MEMORY;
    made->source = source;
    enum bat_code code = replacement_begin(&made->replacement, made->path,
                                           source ? source->named : -1, is_stored, error);
    /* A link may lead to another file now. */
    if (code == BAT_OK && source && strcmp(path, source->path) == 0 && !is_in_place(made))
        code = replacement_fail_changed(&made->replacement, error);
    if (code == BAT_OK && source && source->named != source->file && is_in_place(made))
        code = bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "is a packed file, which stays as it is: write to another one");
    if (code == BAT_OK)
        *output = made;
    else
        bat_output_abandon(made);
    return code;
}

enum bat_code bat_output_begin_file(const char *path, struct bat_output **output,
                                    struct bat_error *error)
{
    return output_begin_file(path, NULL, false, output, error);
}

static enum bat_code open_special(struct bat_output *output, struct bat_error *error)
{
    output->file = bat_high_descriptor(open(output->path, O_WRONLY | O_CLOEXEC));
    output->closes_file = true;
    struct stat status;
    if (output->file < 0 || fstat(output->file, &status) != 0)
        return bat_fail(error, BAT_ERR_IO, "cannot write %s: %m", output->path);
    /* The path has another file now, which is not to be written in place. */
    if (S_ISREG(status.st_mode))
        return bat_fail(error, BAT_ERR_IO, "cannot write %s: it was a pipe or a device before",
                        output->path);
    return BAT_OK;
}

enum bat_code bat_output_begin(const char *path, struct bat_output **output,
                               struct bat_error *error)
{
    *output = NULL;
    if (!is_standard(path) && !bat_is_special(path))
        return output_begin_file(path, NULL, false, output, error);
    struct bat_output *made = new_output(path, error);
    if (!made)
        return BAT_ERR_MEMORY;
    made->is_stream = true;
    made->file = STDOUT_FILENO;
    enum bat_code code = is_standard(path) ? BAT_OK : open_special(made, error);
    if (code == BAT_OK)
        *output = made;
    else
        bat_output_abandon(made);
    return code;
}

enum bat_code bat_output_begin_callback(bat_output_take_fn *take, void *context,
                                        struct bat_output **output, struct bat_error *error)
{
    *output = new_output("", error);
    if (!*output)
        return BAT_ERR_MEMORY;
    (*output)->is_stream = true;
    (*output)->take = take;
    (*output)->take_context = context;
    return BAT_OK;
}

bool bat_output_is_standard(const struct bat_output *output)
{
    return output->is_stream && output->file == STDOUT_FILENO;
}

/* --- Which file it is ------------------------------------------------------------------------ */

/* The status of the regular file that the output goes to. False if it does not exist yet. */
static bool find_file(const struct bat_output *output, struct stat *status)
{
    if (!output->is_stream) {
        *status = output->replacement.existing;
        return output->replacement.exists;
    }
    return fstat(output->file, status) == 0 && S_ISREG(status->st_mode);
}

/* A file that is written or read. */
struct used_file {
    enum { USED_FILE, USED_NEW, USED_STANDARD } kind;
    dev_t device; /* of a file that exists */
    ino_t inode;
    const char *target; /* of one that does not exist yet: its path */
    bool is_input;
    size_t index;     /* among the outputs or inputs */
    const char *path; /* as given */
};

/* Find which file an output is. False for a device or a pipe, which several may write to. */
static bool identify_output(const struct bat_output *output, struct used_file *file)
{
    struct stat status;
    *file = (struct used_file){.target = "", .path = output->path};
    if (find_file(output, &status)) {
        file->device = status.st_dev;
        file->inode = status.st_ino;
    } else if (bat_output_is_standard(output)) {
        file->kind = USED_STANDARD;
    } else {
        file->kind = USED_NEW;
        file->target = output->is_stream ? "" : output->replacement.target;
        return !output->is_stream;
    }
    return true;
}

/* Find which file an input is. False if there is none. */
static bool identify_input(const char *path, struct used_file *file)
{
    struct stat status;
    int found = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &status) : stat(path, &status);
    if (found != 0)
        return false;
    *file = (struct used_file){.device = status.st_dev,
                               .inode = status.st_ino,
                               .target = "",
                               .is_input = true,
                               .path = path};
    return true;
}

static int compare_files(const struct used_file *left, const struct used_file *right)
{
    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    if (left->device != right->device)
        return left->device < right->device ? -1 : 1;
    if (left->inode != right->inode)
        return left->inode < right->inode ? -1 : 1;
    return strcmp(left->target, right->target);
}

/* Uses of one file follow each other: outputs, then inputs, each as given. */
static int compare_uses(const void *left, const void *right)
{
    const struct used_file *a = left;
    const struct used_file *b = right;
    int order = compare_files(a, b);
    if (order == 0)
        order = a->is_input - b->is_input;
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

/*
 * Find the first output that is also another file of the list, which is sorted: *output, and
 * *other.
 */
static bool find_double_use(const struct used_file *files, size_t count,
                            const struct used_file **output, const struct used_file **other)
{
    *output = NULL;
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && compare_files(&files[i], &files[end]) == 0)
            end++;
        size_t inputs = i;
        while (inputs < end && !files[inputs].is_input)
            inputs++;
        bool is_read = inputs > i && inputs < end;
        const struct used_file *at_fault = is_read          ? &files[i]
                                           : inputs - i > 1 ? &files[i + 1]
                                                            : NULL;
        if (at_fault && (!*output || at_fault->index < (*output)->index)) {
            *output = at_fault;
            *other = is_read ? &files[inputs] : &files[i];
        }
        i = end;
    }
    return *output != NULL;
}

enum bat_code bat_outputs_check(struct bat_output *const *outputs, size_t count,
                                const char *const *inputs, size_t input_count,
                                struct bat_error *error)
{
    struct used_file *files = calloc(count + input_count + 1, sizeof(*files));
    BAT_TRY_MEMORY(files, error, "to compare files");
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        if (identify_output(outputs[i], &files[used]))
            files[used++].index = i;
    for (size_t i = 0; i < input_count; i++)
        if (inputs[i] && identify_input(inputs[i], &files[used]))
            files[used++].index = i;
    qsort(files, used, sizeof(*files), compare_uses);
    const struct used_file *output;
    const struct used_file *other;
    enum bat_code code = BAT_OK;
    if (find_double_use(files, used, &output, &other))
        code = bat_fail(error, BAT_ERR_ARGUMENT,
                        other->is_input
                            ? "cannot write %s: it is the same file as the input %s"
                            : "cannot write %s: it is the same file as %s, which is written too",
                        output->path, other->path);
    free(files);
    return code;
}

/* --- Content --------------------------------------------------------------------------------- */

/* The writer's error, or that of closing, where some file systems say that a quota is full. */
static enum bat_code fail_stream(const struct bat_output *output, struct bat_error *error)
{
    return bat_output_is_standard(output)
               ? bat_fail(error, BAT_ERR_IO, "standard output: %m")
               : bat_fail(error, BAT_ERR_IO, "cannot write %s: %m", output->path);
}

static enum bat_code write_stream(struct bat_output *output, const char *bytes, size_t size,
                                  struct bat_error *error)
{
    while (size != 0) {
        ssize_t written = write(output->file, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        /* Treat 0 as a failure too: retrying could loop for ever. */
        if (written <= 0)
            return fail_stream(output, error);
        bytes += written;
        size -= (size_t)written;
    }
    return BAT_OK;
}

enum bat_code bat_output_write(struct bat_output *output, const void *bytes, size_t size,
                               struct bat_error *error)
{
    if (output->take)
        return size == 0 || output->take(bytes, size, output->take_context)
                   ? BAT_OK
                   : bat_fail(error, BAT_ERR_IO, "writing was ended by the program");
    if (output->is_stream)
        return write_stream(output, bytes, size, error);
    enum bat_code code =
        replacement_write(&output->replacement, bytes, size, output->offset, error);
    output->offset += size;
    return code;
}

enum bat_code output_write_sparse(struct bat_output *output, const void *bytes, size_t size,
                                  struct bat_error *error)
{
    const uint8_t *from = bytes;
    if (output->take || output->is_stream)
        return bat_output_write(output, bytes, size, error);
    enum bat_code code = BAT_OK;
    size_t start = 0; /* of the bytes that are to be written */
    for (size_t at = 0; at < size && code == BAT_OK;) {
        size_t block = BAT_HOLE_BLOCK - (size_t)((output->offset + at - start) % BAT_HOLE_BLOCK);
        if (block > size - at)
            block = size - at;
        if (bat_is_zeros(from + at, block)) {
            code = bat_output_write(output, from + start, at - start, error);
            output->offset += block;
            start = at + block;
        }
        at += block;
    }
    return code ? code : bat_output_write(output, from + start, size - start, error);
}

/* --- The end --------------------------------------------------------------------------------- */

/*
 * Check that the source of a changed copy is still as it was. If the copy replaces its source, the
 * lock keeps another program that does the same from replacing it between this check and the
 * rename; closing the source ends the lock. On file systems without locks there is no protection.
 */
static enum bat_code check_source(const struct bat_output *output, struct bat_error *error)
{
    if (!output->source)
        return BAT_OK;
    if (is_in_place(output) && flock(output->source->file, LOCK_EX | LOCK_NB) != 0 &&
        errno == EWOULDBLOCK)
        return bat_fail(error, BAT_ERR_IO, "is locked: another program is changing it");
    return bat_elf_check_unchanged(output->source, error);
}

static enum bat_code end_stream(struct bat_output *output, struct bat_error *error)
{
    if (output->take)
        return BAT_OK;
    int result = output->closes_file ? close(output->file) : bat_try_close(output->file);
    output->closes_file = false;
    return result == 0 ? BAT_OK : fail_stream(output, error);
}

static enum bat_code prepare(struct bat_output *output, struct bat_error *error)
{
    if (output->is_stream)
        return end_stream(output, error);
    BAT_TRY(replacement_prepare(&output->replacement, error));
    return check_source(output, error);
}

typedef enum bat_code step_fn(struct replacement *replacement, struct bat_error *error);

/* One step after the other for all files; all are undone if one fails. */
static enum bat_code place_all(struct bat_output **outputs, size_t count, struct bat_error *error)
{
    static step_fn *const steps[] = {replacement_name, replacement_place, replacement_close};
    const char *folder = "";
    enum bat_code code = BAT_OK;
    for (size_t step = 0; step < sizeof(steps) / sizeof(steps[0]); step++)
        for (size_t i = 0; i < count && code == BAT_OK; i++)
            if (!outputs[i]->is_stream)
                code = steps[step](&outputs[i]->replacement, error);
    for (size_t i = 0; i < count && code == BAT_OK; i++)
        if (!outputs[i]->is_stream && strcmp(outputs[i]->replacement.folder, folder) != 0) {
            code = replacement_write_folder(&outputs[i]->replacement, error);
            folder = outputs[i]->replacement.folder;
        }
    for (size_t i = count; i > 0 && code != BAT_OK; i--)
        if (!outputs[i - 1]->is_stream)
            replacement_undo(&outputs[i - 1]->replacement, error);
    return code;
}

enum bat_code bat_outputs_commit(struct bat_output **outputs, size_t count, struct bat_error *error)
{
    enum bat_code code = BAT_OK;
    for (size_t i = 0; i < count && code == BAT_OK; i++)
        code = prepare(outputs[i], error);
    /* Signals wait while files have temporary names, which a killed program would leave behind. */
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    code = code ? code : place_all(outputs, count, error);
    for (size_t i = 0; i < count; i++)
        bat_output_abandon(outputs[i]);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

void bat_output_abandon(struct bat_output *output)
{
    if (!output)
        return;
    if (output->closes_file && output->file >= 0)
        close(output->file);
    if (!output->is_stream)
        replacement_discard(&output->replacement);
    BAT_FREE_ALL(output->path, output);
}

enum bat_code bat_write_file(const char *path, const void *bytes, size_t size,
                             struct bat_error *error)
{
    struct bat_output *output;
    BAT_TRY(output_begin_file(path, NULL, false, &output, error));
    enum bat_code code = bat_output_write(output, bytes, size, error);
    if (code == BAT_OK)
        return bat_outputs_commit(&output, 1, error);
    bat_output_abandon(output);
    return code;
}
