/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "sort.h"

#include <stdlib.h>

#include "compare_numbers.h"

static uint64_t number_at(const void *element, const struct bat_field *field)
{
    const void *place = (const char *)element + field->offset;
    switch (field->size) {
    case sizeof(uint64_t):
        return *(const uint64_t *)place;
    case sizeof(uint32_t):
        return *(const uint32_t *)place;
    default:
        return *(const uint8_t *)place;
    }
}

static int compare_fields(const void *left, const void *right, void *context)
{
    for (const struct bat_field *field = context; field->order != 0; field++) {
        int order = bat_compare_numbers(number_at(left, field), number_at(right, field));
        if (order != 0)
            return field->order * order;
    }
    return 0;
}

void bat_sort(void *array, size_t count, size_t size, const struct bat_field *fields)
{
    if (count > 1)
        qsort_r(array, count, size, compare_fields, (void *)fields);
}
