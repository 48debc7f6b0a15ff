/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Strings, each once, with numbers from 0 in the order of coming. Internal to the library. */
#ifndef BAT_PROFILE_STRING_TABLE_H
#define BAT_PROFILE_STRING_TABLE_H

#include "bat.h"

struct bat_strings {
    char *text; /* all strings, each with a terminating zero */
    size_t text_size;
    size_t text_capacity;
    size_t *starts;  /* of the strings in text */
    uint32_t *slots; /* string number + 1, or 0 */
    uint32_t count;
    uint32_t capacity; /* of starts; there are twice as many slots */
    uint64_t seed;     /* of the hashes, from the first allocation on: see hash_seed.h */
};

void bat_strings_free(struct bat_strings *strings);

/* The number of a string of size bytes (without zeros among them), added if new. */
enum bat_code bat_strings_add(struct bat_strings *strings, const char *string, size_t size,
                              uint32_t *number);

/* The number of a string, or BAT_NONE. */
uint32_t bat_strings_find(const struct bat_strings *strings, const char *string, size_t size);

static inline const char *bat_strings_get(const struct bat_strings *strings, uint32_t number)
{
    return strings->text + strings->starts[number];
}

#endif
