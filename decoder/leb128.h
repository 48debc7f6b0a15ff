/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reads LEB128 numbers (BAT.md 3). The careful reader checks bounds; the fast one is for places
 * where enough bytes are left. Both accept the shortest form only.
 */
#pragma once

#include <stdint.h>

#include "spec/little_endian.h"

#if defined(__GNUC__)
#define BAT_NOINLINE __attribute__((noinline))
#else
#define BAT_NOINLINE
#endif

#define BAT_LEB128_MAX 10u /* bytes of the longest number of 64 bits */

enum bat_leb128_form {
    BAT_LEB128_FINE,
    BAT_LEB128_TRUNCATED,
    BAT_LEB128_OVERLONG,
    BAT_LEB128_OVERFLOW,
};

/* Read one number from [*cursor, end); *cursor moves past it only if the form is FINE. */
static inline enum bat_leb128_form bat_uleb128_read(const uint8_t **cursor, const uint8_t *end,
                                                    uint64_t *value)
{
    const uint8_t *at = *cursor;
    uint64_t result = 0;
    for (unsigned shift = 0; at < end; shift += 7) {
        uint8_t byte = *at++;
        if (shift == 63 && byte > 1)
            return BAT_LEB128_OVERFLOW;
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        if (byte == 0 && shift != 0)
            return BAT_LEB128_OVERLONG;
        *value = result;
        *cursor = at;
        return BAT_LEB128_FINE;
    }
    return BAT_LEB128_TRUNCATED;
}

static inline enum bat_leb128_form bat_sleb128_read(const uint8_t **cursor, const uint8_t *end,
                                                    int64_t *value)
{
    const uint8_t *at = *cursor;
    uint64_t result = 0;
    uint8_t before = 0;
    for (unsigned shift = 0; at < end; shift += 7) {
        uint8_t byte = *at++;
        /* The tenth byte holds one bit of value, the sign, repeated in all seven bits. */
        if (shift == 63 && byte != 0 && byte != 0x7f)
            return BAT_LEB128_OVERFLOW;
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80) {
            before = byte;
            continue;
        }
        /* A last byte that only repeats the sign of the one before it is padding. */
        if (shift != 0 && byte == ((before & 0x40) ? 0x7f : 0x00))
            return BAT_LEB128_OVERLONG;
        if (shift < 57 && (byte & 0x40))
            result |= UINT64_MAX << (shift + 7);
        *value = (int64_t)result;
        *cursor = at;
        return BAT_LEB128_FINE;
    }
    return BAT_LEB128_TRUNCATED;
}

/* Joins the seven value bits of each of eight bytes into one number. */
static inline uint64_t bat_leb128_close_up(uint64_t word)
{
    word = (word & 0x007f007f007f007f) | ((word & 0x7f007f007f007f00) >> 1);
    word = (word & 0x00003fff00003fff) | ((word & 0x3fff00003fff0000) >> 2);
    return (word & 0x0fffffff) | ((word & 0x0fffffff00000000) >> 4);
}

/*
 * Fast readers: BAT_LEB128_MAX bytes must be readable at `at`. They return the byte after the
 * number, or NULL for a number that is not in the shortest form or exceeds 64 bits; the careful
 * reader then says what is wrong. Signed numbers beyond eight bytes are left to it too.
 */

/* A number of several bytes. Not inline: in a loop where most numbers take one byte it would take
 * registers from the common case. */
static BAT_NOINLINE const uint8_t *bat_uleb128_long(const uint8_t *at, uint64_t *value)
{
    uint64_t word = bat_load64(at);
    uint64_t stops = ~word & 0x8080808080808080;
    if (stops) {
        unsigned last = (unsigned)__builtin_ctzll(stops) >> 3;
        if (at[last] == 0)
            return NULL;
        /* Keep all bits up to the stop bit, which itself is clear in word. */
        *value = bat_leb128_close_up(word & (stops ^ (stops - 1)) & 0x7f7f7f7f7f7f7f7f);
        return at + last + 1;
    }
    uint64_t low = bat_leb128_close_up(word & 0x7f7f7f7f7f7f7f7f);
    if (at[8] < 0x80) {
        *value = low | (uint64_t)at[8] << 56;
        return at[8] ? at + 9 : NULL;
    }
    if (at[9] != 1)
        return NULL;
    *value = low | (uint64_t)(at[8] & 0x7f) << 56 | (uint64_t)1 << 63;
    return at + 10;
}

static inline const uint8_t *bat_uleb128_fast(const uint8_t *at, uint64_t *value)
{
    if (at[0] < 0x80) {
        *value = at[0];
        return at + 1;
    }
    /* A local variable, so that the caller's can stay in a register. */
    uint64_t number = 0;
    at = bat_uleb128_long(at, &number);
    *value = number;
    return at;
}

static inline const uint8_t *bat_sleb128_fast(const uint8_t *at, int64_t *value)
{
    uint64_t word = bat_load64(at);
    uint64_t stops = ~word & 0x8080808080808080;
    if (!stops)
        return NULL;
    unsigned last = (unsigned)__builtin_ctzll(stops) >> 3;
    if (last && at[last] == ((at[last - 1] & 0x40) ? 0x7f : 0x00))
        return NULL;
    uint64_t bits = bat_leb128_close_up(word & (stops ^ (stops - 1)) & 0x7f7f7f7f7f7f7f7f);
    unsigned unused = 64 - 7 * (last + 1);
    *value = (int64_t)(bits << unused) >> unused;
    return at + last + 1;
}
