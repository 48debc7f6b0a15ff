/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Prints, for addresses of a BOLTed binary, the function and the offset that they had in the input
 * binary. ":1" behind an address marks the source of a branch.
 *
 *     translate_addresses BINARY 0x401234 0x401250:1
 */
#include <batkit/bat_binary.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *path, const struct bat_error *error)
{
    char text[BAT_MESSAGE_SIZE + 64];
    bat_error_text(error, text, sizeof(text));
    fprintf(stderr, "translate_addresses: %s: %s\n", path, text);
    return 1;
}

static void translate(const struct bat_binary *binary, const struct bat_names *names,
                      const char *text)
{
    char *end;
    uint64_t address = strtoull(text, &end, 16);
    bool is_branch_source = strcmp(end, ":1") == 0;
    struct bat_binary_place place;
    if (!bat_binary_input_of(binary, names, address, is_branch_source, &place))
        printf("%s: in no function\n", text);
    else
        printf("%s: %s + 0x%lx\n", text, place.symbol ? place.symbol->name : "?", place.offset);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: translate_addresses BINARY ADDRESS[:1]...\n");
        return 2;
    }
    struct bat_binary binary;
    struct bat_names names;
    struct bat_error error;
    if (bat_binary_open(argv[1], &binary, &error) != BAT_OK)
        return fail(argv[1], &error);
    if (bat_names_collect(&binary, &names, &error) != BAT_OK) {
        bat_binary_close(&binary);
        return fail(argv[1], &error);
    }
    for (int i = 2; i < argc; i++)
        translate(&binary, &names, argv[i]);
    bat_names_free(&names);
    bat_binary_close(&binary);
    return 0;
}
