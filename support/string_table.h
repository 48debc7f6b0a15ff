/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A set of strings, numbered from 0 in the order they were added. Internal to the library. */
#pragma once

#include "bat.h"

struct bat_strings {
    char *text; /* all strings, each with a terminating zero */
    size_t text_size;
    size_t text_capacity;
    size_t *starts;  /* of the strings in text */
    uint32_t *slots; /* string number + 1, or 0 */
    uint32_t count;
    uint32_t last;     /* that was added or found by adding: the next one is often the same */
    uint32_t capacity; /* of starts; there are twice as many slots */
    uint64_t seed;     /* of the hashes, set with the first allocation: see hash_seed.h */
};

void bat_strings_free(struct bat_strings *strings);

/* The number of a string of size bytes, none of them 0; a new string is added. */
enum bat_code bat_strings_add(struct bat_strings *strings, const char *string, size_t size,
                              uint32_t *number);

/* Add all strings of another set; their numbers go to numbers[], unless that is NULL. */
enum bat_code bat_strings_add_all(struct bat_strings *strings, const struct bat_strings *from,
                                  uint32_t *numbers);

/* Forget all strings but the first `count`. Linear in them. */
void bat_strings_truncate(struct bat_strings *strings, uint32_t count);

/* The number of a string, or BAT_NONE. */
uint32_t bat_strings_find(const struct bat_strings *strings, const char *string, size_t size);

static inline const char *bat_strings_get(const struct bat_strings *strings, uint32_t number)
{
    return strings->text + strings->starts[number];
}

static inline size_t bat_strings_length(const struct bat_strings *strings, uint32_t number)
{
    const size_t end =
        number + 1 < strings->count ? strings->starts[number + 1] : strings->text_size;
    return end - 1 - strings->starts[number];
}
