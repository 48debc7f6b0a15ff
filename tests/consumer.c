/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A program of somebody who has installed libbatkit and finds it by pkg-config: counts the tables
 * of a note. Built by check_install.sh, outside of this source tree's include paths.
 */
#include <batkit/bat_decoder.h>
#include <batkit/bat_elf.h>
#include <batkit/bat_encoder.h>
#include <batkit/bat_validate.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    struct bat_binary binary;
    struct bat_error error;
    if (argc != 2) {
        fprintf(stderr, "usage: consumer FILE\n");
        return 2;
    }
    if (bat_binary_open(argv[1], &binary, &error) != BAT_OK) {
        char text[BAT_MESSAGE_SIZE + 64];
        bat_error_text(&error, text, sizeof(text));
        fprintf(stderr, "consumer: %s: %s\n", argv[1], text);
        return 1;
    }
    printf("%u hot functions, %u cold fragments\n", binary.map->hot_count, binary.map->cold_count);
    bat_binary_close(&binary);
    return 0;
}
