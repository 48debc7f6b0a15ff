/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* bat_output_take_fn */
static bool take(const void *bytes, size_t size, void *context)
{
    struct output *output = context;
    if (output->placed) {
        const bool is_fine =
            bat_output_write(output->placed, bytes, size, &output->failure) == BAT_OK;
        output->error = is_fine ? 0 : EIO;
        return is_fine;
    }
    if (output->stream) {
        fwrite(bytes, 1, size, output->stream); /* its owner sees its errors */
        return true;
    }
    while (size != 0) {
        ssize_t written = write(output->file, bytes, size);
        if (written < 0 && errno != EINTR) {
            output->error = errno;
            return false;
        }
        bytes = (const char *)bytes + (written > 0 ? written : 0);
        size -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

struct output *output_begin(int file)
{
    struct output *output = malloc(sizeof(*output));
    struct bat_output *taking = NULL;
    if (output && bat_output_begin_callback(take, output, &taking, NULL) == BAT_OK) {
        *output = (struct output){.file = file};
        if (bat_text_begin(&output->text, taking, NULL) == BAT_OK)
            return output;
    }
    bat_output_abandon(taking);
    free(output);
    tool_no_memory(NULL);
    return NULL;
}

struct output *output_begin_path(const char *path, const char *const *inputs, size_t input_count)
{
    if (!path)
        return output_begin(STDOUT_FILENO);
    struct bat_output *placed;
    struct bat_error error;
    if (bat_output_begin(path, &placed, &error) != BAT_OK) {
        tool_report(NULL, &error);
        return NULL;
    }
    struct output *output = NULL;
    if (bat_outputs_check(&placed, 1, inputs, input_count, &error) != BAT_OK)
        tool_report(NULL, &error);
    else
        output = output_begin(-1);
    if (output)
        output->placed = placed;
    else
        bat_output_abandon(placed);
    return output;
}

struct output *output_begin_stream(FILE *stream)
{
    struct output *output = output_begin(-1);
    if (output)
        output->stream = stream;
    return output;
}

void output_free(struct output *output)
{
    if (!output)
        return;
    bat_text_finish(&output->text, BAT_ERR_IO); /* what is left is not written */
    bat_output_abandon(output->text.output);
    bat_output_abandon(output->placed);
    free(output);
}

/* Put the file in place, if all is well so far. */
static enum tool_exit end_placed(struct output *output, enum tool_exit status)
{
    struct bat_output *placed = output->placed;
    struct bat_error failure = output->failure;
    const bool is_fine = output->text.code == BAT_OK && output->error == 0;
    const bool is_wanted = status == TOOL_FINE || output->is_report;
    const bool has_failed = output->error != 0;
    output->placed = NULL;
    output_free(output);
    if (is_fine && is_wanted) {
        BAT_TRY(tool_commit(NULL, &placed, 1));
        return status;
    }
    bat_output_abandon(placed);
    if (is_fine)
        return status;
    return has_failed ? tool_report(NULL, &failure) : tool_no_memory(NULL);
}

enum tool_exit output_end(struct output *output, enum tool_exit status)
{
    bat_text_flush(&output->text);
    if (output->placed)
        return end_placed(output, status);
    const bool is_fine = output->text.code == BAT_OK && output->error == 0;
    const int error = output->error ? output->error : ENOMEM;
    output_free(output);
    if (is_fine)
        return status;
    if (error != EPIPE)
        tool_message(NULL, "standard output: %s", strerror(error));
    return TOOL_BAD;
}
