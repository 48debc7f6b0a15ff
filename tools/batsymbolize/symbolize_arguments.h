/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Converts options as llvm-symbolizer takes them to the form that argp reads. */
#ifndef BAT_TOOLS_BATSYMBOLIZE_SYMBOLIZE_ARGUMENTS_H
#define BAT_TOOLS_BATSYMBOLIZE_SYMBOLIZE_ARGUMENTS_H

#include <stdbool.h>

/* A program's arguments. */
struct symbolize_argv {
    char **values;
    int count;
    char **owned; /* strings that were allocated, up to NULL */
    char *environment;
};

/*
 * Make the arguments, with those of BATSYMBOLIZE_OPTS in front; "-obj=FILE" becomes "--obj=FILE",
 * "-e=FILE" becomes "-e" "FILE", "-f=VALUE" becomes "--functions=VALUE". False without memory. Free
 * them with symbolize_argv_free() in any case.
 */
bool symbolize_argv_make(struct symbolize_argv *made, int argc, char **argv);
void symbolize_argv_free(struct symbolize_argv *made);

/* True if the program is called under such a name. */
bool symbolize_is_addr2line(const char *program);
bool symbolize_is_stand_in(const char *program); /* addr2line or llvm-symbolizer */

#endif
