/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Numbers as DWARF, .eh_frame and exception tables encode them. Each function reads at *at, which
 * moves past the number. It returns false, and *at stays or moves, if the bytes end before it does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Reads size bytes (at most 8), little-endian as the host; is_signed extends the sign. */
static inline bool dwarf_read_fixed(const uint8_t **at, const uint8_t *end, size_t size,
                                    bool is_signed, uint64_t *value)
{
    if (size > (size_t)(end - *at))
        return false;
    uint64_t result = 0;
    memcpy(&result, *at, size);
    *at += size;
    unsigned unused = (unsigned)(64 - 8 * size);
    if (is_signed && unused < 64)
        result = (uint64_t)((int64_t)(result << unused) >> unused);
    *value = result;
    return true;
}

/* Longer LEB128 numbers are damaged. The limit keeps the time for one constant. */
#define DWARF_LEB128_MAX 16u

/*
 * Reads a LEB128 number. DWARF allows padding and assemblers write it; bits beyond 64 are lost. In
 * notes neither is allowed: decoder/leb128.h reads those.
 */
static inline bool dwarf_read_leb128(const uint8_t **at, const uint8_t *end, bool is_signed,
                                     uint64_t *value)
{
    uint64_t result = 0;
    for (unsigned shift = 0; *at < end && shift < 7 * DWARF_LEB128_MAX; shift += 7) {
        uint8_t byte = *(*at)++;
        if (shift < 64)
            result |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        if (is_signed && (byte & 0x40) && shift < 57)
            result |= UINT64_MAX << (shift + 7);
        *value = result;
        return true;
    }
    return false;
}

/* How pointers are encoded (DW_EH_PE_*): a form, a base that is added, and whether it is indirect.
 */
enum dwarf_pointer {
    DWARF_PE_ABSOLUTE = 0x00,
    DWARF_PE_ULEB128 = 0x01,
    DWARF_PE_UDATA2 = 0x02,
    DWARF_PE_UDATA4 = 0x03,
    DWARF_PE_UDATA8 = 0x04,
    DWARF_PE_SDATA4 = 0x0b,
    DWARF_PE_SDATA8 = 0x0c,
    DWARF_PE_RELATIVE = 0x10,
    DWARF_PE_INDIRECT = 0x80,
    DWARF_PE_OMIT = 0xff, /* no pointer */
};

/*
 * Reads a pointer in one of the encodings DWARF_PE_*: absolute, or relative to its own address,
 * which is that of *at. False for other bases. A pointer to the pointer (DWARF_PE_INDIRECT) is read
 * itself.
 */
bool dwarf_read_pointer(const uint8_t **at, const uint8_t *end, uint8_t encoding, uint64_t address,
                        uint64_t *value);

/* The same without the base: the number that stands there. */
bool dwarf_read_form(const uint8_t **at, const uint8_t *end, uint8_t encoding, uint64_t *value);
