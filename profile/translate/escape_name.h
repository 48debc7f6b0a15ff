/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names in fdata: spec/profiles.md 3. Internal to the library. */
#pragma once

#include <string.h>

#include "spec/escape_controls.h"

/* The most bytes that one byte of a name becomes. */
#define BAT_NAME_ESCAPED_BYTE BAT_ESCAPED_BYTE

/*
 * Put the size bytes of name, escaped, at `at`, which has room for BAT_NAME_ESCAPED_BYTE times as
 * many. A backslash goes before each blank and backslash, as in BOLT; a control character becomes
 * "\x0a", because BOLT has no form for it. Two names never get the same form. Returns the end; no
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
