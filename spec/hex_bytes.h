/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Build-ids and addresses in hexadecimal. Internal to the library and the tools. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

/* Parse "0x..." or plain hexadecimal digits as an address. False if text is anything else. */
static inline bool bat_parse_address(const char *text, uint64_t *address)
{
    const char *digits = text;
    if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
        digits += 2;
    size_t length = strlen(digits);
    if (length == 0 || length > 16 || strspn(digits, "0123456789abcdefABCDEF") != length)
        return false;
    *address = strtoull(digits, NULL, 16);
    return true;
}
