/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Standard output, or a file, for hundreds of megabytes of text (support/text_writer.h). A line is
 * written by
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

#include "support/text_writer.h"
#include "tool.h"

struct output {
    struct bat_text_writer text;
    int file;
    FILE *stream;              /* not NULL: it is written to, instead */
    struct bat_output *placed; /* not NULL: a file that appears at the end, instead */
    bool is_report;            /* it appears also if the status is not TOOL_FINE */
    struct bat_error failure;  /* of placed */
    int error;                 /* errno of the first failed write, or 0 */
};

/* Begin to write to the file descriptor. NULL, with a message, if there is no memory. */
struct output *output_begin(int file);

/*
 * The same for the file path, which appears complete at the end; NULL is standard output. It must
 * be none of the inputs.
 */
struct output *output_begin_path(const char *path, const char *const *inputs, size_t input_count);

/*
 * Write the rest and free output. Returns status, or TOOL_BAD with a message if not all could be
 * written. If the reader has closed the pipe, it returns TOOL_BAD without a message.
 */
enum tool_exit output_end(struct output *output, enum tool_exit status);

/* Begin to write to a stream, whose owner sees its errors. NULL, with a message, if there is no
 * memory. */
struct output *output_begin_stream(FILE *stream);

/* Free an output of which the rest is not written. NULL is allowed. */
void output_free(struct output *output);

/* The functions of text_writer.h. */

static inline void output_flush(struct output *output)
{
    bat_text_flush(&output->text);
}

static inline void output_bytes(struct output *output, const char *bytes, size_t size)
{
    bat_text_bytes(&output->text, bytes, size);
}

static inline void output_text(struct output *output, const char *text)
{
    bat_text_string(&output->text, text);
}

static inline char *output_reserve(struct output *output, size_t size)
{
    return bat_text_room(&output->text, size);
}

static inline void output_commit(struct output *output, const char *at)
{
    bat_text_end(&output->text, at);
}

static inline void output_escaped(struct output *output, const char *text)
{
    bat_text_escaped(&output->text, text);
}

static inline void output_json_string(struct output *output, const char *text)
{
    bat_text_json(&output->text, text);
}

/* Text, a name with its control characters escaped, and text behind it. */
static inline void output_name(struct output *output, const char *before, const char *name,
                               const char *after)
{
    bat_text_name(&output->text, before, name, after);
}

/* Text, and a JSON string behind it. */
static inline void output_json_member(struct output *output, const char *before, const char *value)
{
    bat_text_member(&output->text, before, value);
}

void output_format(struct output *output, const char *format, ...) BAT_PRINTF(2, 3);

#endif
