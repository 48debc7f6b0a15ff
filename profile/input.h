/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Text from a file in blocks of whole lines, so that memory does not grow with the file. Internal
 * to the library.
 */
#ifndef BAT_PROFILE_INPUT_H
#define BAT_PROFILE_INPUT_H

#include "bat_profile.h"

/* The longest line that is read, without its newline; real ones have some tens of bytes. */
#define BAT_LINE_MAX ((size_t)1 << 20)

/* A stretch of a file, or all of a stream. */
struct bat_input {
    int file;
    bool is_stream;  /* no position: read on from where it is */
    uint64_t offset; /* of the next byte to read from the file */
    uint64_t stop;   /* lines that start at or behind it belong to another stretch */
    uint8_t *buffer;
    size_t capacity;
    size_t start; /* of what is not yet given out, in buffer */
    size_t end;
    bool at_end;           /* the file has no more bytes */
    bool skips_line;       /* the first line belongs to the stretch before */
    bool supplied_newline; /* the last newline that was given out is not the file's */
};

/* Prepare for [offset, stop) of a file; UINT64_MAX as stop for all of it. */
enum bat_code bat_input_open(struct bat_input *input, int file, bool is_stream, uint64_t offset,
                             uint64_t stop, struct bat_error *error);

/* Bytes that were read from a stream already, less than BAT_LINE_MAX: they come first. */
void bat_input_put(struct bat_input *input, const uint8_t *bytes, size_t size);

void bat_input_close(struct bat_input *input);

/*
 * The next whole lines, at least one, [*text, *text + *size), the last byte being a newline (one
 * is supplied where the file ends without); *size 0 at the end of the stretch. They are valid
 * until the next call. A stretch that does not begin at 0 begins behind the first newline at or
 * behind offset - 1. Fails with BAT_ERR_IO, or with BAT_ERR_SYNTAX, without a place, for a line
 * beyond BAT_LINE_MAX.
 */
enum bat_code bat_input_next(struct bat_input *input, const uint8_t **text, size_t *size,
                             struct bat_error *error);

#endif
