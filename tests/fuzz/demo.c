/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "demo.h"

#include <stdlib.h>
#include <unistd.h>

#include "fuzz.h"

/* The assembler includes the files, so that a running target reads nothing from the source tree. */
#define EMBED(name, path)                                                                          \
    __asm__(".pushsection .rodata\n"                                                               \
            ".global " #name "\n" #name ":\n"                                                      \
            ".incbin \"" path "\"\n"                                                               \
            ".global " #name "_end\n" #name "_end:\n"                                              \
            ".popsection\n");                                                                      \
    extern const uint8_t name[];                                                                   \
    extern const uint8_t name##_end[]

EMBED(demo_bolted_bytes, DEMO_BINARY);
EMBED(demo_input_bytes, DEMO_INPUT);

static char *bolted;
static char *input;

/* exit() runs this before it removes the folder, whose removal is registered earlier. */
static void remove_files(void)
{
    if (bolted)
        unlink(bolted);
    if (input)
        unlink(input);
}

static const char *write_once(char **path, const char *name, const uint8_t *from, const uint8_t *to)
{
    if (!*path) {
        *path = fuzz_path(name);
        if (!(bolted && input))
            atexit(remove_files);
        fuzz_write_file(*path, from, (size_t)(to - from));
    }
    return *path;
}

const char *demo_bolted(void)
{
    return write_once(&bolted, "small.bolt", demo_bolted_bytes, demo_bolted_bytes_end);
}

const char *demo_input(void)
{
    return write_once(&input, "small", demo_input_bytes, demo_input_bytes_end);
}
