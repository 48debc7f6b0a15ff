/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names in fdata: spec/profiles.md 3. Internal to the library. */
#ifndef BAT_PROFILE_ESCAPE_NAME_H
#define BAT_PROFILE_ESCAPE_NAME_H

#include <string.h>

/*
 * Put name, size bytes, with a backslash before each blank and backslash at `at`, which has room
 * for twice its length. Returns the end; no terminating zero is written.
 */
static inline char *bat_escape_name(char *at, const char *name, size_t size)
{
    if (!memchr(name, ' ', size) && !memchr(name, '\\', size)) {
        memcpy(at, name, size);
        return at + size;
    }
    for (size_t i = 0; i < size; i++) {
        if (name[i] == ' ' || name[i] == '\\')
            *at++ = '\\';
        *at++ = name[i];
    }
    return at;
}

#endif
