/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "spec/large_memory.h"

static struct output *begin(int file)
{
    struct output *output = malloc(sizeof(*output));
    if (!output)
        return NULL;
    output->file = file;
    output->error = 0;
    output->memory = NULL;
    output->memory_size = 0;
    output->memory_capacity = 0;
    output->memory_max = SIZE_MAX;
    output->used = 0;
    return output;
}

struct output *output_begin(int file)
{
    struct output *output = begin(file);
    if (!output)
        tool_no_memory(NULL);
    return output;
}

/* --- Memory --------------------------------------------------------------------------------- */

struct output *output_begin_memory(void)
{
    return begin(OUTPUT_MEMORY);
}

void output_free(struct output *output)
{
    if (output)
        free(output->memory);
    free(output);
}

/* Make room for size bytes. False without memory, or beyond memory_max. */
static bool grow(struct output *output, size_t size)
{
    const size_t usual = 2 * size < output->memory_max ? 2 * size : output->memory_max;
    char *grown = size <= usual ? bat_large_grow(output->memory, output->memory_size, usual) : NULL;
    if (!grown)
        return false;
    output->memory = grown;
    output->memory_capacity = usual;
    return true;
}

/* Move the buffer to the memory. */
static void move(struct output *output)
{
    size_t size = output->memory_size + output->used;
    if (output->error == 0 && size > output->memory_capacity && !grow(output, size))
        output->error = ENOMEM;
    if (output->error == 0 && output->used != 0) {
        memcpy(output->memory + output->memory_size, output->buffer, output->used);
        output->memory_size = size;
    }
    output->used = 0;
}

const char *output_memory(struct output *output)
{
    move(output);
    const char *text = output->error == 0 ? output->memory : NULL;
    output->memory_size = 0;
    output->error = 0;
    return text;
}

enum tool_exit output_end_in(struct output *output, FILE *file)
{
    const size_t size = output_position(output);
    const char *text = output_memory(output);
    if (text)
        fwrite(text, 1, size, file);
    output_free(output);
    return text ? TOOL_FINE : tool_no_memory(NULL);
}

/* --- Files ---------------------------------------------------------------------------------- */

void output_flush(struct output *output)
{
    const char *at = output->buffer;
    const char *end = output->buffer + output->used;
    if (output->file == OUTPUT_MEMORY) {
        move(output);
        return;
    }
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
    output_free(output);
    if (error == 0)
        return status;
    if (error != EPIPE)
        tool_message(NULL, "standard output: %s", strerror(error));
    return TOOL_BAD;
}
