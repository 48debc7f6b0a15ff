/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Arrays in memory: they are made, grow, and are freed. Internal to the library and the tools. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/*
 * Allocates count elements of size bytes, not cleared; at least one byte, so that NULL always means
 * out of memory. Large arrays use huge pages where the system has them: a map is written once from
 * end to end, and the page faults would cost as much as the decoding.
 */
void *bat_array_new(size_t count, size_t size);

/*
 * Enlarges an array from bat_array_new() (NULL: a new one) to count elements of size bytes; the
 * content stays. Returns NULL if out of memory; the array is unchanged then.
 */
void *bat_array_grow(void *array, size_t count, size_t size);

/* What bat_grow() and bat_reserve() call if the array must grow. */
bool bat_grow_now(void *array, size_t *capacity, size_t size);
bool bat_reserve_now(void *array, size_t *capacity, size_t needed, size_t size);

/*
 * Grow an array of count elements of size bytes so that one more fits. array is the address of the
 * pointer to it. False if there is no memory.
 */
static inline bool bat_grow(void *array, size_t *capacity, size_t count, size_t size)
{
#ifdef __clang_analyzer__
    /* It cannot know that there is an array if it has room. */
    count = *capacity;
#endif
    return count < *capacity || bat_grow_now(array, capacity, size);
}

/* Make room for one more element, for so many more, and append one. Array, count and capacity are
 * evaluated several times. False if there is no memory. */
#define BAT_GROW(array, count, capacity) bat_grow(&(array), &(capacity), (count), sizeof(*(array)))
#define BAT_RESERVE(array, count, capacity, more)                                                  \
    bat_reserve(&(array), &(capacity), (count), (more), sizeof(*(array)))
#define BAT_APPEND(array, count, capacity, ...)                                                    \
    (BAT_GROW(array, count, capacity) && ((array)[(count)++] = __VA_ARGS__, true))

/* The same as bat_grow() for `more` elements. */
static inline bool bat_reserve(void *array, size_t *capacity, size_t count, size_t more,
                               size_t size)
{
#ifdef __clang_analyzer__
    count = *capacity;
#endif
    return more <= *capacity - count || bat_reserve_now(array, capacity, count + more, size);
}

/* Make room for count elements altogether. Those behind the old capacity are zero. */
bool bat_reserve_cleared(void *array, size_t *capacity, size_t count, size_t size);

/*
 * Cut an array down to count elements; the content stays, but may move. Never fails: if memory
 * cannot be given back, the larger array stays.
 */
#define BAT_SHRINK(array, count) bat_shrink(&(array), (count), sizeof(*(array)))
void bat_shrink(void *array, size_t count, size_t size);

static inline void bat_free_all(void *const *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(blocks[i]);
}

/* free() of each pointer, in this order. */
#define BAT_FREE_ALL(...)                                                                          \
    bat_free_all((void *[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *))
