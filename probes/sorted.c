/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <string.h>

#include "reading.h"
#include "spec/array.h"

void *probes_sorted(void *elements, struct bat_sort_key *keys, size_t count, size_t size)
{
    struct bat_sort_key *spare = bat_array_new(count, sizeof(*spare));
    uint8_t *sorted = NULL;
    if (spare && keys && elements) {
        const struct bat_sort_key *order = bat_sort_keys(keys, spare, count);
        sorted = bat_array_new(count, size);
        for (size_t i = 0; sorted && i < count; i++)
            memcpy(sorted + i * size, (const uint8_t *)elements + order[i].value * size, size);
    }
    BAT_FREE_ALL(spare, keys, elements);
    return sorted;
}
