/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Numbers for people. */
#ifndef BAT_COMMAS_H
#define BAT_COMMAS_H

#include <stdint.h>

/* Enough for 2^64 - 1 with separators. */
#define NUMBER_SIZE 32u

/* value with a comma at each thousand, as text in that buffer. */
static inline const char *with_commas(uint64_t value, char text[NUMBER_SIZE])
{
    char *at = text + NUMBER_SIZE - 1;
    *at = '\0';
    unsigned digits = 0;
    do {
        if (digits != 0 && digits % 3 == 0)
            *--at = ',';
        *--at = (char)('0' + value % 10);
        digits++;
        value /= 10;
    } while (value != 0);
    return at;
}

#endif
