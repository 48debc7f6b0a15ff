/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any bytes behind "_" as a mangled name: its text is the one that libiberty makes, the same each
 * time; it is not endless, and neither is the time that it takes.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "tools/common/demangle.h"
#include "tools/common/demangle_short.h"

/* Codes of packs, also as bytes of two others. */
static bool can_have_packs(const char *name)
{
    static const char *const codes[] = {"Dp", "sp", "sZ", "fl", "fr", "fL", "fR"};
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (strstr(name, codes[i]))
            return true;
    return false;
}

/* demangle_short() and libiberty agree about a name. */
static void compare(const char *name)
{
    char *plain = demangle_short(name);
    char *whole = demangle_whole(name);
    /* A damaged name with many packs or with "cv" can be beyond a limit for libiberty alone. */
    fuzz_expect(!plain || whole || can_have_packs(name) || strstr(name, "cv"),
                "libiberty knows the name, too");
    fuzz_expect(!plain || !whole || strcmp(plain, whole) == 0, "both ways print the same text");
    free(plain);
    free(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *name = malloc(size + 2);
    fuzz_expect(name, "there is memory for a name");
    name[0] = '_';
    memcpy(name + 1, data, size);
    name[size + 1] = '\0';
    char *text = demangle(name);
    char *again = demangle(name);
    fuzz_expect(!text == !again, "a name is demangled each time, or never");
    fuzz_expect(!text || strcmp(text, again) == 0, "the text is the same each time");
    fuzz_expect(!text || strlen(text) <= 128 * (size + 1) + 4096, "the text is not endless");
    /* Rust's texts of such names are others. */
    if (name[1] == 'Z' && !strstr(name, "17h"))
        compare(name);
    free(again);
    free(text);
    free(name);
    return 0;
}
