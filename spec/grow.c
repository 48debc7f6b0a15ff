/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "grow.h"

#include <stdlib.h>
#include <string.h>

#include "bat.h"

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
    shrunk = count ? realloc(shrunk, count * size) : NULL;
    if (shrunk)
        memcpy(array, &shrunk, sizeof(shrunk));
}
