/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Numbers and blanks in lines of text. Every line ends with a newline, so that nothing here needs
 * to ask where the text ends. Internal to the library.
 */
#ifndef BAT_PROFILE_TEXT_FIELDS_H
#define BAT_PROFILE_TEXT_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

/* A carriage return counts as a blank, so that lines may end as DOS has them. */
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
    static const uint8_t values[256] = {
        ['0'] = 0x10, ['1'] = 0x11, ['2'] = 0x12, ['3'] = 0x13, ['4'] = 0x14, ['5'] = 0x15,
        ['6'] = 0x16, ['7'] = 0x17, ['8'] = 0x18, ['9'] = 0x19, ['a'] = 0x1a, ['b'] = 0x1b,
        ['c'] = 0x1c, ['d'] = 0x1d, ['e'] = 0x1e, ['f'] = 0x1f, ['A'] = 0x1a, ['B'] = 0x1b,
        ['C'] = 0x1c, ['D'] = 0x1d, ['E'] = 0x1e, ['F'] = 0x1f,
    };
    /* Bytes that are no digits have 0 in the table and come out as 0x10 and more. */
    return values[byte] ^ 0x10;
}

/* Digits at *at, which moves behind them; false if there are none or more than 64 bits of them. */
static inline bool bat_read_hex(const uint8_t **at, uint64_t *value)
{
    const uint8_t *now = *at;
    uint64_t result = 0;
    uint64_t lost = 0;
    uint8_t digit;
    while ((digit = bat_hex_value(*now)) < 16) {
        lost |= result >> 60;
        result = result << 4 | digit;
        now++;
    }
    bool fine = now != *at && lost == 0;
    *at = now;
    *value = result;
    return fine;
}

/* The same for decimal digits; *fits is false if they are more than 64 bits. */
static inline bool bat_read_decimal(const uint8_t **at, uint64_t *value, bool *fits)
{
    const uint8_t *now = *at;
    uint64_t result = 0;
    *fits = true;
    for (; *now >= '0' && *now <= '9'; now++) {
        uint64_t digit = *now - (uint64_t)'0';
        *fits = *fits && result <= (UINT64_MAX - digit) / 10;
        result = result * 10 + digit;
    }
    bool fine = now != *at;
    *at = now;
    *value = result;
    return fine;
}

#endif
