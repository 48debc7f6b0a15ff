/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The ascending order of numbers. Internal to the library. */
#pragma once

#include <stdint.h>

static inline int bat_compare_numbers(uint64_t left, uint64_t right)
{
    return (left > right) - (left < right);
}

/* For qsort() and bsearch(). */
static inline int bat_compare_u32(const void *left, const void *right)
{
    return bat_compare_numbers(*(const uint32_t *)left, *(const uint32_t *)right);
}

static inline int bat_compare_u64(const void *left, const void *right)
{
    return bat_compare_numbers(*(const uint64_t *)left, *(const uint64_t *)right);
}

/* The same, the largest first. */
static inline int bat_compare_u64_down(const void *left, const void *right)
{
    return bat_compare_u64(right, left);
}

/* Like memcmp(), for the words of two keys. */
static inline int bat_compare_words(const uint64_t *left, const uint64_t *right, uint32_t words)
{
    for (uint32_t i = 0; i < words; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}
