/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names in fdata: spec/profiles.md 3. Internal to the library. */
#ifndef BAT_PROFILE_ESCAPE_NAME_H
#define BAT_PROFILE_ESCAPE_NAME_H

/*
 * Put name with a backslash before each blank and backslash at `at`, which has room for twice its
 * length. Returns the end; no terminating zero is written.
 */
static inline char *bat_escape_name(char *at, const char *name)
{
    for (; *name; name++) {
        if (*name == ' ' || *name == '\\')
            *at++ = '\\';
        *at++ = *name;
    }
    return at;
}

#endif
