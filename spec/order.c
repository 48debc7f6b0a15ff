/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "order.h"

#include <stdlib.h>
#include <string.h>

static int compare_field(const void *left, const void *right, enum bat_field_kind kind)
{
    switch (kind) {
    case BAT_FIELD_U64:
        return bat_compare_u64(left, right);
    case BAT_FIELD_U32:
        return bat_compare_u32(left, right);
    case BAT_FIELD_BOOL:
        return *(const bool *)left - *(const bool *)right;
    case BAT_FIELD_DOUBLE:
        return (*(const double *)left > *(const double *)right) -
               (*(const double *)left < *(const double *)right);
    default:
        return strcmp(*(const char *const *)left, *(const char *const *)right);
    }
}

static int compare_fields(const void *left, const void *right, void *context)
{
    for (const struct bat_field *field = context; field->order != 0; field++) {
        int order = compare_field((const char *)left + field->offset,
                                  (const char *)right + field->offset, field->kind);
        if (order != 0)
            return field->order < 0 ? -order : order;
    }
    return 0;
}

void bat_sort(void *array, size_t count, size_t size, const struct bat_field *fields)
{
    if (count > 1)
        qsort_r(array, count, size, compare_fields, (void *)fields);
}

uint32_t *bat_sorted_order(uint32_t count,
                           int (*compare)(const void *left, const void *right, void *context),
                           const void *context)
{
    uint32_t *order = malloc(((size_t)count + 1) * sizeof(*order));
    for (uint32_t i = 0; order && i < count; i++)
        order[i] = i;
    if (order && count > 1)
        qsort_r(order, count, sizeof(*order), compare, (void *)context);
    return order;
}
