/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Text from a file in blocks of whole lines, so that memory does not grow with the file. Internal
 * to the library.
 */
#pragma once

#include "bat_profile.h"

/* The longest line that is read, without its newline; real ones have some tens of bytes. */
#define BAT_LINE_MAX ((size_t)1 << 20)

/* A stretch of a file, or all of a stream. */
struct bat_input {
    int file;
    bool is_stream;  /* read from the current position: it cannot seek */
    uint64_t offset; /* of the next byte to read from the file */
    uint64_t stop;   /* lines that start at or behind it belong to another stretch */
    uint8_t *buffer;
    size_t capacity;
    size_t start; /* [start, end) of buffer is not returned yet */
    size_t end;
    bool at_end;           /* the file has no more bytes */
    bool skips_line;       /* the first line belongs to the stretch before */
    bool supplied_newline; /* the last newline returned is not in the file */
};

/* Prepare to read [offset, stop) of a file; with UINT64_MAX as stop, to its end. */
enum bat_code bat_input_open(struct bat_input *input, int file, bool is_stream, uint64_t offset,
                             uint64_t stop, struct bat_error *error);

/* Put bytes that were already read from a stream, fewer than BAT_LINE_MAX, before the rest. */
void bat_input_put(struct bat_input *input, const uint8_t *bytes, size_t size);

void bat_input_close(struct bat_input *input);

/*
 * Returns the next whole lines in [*text, *text + *size), at least one; *size is 0 at the end of
 * the stretch. The last byte is a newline: one is added if the file ends without. The lines are
 * valid until the next call. A stretch whose offset is not 0 begins behind the first newline at or
 * behind offset - 1. line is the number of the first of them, for errors. Fails with BAT_ERR_IO;
 * for a line longer than BAT_LINE_MAX with BAT_ERR_SYNTAX.
 */
enum bat_code bat_input_next(struct bat_input *input, uint64_t line, const uint8_t **text,
                             size_t *size, struct bat_error *error);

/*
 * Returns the next whole lines of a file or stream; size is 0 behind the last. line is the number
 * of the first one, for errors; *end is the offset behind them.
 */
enum bat_code bat_input_next_block(struct bat_input *input, const uint8_t **text, size_t *size,
                                   uint64_t line, uint64_t *end, struct bat_error *error);
