/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What each unit test begins with: cmocka, what cmocka needs before it, and TEST(). */
/* Not #pragma once: fuzz targets use the images of unit tests without cmocka, and define this. */
#ifndef UNIT_TEST_H
#define UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cmocka 2 has other names for assert_in_range(), which cmocka 1 lacks. */
#define CMOCKA_DISABLE_DEPRECATION_WARNINGS
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A test for the program's main(), which unit_main.c has. */
void add_test(const struct CMUnitTest *test);

/* Run the tests between these two, and once again for each further call; without a call, they run
 * alone. */
void add_group(CMFixtureFunction begin, CMFixtureFunction end);

/* A macro, so that a failure names its line. */
#define assert_ok(code) assert_int_equal(code, BAT_OK)

/* The next of the numbers below `below` that follow from a state: the same in each run. */
static inline uint32_t any_below(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 16) % below;
}

/* Has release(thing) called when the test ends, after that of what is kept later. */
void keep(void (*release)(void *), void *thing);

/* realloc() for memory that is freed when the test ends; it does not fail. */
void *kept_memory(void *old, size_t size);

/* Releases all that is kept: for tests with an end of their own. */
int release_kept(void **state);

/* A macro, because a function is defined: name() keeps a thing of the type, if it is not NULL, and
 * returns it. */
#define KEPT(name, type, release)                                                                  \
    static inline void name##_released(void *thing)                                                \
    {                                                                                              \
        release(thing);                                                                            \
    }                                                                                              \
    static inline type *name(type *thing)                                                          \
    {                                                                                              \
        if (thing)                                                                                 \
            keep(name##_released, thing);                                                          \
        return thing;                                                                              \
    }

/* The same for a thing that is a structure: name() keeps a copy, and returns where it is. */
#define KEPT_COPY(name, type, release)                                                             \
    KEPT(name##_copied, type, release)                                                             \
    static inline type *name(type thing)                                                           \
    {                                                                                              \
        type *copy = kept_memory(NULL, sizeof(thing));                                             \
        memcpy(copy, &thing, sizeof(thing));                                                       \
        return name##_copied(copy);                                                                \
    }

/* Macros, because functions are defined: TEST(name) { ... } is a test that runs in its turn in the
 * file. */
#define TEST(name) TEST_BETWEEN(name, NULL, NULL)

/* A test with its own beginning and end, for which *state is one. */
#define TEST_BETWEEN(name, begin, end)                                                             \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void add_##name(void)                                      \
    {                                                                                              \
        add_test(&(const struct CMUnitTest){#name, name, begin, end, NULL});                       \
    }                                                                                              \
    static void name(__attribute__((unused)) void **state)

/* All tests of the file run between these two. */
#define GROUP(begin, end)                                                                          \
    __attribute__((constructor)) static void add_group_##begin(void)                               \
    {                                                                                              \
        add_group(begin, end);                                                                     \
    }

#endif
