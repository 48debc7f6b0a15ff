/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "array.h"

#include <stdlib.h>

#include "large_memory.h"

void *bat_array_new(size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size)
        return NULL;
    return count * size != 0 ? bat_large_array(count, size) : malloc(1);
}

void *bat_array_grow(void *array, size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size)
        return NULL;
    size_t bytes = count * size;
    return bat_large(realloc(array, bytes > 0 ? bytes : 1), bytes);
}

void *bat_array_shrink(void *array, size_t count, size_t size)
{
    size_t bytes = count * size;
    void *shrunk = realloc(array, bytes > 0 ? bytes : 1);
    return shrunk ? shrunk : array;
}
