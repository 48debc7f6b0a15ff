/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writes the benchmark's note to a file, for tests by hand. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "synthetic_note.h"

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s NOTE\n", argv[0]);
        return 2;
    }
    size_t size;
    uint8_t *note = synthetic_note(&synthetic_clang, &size);
    FILE *file = fopen(argv[1], "wb");
    bool is_written = file && fwrite(note, 1, size, file) == size;
    if (!file || fclose(file) != 0 || !is_written) {
        perror(argv[1]);
        free(note);
        return 1;
    }
    free(note);
    return 0;
}
