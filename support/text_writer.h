/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Buffered text output. Internal to the library. */
#pragma once

#include <endian.h>
#include <string.h>

#include "bat.h"
#include "bat_output.h"
#include "spec/hex_bytes.h"

#define BAT_TEXT_BUFFER ((size_t)1 << 18)

/* Errors are kept until bat_text_finish(). */
struct bat_text_writer {
    struct bat_output *output;
    char *buffer;
    size_t used;
    enum bat_code code;
    struct bat_error *error;
    /* Not NULL: called with context before anything goes to output, which waits for it. If it
       fails, nothing goes there. */
    enum bat_code (*before_output)(void *context);
    void *context;
};

/* Begin to append to output, which stays the caller's. After success bat_text_finish() must follow.
 */
enum bat_code bat_text_begin(struct bat_text_writer *writer, struct bat_output *output,
                             struct bat_error *error);

/*
 * Write the rest of the buffer if code is BAT_OK, and free the buffer. Returns code, or else the
 * first error of the writer.
 */
enum bat_code bat_text_finish(struct bat_text_writer *writer, enum bat_code code);

void bat_text_flush(struct bat_text_writer *writer);

/* Space for size bytes, at most BAT_TEXT_BUFFER. bat_text_end() appends what was put there. */
static inline char *bat_text_room(struct bat_text_writer *writer, size_t size)
{
    if (BAT_TEXT_BUFFER - writer->used < size)
        bat_text_flush(writer);
    return writer->buffer + writer->used;
}

static inline void bat_text_end(struct bat_text_writer *writer, const char *at)
{
    writer->used = (size_t)(at - writer->buffer);
}

/* Append any number of bytes: bat_text_long() if the buffer has no room for them. */
void bat_text_long(struct bat_text_writer *writer, const char *bytes, size_t size);

static inline void bat_text_bytes(struct bat_text_writer *writer, const char *bytes, size_t size)
{
    if (size > BAT_TEXT_BUFFER - writer->used) {
        bat_text_long(writer, bytes, size);
        return;
    }
    memcpy(writer->buffer + writer->used, bytes, size);
    writer->used += size;
}

/*
 * How many of the size bytes of text to write at once: at most `most`, which is at least 4, without
 * cutting a UTF-8 character.
 */
size_t bat_text_part(const char *text, size_t size, size_t most);

/* Append a C string of any length with its control characters escaped. */
void bat_text_escaped(struct bat_text_writer *writer, const char *string);

/* The same for a string that is read back as one word: blanks become underscores. */
void bat_text_word(struct bat_text_writer *writer, const char *string);

static inline void bat_text_string(struct bat_text_writer *writer, const char *string)
{
    bat_text_bytes(writer, string, strlen(string));
}

/* Append formatted text of any length. Too slow for text that each of many records has. */
void bat_text_format(struct bat_text_writer *writer, const char *format, ...) BAT_PRINTF(2, 3);

/*
 * Append a C string as a JSON string, quotes included. Each byte that is not part of a UTF-8
 * character becomes U+FFFD.
 */
void bat_text_json(struct bat_text_writer *writer, const char *string);

/* Text, a name with its control characters escaped, and text behind it. */
static inline void bat_text_name(struct bat_text_writer *writer, const char *before,
                                 const char *name, const char *after)
{
    bat_text_string(writer, before);
    bat_text_escaped(writer, name);
    bat_text_string(writer, after);
}

/* Text, and a JSON string behind it. */
static inline void bat_text_member(struct bat_text_writer *writer, const char *before,
                                   const char *value)
{
    bat_text_string(writer, before);
    bat_text_json(writer, value);
}

/*
 * Put text or a number at `at`, which has room for it (20 bytes for a number); return the end. They
 * may write BAT_PUT_SLACK bytes behind it: what bat_text_room() returns has these besides.
 */
#define BAT_PUT_SLACK 16u

/* A literal takes only a move or two. */
static inline char *bat_put_text(char *at, const char *text)
{
    return (char *)mempcpy(at, text, strlen(text));
}

/* Eight hexadecimal digits, the first in the lowest byte in memory. */
static inline uint64_t bat_hex_digits(uint32_t value)
{
    /* Spread the digits to a byte each, then convert all to characters at once. */
    uint64_t digits = value;
    digits = (digits | digits << 16) & 0x0000ffff0000ffff;
    digits = (digits | digits << 8) & 0x00ff00ff00ff00ff;
    digits = (digits | digits << 4) & 0x0f0f0f0f0f0f0f0f;
    uint64_t letters = (digits + 0x0606060606060606) >> 4 & 0x0101010101010101;
    return htobe64(digits + 0x3030303030303030 + letters * ('a' - '9' - 1));
}

/* value in lower case hexadecimal digits, at least one, without leading zeros. */
static inline char *bat_put_hex32(char *at, uint32_t value)
{
    unsigned unused = (unsigned)__builtin_clz(value | 1) / 4;
    uint64_t text = bat_hex_digits(value << 4 * unused);
    memcpy(at, &text, sizeof(text));
    return at + 8 - unused;
}

static inline char *bat_put_hex(char *at, uint64_t value)
{
    if (value <= UINT32_MAX)
        return bat_put_hex32(at, (uint32_t)value);
    unsigned unused = (unsigned)__builtin_clzll(value | 1) / 4;
    value <<= 4 * unused;
    uint64_t high = bat_hex_digits((uint32_t)(value >> 32));
    uint64_t low = bat_hex_digits((uint32_t)value);
    memcpy(at, &high, sizeof(high));
    memcpy(at + 8, &low, sizeof(low));
    return at + 16 - unused;
}

static inline char *bat_put_upper_hex(char *at, uint64_t value)
{
    char *end = bat_put_hex(at, value);
    for (; at < end; at++)
        *at = (char)(*at >= 'a' ? *at - 'a' + 'A' : *at);
    return end;
}

/* How many decimal digits a number has. */
static inline size_t bat_decimal_size(uint64_t value)
{
    size_t size = 1;
    for (uint64_t limit = 10; size < 20 && value >= limit; limit *= 10)
        size++;
    return size;
}

static inline char *bat_put_decimal(char *at, uint64_t value)
{
    static const char pairs[] = "0001020304050607080910111213141516171819"
                                "2021222324252627282930313233343536373839"
                                "4041424344454647484950515253545556575859"
                                "6061626364656667686970717273747576777879"
                                "8081828384858687888990919293949596979899";
    if (value < 10) {
        *at = (char)('0' + value);
        return at + 1;
    }
    char *end = at + bat_decimal_size(value);
    char *to = end;
    for (; value >= 100; value /= 100)
        memcpy(to -= 2, &pairs[value % 100 * 2], 2);
    if (value >= 10)
        memcpy(at, &pairs[value * 2], 2);
    else
        *at = (char)('0' + value);
    return end;
}

/* Two hexadecimal digits for each byte. */
static inline void bat_text_hex_bytes(struct bat_text_writer *writer, const uint8_t *bytes,
                                      size_t size)
{
    for (size_t i = 0; i < size; i++)
        bat_text_end(writer, bat_hex_bytes(bat_text_room(writer, 3), 3, bytes + i, 1));
}

static inline void bat_text_decimal(struct bat_text_writer *writer, uint64_t value)
{
    bat_text_end(writer, bat_put_decimal(bat_text_room(writer, 24), value));
}
