/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm-symbolizer's way of writing options, turned into the one that argp reads. */
#ifndef BAT_SYMBOLIZE_ARGUMENTS_H
#define BAT_SYMBOLIZE_ARGUMENTS_H

#include <stdbool.h>

/* A program's arguments. */
struct symbolize_argv {
    char **values;
    int count;
    char **owned; /* strings made here, up to NULL */
    char *environment;
};

/*
 * The arguments with those of BATSYMBOLIZE_OPTS in front; "-obj=FILE" becomes "--obj=FILE",
 * "-e=FILE" becomes "-e" "FILE", "-f=VALUE" becomes "--functions=VALUE". False without memory.
 * To be freed with symbolize_argv_free() in any case.
 */
bool symbolize_argv_make(struct symbolize_argv *made, int argc, char **argv);
void symbolize_argv_free(struct symbolize_argv *made);

/* What the program is called. */
bool symbolize_is_addr2line(const char *program);
bool symbolize_is_stand_in(const char *program); /* addr2line or llvm-symbolizer */

#endif
