/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Standard output for hundreds of megabytes of text: a buffer, write(2), and numbers formatted
 * without printf. A line is written by
 *
 *     char *at = output_reserve(output, enough bytes);
 *     at = bat_put_text(at, "0x");
 *     at = bat_put_hex(at, address);
 *     output_commit(output, at);
 *
 * Errors are kept until output_end(); after the first, nothing more is written.
 */
#ifndef BAT_OUTPUT_H
#define BAT_OUTPUT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "support/text_writer.h"
#include "tool.h"

#define OUTPUT_BUFFER_SIZE ((size_t)128 << 10)

/* At most this many bytes may be reserved at once. */
#define OUTPUT_RESERVE_MAX ((size_t)4 << 10)

#define OUTPUT_MEMORY (-1)

struct output {
    int file;  /* OUTPUT_MEMORY: what the buffer cannot hold goes to memory */
    int error; /* errno of the first failed write, or 0 */
    char *memory;
    size_t memory_size;
    size_t memory_capacity;
    size_t memory_max; /* SIZE_MAX, or what the owner sets */
    size_t used;
    char buffer[OUTPUT_BUFFER_SIZE + BAT_PUT_SLACK];
};

/* Begin to write to the file descriptor. NULL, with a message, if there is no memory. */
struct output *output_begin(int file);

/*
 * Write the rest and free output. Returns status, or TOOL_BAD with a message if not all could be
 * written. If the reader has closed the pipe, it returns TOOL_BAD without a message.
 */
enum tool_exit output_end(struct output *output, enum tool_exit status);

/*
 * Begin to collect text in memory. NULL, without a message, if there is no memory. Without memory
 * for more text, or beyond memory_max, error becomes ENOMEM. Free it with output_free(); NULL is
 * allowed.
 */
struct output *output_begin_memory(void);
void output_free(struct output *output);

/*
 * The text that was collected in memory, or NULL if there was not enough memory. It is valid until
 * the next output; this starts with an empty text.
 */
const char *output_memory(struct output *output);

/* Write the text that was collected in memory to file, and free output. TOOL_BAD, with a message,
 * if there was not enough memory. */
enum tool_exit output_end_in(struct output *output, FILE *file);

/* How long the text in memory is up to now. */
static inline size_t output_position(const struct output *output)
{
    return output->memory_size + output->used;
}

/* Write out the buffer. */
void output_flush(struct output *output);

/* Any number of bytes; output_long_bytes() if they do not fit into the buffer. */
void output_long_bytes(struct output *output, const char *bytes, size_t size);

static inline void output_bytes(struct output *output, const char *bytes, size_t size)
{
    if (size > OUTPUT_BUFFER_SIZE - output->used) {
        output_long_bytes(output, bytes, size);
        return;
    }
    memcpy(output->buffer + output->used, bytes, size);
    output->used += size;
}

static inline void output_text(struct output *output, const char *text)
{
    output_bytes(output, text, strlen(text));
}

/* Formatted text. Too slow for text that each entry has. */
void output_format(struct output *output, const char *format, ...) BAT_PRINTF(2, 3);

/* Returns where to put the next size (at most OUTPUT_RESERVE_MAX) bytes. */
static inline char *output_reserve(struct output *output, size_t size)
{
    if (OUTPUT_BUFFER_SIZE - output->used < size)
        output_flush(output);
    return output->buffer + output->used;
}

/* Add the bytes that were put before `at` to the output. */
static inline void output_commit(struct output *output, const char *at)
{
    output->used = (size_t)(at - output->buffer);
}

/* text with control characters as "\x1b" (escape_controls.h): a name cannot control a terminal. */
void output_escaped(struct output *output, const char *text);

/*
 * text as a JSON string, quotes included. Each byte that is not part of a UTF-8 character becomes
 * U+FFFD.
 */
void output_json_string(struct output *output, const char *text);

#endif
