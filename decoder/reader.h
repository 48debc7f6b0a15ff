/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The one gate through which bytes of a note are read: a cursor that never leaves the note, and
 * errors that say where it stood. Internal to the decoder.
 */
#ifndef BAT_DECODER_READER_H
#define BAT_DECODER_READER_H

#include "bat.h"

struct bat_reader {
    const uint8_t *start; /* of the section: error offsets count from here */
    const uint8_t *cursor;
    const uint8_t *end;
    const uint64_t *table; /* address of the table being read, for messages; or NULL */
    struct bat_error *error;
};

static inline size_t bat_reader_left(const struct bat_reader *reader)
{
    return (size_t)(reader->end - reader->cursor);
}

/* All of these name what they read in the error that they fill, and leave the cursor where it
 * was when they fail. */

/* Unsigned and signed LEB128, at most 64 bits, in the shortest form only (BAT.md 3). */
enum bat_code bat_reader_uleb(struct bat_reader *reader, const char *what, uint64_t *value);
enum bat_code bat_reader_sleb(struct bat_reader *reader, const char *what, int64_t *value);

/* A ULEB128 number that must fit 32 bits. */
enum bat_code bat_reader_uleb32(struct bat_reader *reader, const char *what, uint32_t *value);

/*
 * A ULEB128 count of things that take at least unit_size bytes each (0: no bytes of their own,
 * only the 32 bits of the value are checked).
 */
enum bat_code bat_reader_count(struct bat_reader *reader, const char *what, size_t unit_size,
                               uint32_t *value);

/* Eight bytes, little-endian. */
enum bat_code bat_reader_u64(struct bat_reader *reader, const char *what, uint64_t *value);

/* size bytes as they are: *bytes points into the note. */
enum bat_code bat_reader_bytes(struct bat_reader *reader, const char *what, size_t size,
                               const uint8_t **bytes);

/* Fail at the byte `at`, with the table in front of the sentence. */
enum bat_code bat_reader_fail(const struct bat_reader *reader, enum bat_code code,
                              const uint8_t *at, const char *format, ...) BAT_PRINTF(4, 5);

#endif
