/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "function_name.h"

#include <stdbool.h>
#include <string.h>

/* The length of a name without suffix and the word behind it, as in ".part.1", if it has these. */
static size_t cut(const char *name, size_t length, const char *suffix)
{
    const char *dot = memrchr(name, '.', length);
    size_t size = strlen(suffix);
    size_t before = dot ? (size_t)(dot - name) + 1 : 0;
    if (before < size || memcmp(name + before - size, suffix, size) != 0)
        return length;
    return before - size;
}

size_t function_name_length(const char *name)
{
    static const char *const suffixes[] = {".llvm.", ".part."};
    size_t length = strlen(name);
    for (size_t i = 0; i < 2; i++)
        length = cut(name, length, suffixes[i]);
    return length;
}
