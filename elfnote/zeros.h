/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Zeros that need not be written to a new file: they become holes. Internal to the library. */
#ifndef BAT_ELF_ZEROS_H
#define BAT_ELF_ZEROS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Bytes at the same offsets that file systems keep, or leave out, together. */
#define BAT_HOLE_BLOCK 4096u

/* True if all bytes are 0; there is at least one. */
static inline bool bat_is_zeros(const void *bytes, size_t size)
{
    const unsigned char *first = bytes;
    return *first == 0 && memcmp(first, first + 1, size - 1) == 0;
}

#endif
