/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sorts by fields of the elements. Internal to the library and the tools. */
#ifndef BAT_SPEC_SORT_H
#define BAT_SPEC_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Sort count elements by a field, which is a uint64_t, a uint32_t or a bool; those with the same
 * number by the second field, if there is one. array may be NULL if count is 0.
 */
#define BAT_SORT_BY(array, count, field)                                                           \
    BAT_SORT(array, count, BAT_ASCENDING(__typeof__(*(array)), field))
#define BAT_SORT_BY_TWO(array, count, first, second)                                               \
    BAT_SORT(array, count, BAT_ASCENDING(__typeof__(*(array)), first),                             \
             BAT_ASCENDING(__typeof__(*(array)), second))

/*
 * The same by any number of fields, up or down:
 *
 *     BAT_SORT(spans, count, BAT_ASCENDING(struct span, start), BAT_DESCENDING(struct span, end));
 */
#define BAT_SORT(array, count, ...)                                                                \
    bat_sort(array, count, sizeof(*(array)), (const struct bat_field[]){__VA_ARGS__, {0, 0, 0}})

/* clang-format off */
#define BAT_ASCENDING(type, field) {offsetof(type, field), BAT_FIELD_SIZE(type, field), 1}
#define BAT_DESCENDING(type, field) {offsetof(type, field), BAT_FIELD_SIZE(type, field), -1}
#define BAT_FIELD_SIZE(type, field)                                                                \
    _Generic(((type *)NULL)->field, uint64_t: 8, uint32_t: 4, bool: 1)
/* clang-format on */

struct bat_field {
    size_t offset; /* in the element */
    size_t size;
    int order; /* 1: ascending, -1: descending; 0 behind the last field */
};

void bat_sort(void *array, size_t count, size_t size, const struct bat_field *fields);

#endif
