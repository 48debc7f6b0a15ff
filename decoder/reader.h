/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * All bytes of a note are read through this reader: its cursor never leaves the note, and its
 * errors say where the cursor was. Internal to the decoder.
 */
#pragma once

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

/*
 * On failure, all of these leave the cursor where it was and fill the reader's error; `what` names
 * the field in the message.
 */

/* Signed LEB128, at most 64 bits, in the shortest form only (BAT.md 3). */
enum bat_code bat_reader_sleb(struct bat_reader *reader, const char *what, int64_t *value);

/* The slow path of the three inline functions below, which read numbers of one byte themselves:
 * most numbers of a table's header take one byte. */
enum bat_code bat_reader_uleb_long(struct bat_reader *reader, const char *what, uint64_t *value);
enum bat_code bat_reader_uleb32_long(struct bat_reader *reader, const char *what, uint32_t *value);
enum bat_code bat_reader_count_long(struct bat_reader *reader, const char *what, size_t unit_size,
                                    uint32_t *value);

/* Read a ULEB128 number of one byte. False, the cursor unmoved, if the next one is longer. */
static inline bool bat_reader_byte(struct bat_reader *reader, uint8_t *value)
{
    if (reader->cursor == reader->end || *reader->cursor >= 0x80)
        return false;
    *value = *reader->cursor++;
    return true;
}

/* Unsigned LEB128, at most 64 bits, in the shortest form only (BAT.md 3). */
static inline enum bat_code bat_reader_uleb(struct bat_reader *reader, const char *what,
                                            uint64_t *value)
{
    uint8_t byte;
    if (!bat_reader_byte(reader, &byte))
        return bat_reader_uleb_long(reader, what, value);
    *value = byte;
    return BAT_OK;
}

/* A ULEB128 number that must fit 32 bits. */
static inline enum bat_code bat_reader_uleb32(struct bat_reader *reader, const char *what,
                                              uint32_t *value)
{
    uint8_t byte;
    if (!bat_reader_byte(reader, &byte))
        return bat_reader_uleb32_long(reader, what, value);
    *value = byte;
    return BAT_OK;
}

/*
 * A ULEB128 count of elements that take at least unit_size bytes each; the bytes left must be able
 * to hold them. With unit_size 0 the count only has to be below BAT_NONE.
 */
static inline enum bat_code bat_reader_count(struct bat_reader *reader, const char *what,
                                             size_t unit_size, uint32_t *value)
{
    const uint8_t *at = reader->cursor;
    uint8_t byte;
    if (bat_reader_byte(reader, &byte)) {
        if (byte * unit_size <= bat_reader_left(reader)) {
            *value = byte;
            return BAT_OK;
        }
        reader->cursor = at;
    }
    return bat_reader_count_long(reader, what, unit_size, value);
}

/* Eight bytes, little-endian. */
enum bat_code bat_reader_u64(struct bat_reader *reader, const char *what, uint64_t *value);

/* size bytes, not copied: *bytes points into the note. */
enum bat_code bat_reader_bytes(struct bat_reader *reader, const char *what, size_t size,
                               const uint8_t **bytes);

/* Fail at the byte `at`. The message starts with the address of the table being read, if any. */
enum bat_code bat_reader_fail(const struct bat_reader *reader, enum bat_code code,
                              const uint8_t *at, const char *format, ...) BAT_PRINTF(4, 5);
