/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "grow.h"

#include <stdlib.h>

#include "bat.h"

bool debug_grow(void *array, size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity)
        return true;
    size_t larger = *capacity ? 2 * *capacity : 16;
    if (larger >= BAT_NONE)
        return false;
    void *grown = realloc(*(void **)array, larger * size);
    if (!grown)
        return false;
    *(void **)array = grown;
    *capacity = larger;
    return true;
}

void debug_shrink(void *array, size_t count, size_t size)
{
    void *shrunk = count ? realloc(*(void **)array, count * size) : NULL;
    if (shrunk)
        *(void **)array = shrunk;
}
