/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Build-ids in hexadecimal. Internal to the library and the tools. */
#ifndef BAT_SPEC_HEX_BYTES_H
#define BAT_SPEC_HEX_BYTES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Put two lower-case digits for each byte into text, for as many as there is room for in text_size
 * bytes, and a zero. Returns where the zero is.
 */
static inline char *bat_hex_bytes(char *text, size_t text_size, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size && text_size > 2; i++, text_size -= 2) {
        *text++ = digits[bytes[i] >> 4];
        *text++ = digits[bytes[i] & 15];
    }
    *text = '\0';
    return text;
}

#endif
