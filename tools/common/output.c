/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct output *output_begin(int file)
{
    struct output *output = malloc(sizeof(*output));
    if (!output) {
        tool_message(NULL, "not enough memory");
        return NULL;
    }
    output->file = file;
    output->error = 0;
    output->used = 0;
    return output;
}

void output_flush(struct output *output)
{
    const char *at = output->buffer;
    const char *end = output->buffer + output->used;
    output->used = 0;
    while (at < end && output->error == 0) {
        ssize_t written = write(output->file, at, (size_t)(end - at));
        if (written >= 0)
            at += written;
        else if (errno != EINTR)
            output->error = errno;
    }
}

void output_long_bytes(struct output *output, const char *bytes, size_t size)
{
    while (size != 0) {
        size_t available = OUTPUT_BUFFER_SIZE - output->used;
        size_t part = size < available ? size : available;
        memcpy(output->buffer + output->used, bytes, part);
        output->used += part;
        bytes += part;
        size -= part;
        if (size != 0)
            output_flush(output);
    }
}

void output_format(struct output *output, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = NULL;
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0) {
        output->error = ENOMEM;
        return;
    }
    output_bytes(output, text, (size_t)length);
    free(text);
}

enum tool_exit output_end(struct output *output, enum tool_exit status)
{
    output_flush(output);
    int error = output->error;
    free(output);
    if (error == 0)
        return status;
    if (error != EPIPE)
        tool_message(NULL, "standard output: %s", strerror(error));
    return TOOL_BAD;
}
