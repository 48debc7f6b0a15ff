/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tool.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* True for "operator>", whose bracket at `bracket` is not that of a template. */
static bool is_operator(const char *name, const char *bracket)
{
    static const char compares[] = "operator>";
    const size_t length = sizeof(compares) - 1;
    return (size_t)(bracket + 1 - name) >= length &&
           memcmp(bracket + 1 - length, compares, length) == 0;
}

/* "a<b<int> >" becomes "a<b<int>>", as in C++11 and in LLVM. "operator> >" keeps its blank. */
static void close_brackets(char *name)
{
    static const char open[] = "> >";
    char *to = strstr(name, open);
    const char *from = to;
    /* The bytes before from are those before to, without blanks. */
    while (from) {
        const char *next = strstr(from + 2, open);
        const size_t length = next ? (size_t)(next - from) : strlen(from);
        *to = *from;
        const size_t blank = is_operator(name, to) ? 0 : 1;
        memmove(to + 1, from + 1 + blank, length - 1 - blank);
        to += length - blank;
        from = next;
    }
    if (to)
        *to = '\0';
}

char *demangle_name(const char *name)
{
    /* Without these prefixes libiberty would take names of C for mangled ones. */
    if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0 && strncmp(name, "___Z", 4) != 0)
        return NULL;
    char *plain = demangle_by_libiberty(name);
    if (plain)
        close_brackets(plain);
    return plain;
}
