/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reads DWARF's bytes in sequence. Most of the time of reading debug information is spent here, so
 * that the functions are inline. Internal to debuginfo/.
 */
#pragma once

#include <string.h>

#include "support/dwarf_numbers.h"

/* A position in bytes that are read in sequence. */
struct line_reader {
    const uint8_t *at;
    const uint8_t *end;
    bool is_64_bit; /* offsets take 8 bytes, not 4 */
    bool failed;    /* a read went beyond the end; all later reads return 0 */
};

/* The number in the size bytes at a place; at most 8 count. The caller checks that they are there.
 */
static inline uint64_t line_fixed_at(const uint8_t *at, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size && i < 8; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static inline uint64_t line_read_fixed(struct line_reader *reader, size_t size)
{
    if (reader->failed || (size_t)(reader->end - reader->at) < size) {
        reader->failed = true;
        return 0;
    }
    const uint64_t value = line_fixed_at(reader->at, size);
    reader->at += size;
    return value;
}

/* As dwarf_read_leb128() reads a number without sign. Most take a byte. */
static inline bool line_leb128(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    if (*at < end && **at < 0x80) {
        *value = *(*at)++;
        return true;
    }
    return dwarf_read_leb128(at, end, false, value);
}

static inline uint64_t line_read_leb128(struct line_reader *reader)
{
    uint64_t value = 0;
    if (!reader->failed)
        reader->failed = !line_leb128(&reader->at, reader->end, &value);
    return value;
}

static inline int64_t line_read_signed_leb128(struct line_reader *reader)
{
    uint64_t value = 0;
    if (!reader->failed)
        reader->failed = !dwarf_read_leb128(&reader->at, reader->end, true, &value);
    return (int64_t)value;
}

static inline const char *line_read_string(struct line_reader *reader)
{
    const uint8_t *start = reader->at;
    const uint8_t *end =
        reader->failed ? NULL
                       : (const uint8_t *)memchr(start, 0, (size_t)(reader->end - reader->at));
    if (!end) {
        reader->failed = true;
        return "";
    }
    reader->at = end + 1;
    return (const char *)start;
}

static inline void line_read_skip(struct line_reader *reader, uint64_t size)
{
    if (reader->failed || (uint64_t)(reader->end - reader->at) < size)
        reader->failed = true;
    else
        reader->at += size;
}

static inline uint64_t line_read_offset(struct line_reader *reader)
{
    return line_read_fixed(reader, reader->is_64_bit ? 8 : 4);
}
