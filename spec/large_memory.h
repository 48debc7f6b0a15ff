/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Large pages for large arrays. Internal to the library. */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Arrays below this would waste too much of their last page. */
#define BAT_LARGE_ARRAY ((size_t)1 << 21)

/*
 * Ask for large pages for an array that was just allocated, or NULL, if it is large. Its first use
 * then costs a five-hundredth of the page faults. Only a hint: nothing else depends on it. Returns
 * the array.
 */
static inline void *bat_large(void *array, size_t size)
{
    if (!array || size < BAT_LARGE_ARRAY)
        return array;
    const size_t small_page = 4096;
    const size_t before = -(uintptr_t)array % small_page;
    const size_t pages = (size - before) / small_page;
    const int reason = errno;
    madvise((char *)array + before, pages * small_page, MADV_HUGEPAGE);
    errno = reason;
    return array;
}

/* malloc() for count items of size bytes, whose product is a size_t. */
static inline void *bat_large_array(size_t count, size_t size)
{
    return bat_large(malloc(count * size), count * size);
}

/*
 * realloc() to size bytes, of which the first `used` are kept. Large arrays are moved, because the
 * pages of the old one may be small.
 */
static inline void *bat_large_grow(void *array, size_t used, size_t size)
{
    if (size < BAT_LARGE_ARRAY)
        return realloc(array, size);
    void *grown = bat_large_array(size, 1);
    if (!grown)
        return NULL;
    if (used != 0)
        memcpy(grown, array, used);
    free(array);
    return grown;
}
