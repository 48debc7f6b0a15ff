/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Numbers from bytes. Internal to the library and the tools. */
#pragma once

#include <stdint.h>
#include <string.h>

/*
 * The number in the 2, 4 or 8 bytes at any address, little-endian as the host
 * (elfnote/write_note.c). The caller checks that they are there.
 */
static inline uint16_t bat_load16(const uint8_t *bytes)
{
    uint16_t value;
    memcpy(&value, bytes, sizeof(value));
    return value;
}

static inline uint32_t bat_load32(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof(value));
    return value;
}

static inline uint64_t bat_load64(const uint8_t *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof(value));
    return value;
}
