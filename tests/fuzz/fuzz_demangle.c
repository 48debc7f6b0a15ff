/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any bytes as a mangled name: the text is the one that libiberty makes, the same each time, and
 * it is not endless. A name that ends as Rust's do is left out, because libiberty may keep memory
 * of such names.
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *name = malloc(size + 3);
    fuzz_expect(name, "there is memory for a name");
    memcpy(name, "_Z", 2);
    memcpy(name + 2, data, size);
    name[size + 2] = '\0';
    if (!strstr(name, "17h")) {
        char *plain = demangle_short(name);
        char *whole = demangle_whole(name);
        /* A damaged name with many packs can be beyond a limit for libiberty alone. */
        fuzz_expect(!plain || whole || can_have_packs(name), "libiberty knows the name, too");
        fuzz_expect(!plain || !whole || strcmp(plain, whole) == 0, "both ways print the same text");
        fuzz_expect(!whole || strlen(whole) <= 128 * (size + 2) + 4096, "the text is not endless");
        char *again = demangle_whole(name);
        fuzz_expect(!whole == !again, "a name is demangled each time, or never");
        fuzz_expect(!whole || strcmp(whole, again) == 0, "the text is the same each time");
        free(again);
        free(plain);
        free(whole);
    }
    free(name);
    return 0;
}
