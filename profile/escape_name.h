/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names in fdata: spec/profiles.md 3. Internal to the library. */
#ifndef BAT_PROFILE_ESCAPE_NAME_H
#define BAT_PROFILE_ESCAPE_NAME_H

#include <string.h>

#include "escape_controls.h"

/* What one byte of a name may grow to. */
#define BAT_NAME_ESCAPED_BYTE BAT_ESCAPED_BYTE

/*
 * Put name, size bytes, at `at`, which has room for BAT_NAME_ESCAPED_BYTE times its length: with a
 * backslash before each blank and backslash, as BOLT has it, and with control characters as
 * "\x0a", because BOLT knows no form for them. No two names get the same form. Returns the end; no
 * terminating zero is written.
 */
static inline char *bat_escape_name(char *at, const char *name, size_t size)
{
    if (!memchr(name, ' ', size) && !memchr(name, '\\', size))
        return bat_put_escaped(at, name, size);
    size_t length;
    for (size_t i = 0; i < size; i += length) {
        if (bat_is_control(name + i, size - i, &length)) {
            at = bat_put_bytes_escaped(at, name + i, length);
            continue;
        }
        if (name[i] == ' ' || name[i] == '\\')
            *at++ = '\\';
        at = (char *)memcpy(at, name + i, length) + length;
    }
    return at;
}

#endif
