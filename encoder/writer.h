/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Writes the numbers of a note (BAT.md 3). The buffer has room for the largest note that the map
 * could give, so no write checks bounds. Internal to the encoder.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#define BAT_LEB128_MAX 10u

/* Bytes that may be written past the end of the note's content. */
#define BAT_WRITER_SLACK 16u

static inline uint8_t *bat_write_u64(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof(value));
    return at + sizeof(value);
}

static inline uint8_t *bat_write_u32(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
    at[2] = (uint8_t)(value >> 16);
    at[3] = (uint8_t)(value >> 24);
    return at + 4;
}

static inline uint8_t *bat_write_uleb(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

static inline uint8_t *bat_write_sleb(uint8_t *at, int64_t value)
{
    /* The last byte is the first whose bit 6 and all bits above it agree. */
    while (value < -0x40 || value > 0x3f) {
        *at++ = (uint8_t)(((uint64_t)value & 0x7f) | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)((uint64_t)value & 0x7f);
    return at;
}

/*
 * The delta of an input side, nearly always one or two bytes. Processors cannot predict well which
 * of the two: both bytes are written, and the next field overwrites the second if it is unused.
 */
static inline uint8_t *bat_write_step(uint8_t *at, int64_t step)
{
    if ((uint64_t)step + 0x2000 >= 0x4000)
        return bat_write_sleb(at, step);
    unsigned two = (uint64_t)step + 0x40 >= 0x80;
    at[0] = (uint8_t)(((uint64_t)step & 0x7f) | two << 7);
    at[1] = (uint8_t)((uint64_t)step >> 7 & 0x7f);
    return at + 1 + two;
}
