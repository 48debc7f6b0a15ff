/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any bytes as a mangled name: the text is the one that libiberty makes, and it is not endless. A
 * name that ends as Rust's do is left out, because libiberty may keep memory of such names. What
 * libiberty alone can demangle is not compared: of damaged names it reads memory that it has not
 * written, and may know one at one time and not at another.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "tools/common/demangle.h"
#include "tools/common/demangle_short.h"

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
        fuzz_expect(!plain || whole, "libiberty knows the name, too");
        fuzz_expect(!plain || strcmp(plain, whole) == 0, "both ways print the same text");
        fuzz_expect(!whole || strlen(whole) <= 128 * (size + 2) + 4096, "the text is not endless");
        free(plain);
        free(whole);
    }
    free(name);
    return 0;
}
