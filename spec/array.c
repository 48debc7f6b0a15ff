/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "array.h"

#include <string.h>

#include "bat.h"
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

static bool resize(void *array, size_t *capacity, size_t larger, size_t size)
{
    void *grown;
    size_t bytes;
    memcpy(&grown, array, sizeof(grown));
    grown = __builtin_mul_overflow(larger, size, &bytes) ? NULL : realloc(grown, bytes);
    if (!grown)
        return false;
    memcpy(array, &grown, sizeof(grown));
    *capacity = larger;
    return true;
}

bool bat_grow_now(void *array, size_t *capacity, size_t size)
{
    size_t larger = *capacity ? 2 * *capacity : 16;
    return larger < BAT_NONE && resize(array, capacity, larger, size);
}

bool bat_reserve_now(void *array, size_t *capacity, size_t needed, size_t size)
{
    return resize(array, capacity, 2 * needed + 16, size);
}

bool bat_reserve_cleared(void *array, size_t *capacity, size_t count, size_t size)
{
    const size_t before = *capacity;
    char *grown;
    if (!bat_reserve(array, capacity, 0, count, size))
        return false;
    memcpy(&grown, array, sizeof(grown));
    if (*capacity > before)
        memset(grown + before * size, 0, (*capacity - before) * size);
    return true;
}

void bat_shrink(void *array, size_t count, size_t size)
{
    void *shrunk;
    memcpy(&shrunk, array, sizeof(shrunk));
    shrunk = realloc(shrunk, count * size != 0 ? count * size : 1);
    if (shrunk)
        memcpy(array, &shrunk, sizeof(shrunk));
}
