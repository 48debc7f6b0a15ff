/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Numbers and blanks in lines of text. Every line ends with a newline, so that only
 * bat_read_short_hex() needs to know where the text ends. Internal to the library.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "decoder/leb128.h"
#include "profile.h"

/* A carriage return counts as a blank, so that lines may end with CR LF. */
static inline bool bat_is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

static inline bool bat_ends_field(uint8_t byte)
{
    return bat_is_blank(byte) || byte == '\n';
}

static inline const uint8_t *bat_skip_blanks(const uint8_t *at)
{
    while (bat_is_blank(*at))
        at++;
    return at;
}

/* The value of a hexadecimal digit, above 15 for any other byte. */
static inline uint8_t bat_hex_value(uint8_t byte)
{
    static const uint8_t more_by_1[256] = {
        ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
        ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
        ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
        ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
    };
    return (uint8_t)(more_by_1[byte] - 1);
}

/* True if [text, text + text_size) is these bytes in hexadecimal. */
static inline bool bat_is_hex_of(const uint8_t *text, size_t text_size, const uint8_t *bytes,
                                 size_t size)
{
    if (text_size != 2 * size)
        return false;
    /* A character that is no digit gives more than 15, which no half of a byte equals. */
    for (size_t i = 0; i < size; i++)
        if (bat_hex_value(text[2 * i]) != bytes[i] >> 4 ||
            bat_hex_value(text[2 * i + 1]) != (bytes[i] & 15))
            return false;
    return true;
}

/* The digits of 64 bits. */
#define BAT_HEX_DIGITS 16

/* Skip the 0x with which simpleperf begins build-ids. */
static inline void bat_skip_hex_prefix(const uint8_t **at, size_t *size)
{
    if (*size < 2 || (*at)[0] != '0' || (*at)[1] != 'x')
        return;
    *at += 2;
    *size -= 2;
}

/* Read digits at *at and move it behind them. False for no digits and for more than 64 bits. */
static inline bool bat_read_hex(const uint8_t **at, uint64_t *value)
{
    const uint8_t *now = *at;
    uint64_t result = 0;
    uint64_t lost = 0;
    uint8_t digit;
    while ((digit = bat_hex_value(*now)) < 16) {
        result = result << 4 | digit;
        now++;
    }
    /* Only a longer number can have lost digits, unless they are zeros. */
    for (const uint8_t *first = *at; now - first > BAT_HEX_DIGITS; first++)
        lost |= bat_hex_value(*first);
    bool is_number = now != *at && lost == 0;
    *at = now;
    *value = result;
    return is_number;
}

/*
 * Read the 32 hexadecimal digits of a D record and move *at behind them. False, with *at at the
 * fault, for more or fewer digits.
 */
static inline bool bat_read_digest(const uint8_t **at, uint64_t digest[2])
{
    const uint8_t *now = *at;
    digest[0] = 0;
    digest[1] = 0;
    for (unsigned i = 0; i < 32; i++, now++) {
        uint8_t digit = bat_hex_value(*now);
        if (digit > 15)
            return false;
        digest[i / 16] = digest[i / 16] << 4 | digit;
    }
    if (!bat_ends_field(*now))
        return false;
    *at = now;
    return true;
}

/* The value 1 in each of eight bytes. */
#define BAT_EACH_BYTE UINT64_C(0x0101010101010101)

/*
 * The same for up to seven digits, which most addresses have, without a loop. False also for more
 * digits, and for fewer than eight bytes before end: then bat_read_hex() must be tried.
 */
static inline bool bat_read_short_hex(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    if (end - *at < 8)
        return false;
    uint64_t word = bat_load64(*at);
    /* The highest bit of each byte is set if it is no decimal digit: above 9 counted from '0'. */
    const uint64_t low_bits = 0x7f * BAT_EACH_BYTE;
    uint64_t digit = word ^ '0' * BAT_EACH_BYTE;
    uint64_t no_digit = ((digit & low_bits) + 0x76 * BAT_EACH_BYTE) | digit;
    /* ... if it is no letter, capital or not: outside 1 to 6 counted from the byte before 'a'. */
    uint64_t letter = (word | 0x20 * BAT_EACH_BYTE) ^ 0x60 * BAT_EACH_BYTE;
    uint64_t no_letter = ((letter & low_bits) + 0x79 * BAT_EACH_BYTE) | letter |
                         ~((letter & low_bits) + 0x7f * BAT_EACH_BYTE);
    uint64_t stops = no_digit & no_letter & 0x80 * BAT_EACH_BYTE;
    if (stops == 0 || (stops & 0x80) != 0)
        return false;
    unsigned bits = (unsigned)__builtin_ctzll(stops) - 7; /* eight for each digit */
    uint64_t halves = (word & 0x0f * BAT_EACH_BYTE) + 9 * (word >> 6 & BAT_EACH_BYTE);
    halves = __builtin_bswap64(halves << (64 - bits));
    halves = (halves | halves >> 4) & UINT64_C(0x00ff00ff00ff00ff);
    halves = (halves | halves >> 8) & UINT64_C(0x0000ffff0000ffff);
    *value = (halves | halves >> 16) & UINT32_MAX;
    *at += bits / 8;
    return true;
}

/* Read decimal digits; false for none. *fits is false if the number has more than 64 bits. */
static inline bool bat_read_decimal(const uint8_t **at, uint64_t *value, bool *fits)
{
    const uint8_t *now = *at;
    uint64_t result = 0;
    *fits = true;
    for (; *now >= '0' && *now <= '9'; now++) {
        uint64_t digit = *now - (uint64_t)'0';
        *fits = *fits && (result < UINT64_MAX / 10 ||
                          (result == UINT64_MAX / 10 && digit <= UINT64_MAX % 10));
        result = result * 10 + digit;
    }
    bool is_number = now != *at;
    *at = now;
    *value = result;
    return is_number;
}

/* Read the count of a record. Returns NULL, or what was expected instead of what stands at *at. */
static inline const char *bat_read_count(const uint8_t **at, uint64_t *count)
{
    const uint8_t *end = *at;
    bool fits;
    if (!bat_read_decimal(&end, count, &fits) || !bat_ends_field(*end))
        return "a decimal count";
    if (!fits || *count > BAT_COUNT_MAX)
        return "a count below 2^63";
    *at = end;
    return NULL;
}

/* --- A line --------------------------------------------------------------------------------- */

/* A line that is being read, which ends with a newline. `at` is how far it was read. */
struct bat_line {
    const struct bat_lines *lines;
    const uint8_t *start;
    const uint8_t *at;
};

static inline enum bat_code bat_line_fail(const struct bat_line *line, const uint8_t *at,
                                          const char *expected)
{
    return bat_lines_fail(line->lines, line->start, at, expected);
}

/* Returns BAT_OK, or fails with the error of bat_counts_add(). */
static inline enum bat_code bat_line_fail_add(const struct bat_line *line, enum bat_code code)
{
    return code == BAT_OK ? BAT_OK : bat_lines_fail_add(line->lines, code);
}

static inline void bat_line_skip_blanks(struct bat_line *line)
{
    line->at = bat_skip_blanks(line->at);
}

/* Skip this text if it comes next; false if it does not. */
static inline bool bat_line_skip(struct bat_line *line, const char *text)
{
    size_t size = strlen(text);
    /* A newline ends the line and is in no such text, so this never reads behind the line. */
    if (strncmp((const char *)line->at, text, size) != 0)
        return false;
    line->at += size;
    return true;
}

/* Skip blanks and read a count. */
static inline enum bat_code bat_line_count(struct bat_line *line, uint64_t *count)
{
    bat_line_skip_blanks(line);
    const char *expected = bat_read_count(&line->at, count);
    return expected ? bat_line_fail(line, line->at, expected) : BAT_OK;
}

/* Skip blanks, behind which the line must end. */
static inline enum bat_code bat_line_end(struct bat_line *line)
{
    bat_line_skip_blanks(line);
    return *line->at == '\n' ? BAT_OK : bat_line_fail(line, line->at, "the end of the line");
}
