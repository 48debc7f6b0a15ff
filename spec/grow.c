/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "grow.h"

#include <stdlib.h>
#include <string.h>

#include "bat.h"

bool bat_grow_now(void *array, size_t *capacity, size_t size)
{
    size_t larger = *capacity ? 2 * *capacity : 16;
    if (larger >= BAT_NONE)
        return false;
    void *grown;
    memcpy(&grown, array, sizeof(grown));
    grown = realloc(grown, larger * size);
    if (!grown)
        return false;
    memcpy(array, &grown, sizeof(grown));
    *capacity = larger;
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
