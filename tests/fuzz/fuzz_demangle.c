/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any bytes behind "_" as a mangled name: its text is libiberty's, with blanks between brackets
 * left out, and the same each time; it is not endless, and neither is the time that it takes.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "tools/common/tool.h"

/* Both texts are the same but for blanks, of which text has no more than libiberty's. */
static void check_blanks(const char *text, const char *libiberty)
{
    for (;; text++, libiberty++) {
        while (*libiberty == ' ' && *text != ' ')
            libiberty++;
        fuzz_expect(*text == *libiberty, "only blanks are left out");
        if (!*text)
            return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *name = malloc(size + 2);
    fuzz_expect(name, "there is memory for a name");
    name[0] = '_';
    memcpy(name + 1, data, size);
    name[size + 1] = '\0';
    char *text = demangle_name(name);
    char *again = demangle_name(name);
    fuzz_expect(!text == !again, "a name is demangled each time, or never");
    if (text) {
        fuzz_expect(strcmp(text, again) == 0, "the text is the same each time");
        fuzz_expect(strlen(text) <= 128 * (size + 1) + 4096, "the text is not endless");
        char *libiberty = demangle_by_libiberty(name);
        fuzz_expect(libiberty, "libiberty demangles the name");
        check_blanks(text, libiberty);
        free(libiberty);
    }
    free(again);
    free(text);
    free(name);
    return 0;
}
