/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sorts by fields of the elements. Internal to the library and the tools. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Sort count elements by a field, which is a uint64_t, a uint32_t, a bool, a double or a string;
 * those with the same value by the second field, if there is one. array may be NULL if count is 0.
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
    bat_sort(array, count, sizeof(*(array)),                                                       \
             (const struct bat_field[]){__VA_ARGS__, {0, BAT_FIELD_U64, 0}})

/* clang-format off */
#define BAT_ASCENDING(type, field) {offsetof(type, field), BAT_FIELD_KIND(type, field), 1}
#define BAT_DESCENDING(type, field) {offsetof(type, field), BAT_FIELD_KIND(type, field), -1}
#define BAT_FIELD_KIND(type, field)                                                                \
    _Generic(((type *)NULL)->field,                                                                \
        uint64_t: BAT_FIELD_U64,                                                                   \
        uint32_t: BAT_FIELD_U32,                                                                   \
        bool: BAT_FIELD_BOOL,                                                                      \
        double: BAT_FIELD_DOUBLE,                                                                  \
        char *: BAT_FIELD_STRING,                                                                  \
        const char *: BAT_FIELD_STRING)
/* clang-format on */

enum bat_field_kind {
    BAT_FIELD_U64,
    BAT_FIELD_U32,
    BAT_FIELD_BOOL,
    BAT_FIELD_DOUBLE,
    BAT_FIELD_STRING,
};

struct bat_field {
    size_t offset; /* in the element */
    enum bat_field_kind kind;
    int order; /* 1: ascending, -1: descending; 0 behind the last field */
};

void bat_sort(void *array, size_t count, size_t size, const struct bat_field *fields);

/*
 * The numbers from 0 up to count, as compare, which is qsort_r()'s, orders what pointers to two of
 * them stand for. The caller frees them; NULL if there is no memory.
 */
uint32_t *bat_sorted_order(uint32_t count,
                           int (*compare)(const void *left, const void *right, void *context),
                           const void *context);
