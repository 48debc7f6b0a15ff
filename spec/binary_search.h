/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Binary search. Internal to the library. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
static inline bool bat_number_is_before(const void *array, size_t at, uint64_t key, bool with_equal,
                                        bool is_wide)
{
    const void *place = (const char *)array + at;
    uint64_t number = is_wide ? *(const uint64_t *)place : *(const uint32_t *)place;
    return with_equal ? number <= key : number < key;
}

__attribute__((always_inline)) static inline size_t
bat_search_numbers(const void *array, size_t count, size_t size, size_t offset, uint64_t key,
                   bool with_equal, bool is_wide)
{
    size_t low = 0;
    while (count > 1) {
        size_t half = count / 2;
        low += half * bat_number_is_before(array, (low + half - 1) * size + offset, key, with_equal,
                                           is_wide);
        count -= half;
    }
    bool is_last_before =
        count != 0 && bat_number_is_before(array, low * size + offset, key, with_equal, is_wide);
    return low + is_last_before;
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
