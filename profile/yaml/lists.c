/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "yaml_lists.h"

#include <stdlib.h>

void bat_yaml_sort_list(void *all, uint32_t count, size_t size,
                        int (*compare)(const void *, const void *))
{
    for (uint32_t i = 1; i < count; i++) {
        const char *item = (const char *)all + i * size;
        if (compare(item - size, item) > 0) {
            qsort(all, count, size, compare);
            break;
        }
    }
}
