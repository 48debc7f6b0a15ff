/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The order of elements: compared, sorted, searched. Internal to the library and the tools. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- Numbers compared ----------------------------------------------------------------------- */

static inline int bat_compare_numbers(uint64_t left, uint64_t right)
{
    return (left > right) - (left < right);
}

/* For qsort() and bsearch(). */
static inline int bat_compare_u32(const void *left, const void *right)
{
    return bat_compare_numbers(*(const uint32_t *)left, *(const uint32_t *)right);
}

static inline int bat_compare_u64(const void *left, const void *right)
{
    return bat_compare_numbers(*(const uint64_t *)left, *(const uint64_t *)right);
}

/* The same, the largest first. */
static inline int bat_compare_u64_down(const void *left, const void *right)
{
    return bat_compare_u64(right, left);
}

/* Like memcmp(), for the words of two keys. */
static inline int bat_compare_words(const uint64_t *left, const uint64_t *right, uint32_t words)
{
    for (uint32_t i = 0; i < words; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

/* --- Sorting by fields ---------------------------------------------------------------------- */

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

/* --- Binary search -------------------------------------------------------------------------- */

/*
 * The number of elements, at the beginning of an array, whose field is below key, or at most key
 * ("up to"). The array ascends by that field, which is a uint32_t or a uint64_t; it may be NULL if
 * count is 0. The result has the type of count.
 *
 * "Below" is thus the index of the first element at or above key, and "up to" the index behind the
 * last element at or below key.
 */
#define BAT_COUNT_BELOW(array, count, field, key)                                                  \
    BAT_SEARCH_ARRAY(array, count, (array)->field, offsetof(__typeof__(*(array)), field), key,     \
                     false)
#define BAT_COUNT_UP_TO(array, count, field, key)                                                  \
    BAT_SEARCH_ARRAY(array, count, (array)->field, offsetof(__typeof__(*(array)), field), key, true)

/* The same for an array of numbers. */
#define BAT_NUMBERS_BELOW(array, count, key) BAT_SEARCH_ARRAY(array, count, *(array), 0, key, false)
#define BAT_NUMBERS_UP_TO(array, count, key) BAT_SEARCH_ARRAY(array, count, *(array), 0, key, true)

/* Of `number`, which is an element's field, only the type is used. */
/* clang-format off */
#define BAT_SEARCH_ARRAY(array, count, number, offset, key, with_equal)                            \
    ((__typeof__((count) + 0))_Generic((number),                                                   \
        uint32_t: bat_search_numbers_32,                                                           \
        uint64_t: bat_search_numbers_64)(array, count, sizeof(*(array)), offset, key, with_equal))
/* clang-format on */

/*
 * The same for any other order:
 *
 *     struct bat_search search = {.high = count};
 *     while (bat_search_next(&search))
 *         bat_search_go(&search, names[search.middle].length < length);
 *     return search.low;
 *
 * The elements for which the second argument is true come first; low is at last their number, or
 * the index behind them if the search does not begin with 0.
 */
struct bat_search {
    size_t low;
    size_t high;
    size_t middle; /* the element to look at */
};

static inline bool bat_search_next(struct bat_search *search)
{
    if (search->low >= search->high)
        return false;
    search->middle = search->low + (search->high - search->low) / 2;
    return true;
}

static inline void bat_search_go(struct bat_search *search, bool is_before)
{
    if (is_before)
        search->low = search->middle + 1;
    else
        search->high = search->middle;
}

/*
 * The macros' functions. The field is `offset` bytes from the beginning of an element of `size`.
 * The steps have no branch that depends on the numbers: the processor could not predict it.
 */
static inline bool bat_number_is_before(const char *place, uint64_t key, bool with_equal,
                                        bool is_wide)
{
    uint64_t number =
        is_wide ? *(const uint64_t *)(const void *)place : *(const uint32_t *)(const void *)place;
    return with_equal ? number <= key : number < key;
}

__attribute__((always_inline)) static inline size_t
bat_search_numbers(const void *array, size_t count, size_t size, size_t offset, uint64_t key,
                   bool with_equal, bool is_wide)
{
    const char *low = array;
    for (; count > 1; count -= count / 2) {
        const char *middle = low + count / 2 * size;
        low = bat_number_is_before(middle - size + offset, key, with_equal, is_wide) ? middle : low;
    }
    bool is_last_before =
        count != 0 && bat_number_is_before(low + offset, key, with_equal, is_wide);
    return (size_t)(low - (const char *)array) / size + is_last_before;
}

static inline size_t bat_search_numbers_32(const void *array, size_t count, size_t size,
                                           size_t offset, uint64_t key, bool with_equal)
{
    return bat_search_numbers(array, count, size, offset, key, with_equal, false);
}

static inline size_t bat_search_numbers_64(const void *array, size_t count, size_t size,
                                           size_t offset, uint64_t key, bool with_equal)
{
    return bat_search_numbers(array, count, size, offset, key, with_equal, true);
}
