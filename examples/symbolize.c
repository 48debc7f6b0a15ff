/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Prints functions and source lines of addresses of a binary, inlined calls first. For a BOLTed
 * binary, ORIGINAL is the one that BOLT read, which has the debug information; "-" is for none.
 *
 *     symbolize BINARY ORIGINAL 0x401234
 */
#include <batkit/bat_symbolizer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_frames(struct bat_symbolizer *symbolizer, uint64_t address)
{
    const struct bat_frames_options options = {.size = sizeof(options), .plain_names = false};
    const struct bat_source_frame *frames;
    size_t count;
    /* For return addresses, as all frames of a stack but the innermost have, use BAT_PC_RETURN. */
    bat_symbolizer_frames(symbolizer, address, BAT_PC_EXACT, &options, &frames, &count);
    for (size_t i = 0; i < count; i++)
        printf("0x%lx %s at %s:%u\n", address, frames[i].function ? frames[i].function : "?",
               frames[i].file ? frames[i].file : "?", frames[i].line);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: symbolize BINARY ORIGINAL|- ADDRESS...\n");
        return 2;
    }
    struct bat_symbolizer_options options = {.size = sizeof(options)};
    if (strcmp(argv[2], "-") != 0)
        options.original = argv[2];
    struct bat_symbolizer *symbolizer;
    struct bat_error error;
    if (bat_symbolizer_open(argv[1], &options, &symbolizer, &error) != BAT_OK) {
        char text[BAT_MESSAGE_SIZE + 64];
        bat_error_text(&error, text, sizeof(text));
        fprintf(stderr, "symbolize: %s: %s\n", argv[1], text);
        return 1;
    }
    for (int i = 3; i < argc; i++)
        print_frames(symbolizer, strtoull(argv[i], NULL, 16));
    bat_symbolizer_close(symbolizer);
    return 0;
}
