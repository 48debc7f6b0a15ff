/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The ascending order of numbers. Internal to the library. */
#ifndef BAT_SPEC_COMPARE_NUMBERS_H
#define BAT_SPEC_COMPARE_NUMBERS_H

#include <stdint.h>

/* For qsort() and bsearch(). */
static inline int bat_compare_u32(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

static inline int bat_compare_u64(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Like memcmp(), for the words of two keys. */
static inline int bat_compare_words(const uint64_t *left, const uint64_t *right, uint32_t words)
{
    for (uint32_t i = 0; i < words; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

#endif
