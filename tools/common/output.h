/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Standard output, or a file, for hundreds of megabytes of text: what is appended to its text.
 * Errors are kept until output_end(); after the first, nothing more is written.
 */
#pragma once

#include <stddef.h>
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
