/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "spec/array.h"
#include "symbolize_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool program_has(const char *program, const char *part)
{
    const char *slash = program ? strrchr(program, '/') : NULL;
    const char *name = slash ? slash + 1 : program;
    return name && strstr(name, part);
}

bool symbolize_is_addr2line(const char *program)
{
    return program_has(program, "addr2line");
}

bool symbolize_is_stand_in(const char *program)
{
    return program_has(program, "addr2line") || program_has(program, "llvm-symbolizer");
}

/* Names that may follow a single hyphen, where argp would read single letters. */
static bool is_long_name(const char *name)
{
    static const char *const names[] = {
        "obj",        "exe",           "original",     "debug-file",    "functions",
        "inlines",    "inlining",      "no-inlines",   "demangle",      "no-demangle",
        "addresses",  "print-address", "output-style", "basenames",     "relativenames",
        "verbose",    "adjust-vma",    "folded",       "pretty-print",  "default-arch",
        "cache-size", "color",         "lenient",      "no-debuginfod", "return-addresses",
        "format",     "command",       "threads",      "help",          "version",
        "usage",      "json",          "output",       "quiet",         "help-all",
    };
    size_t length = strcspn(name, "=");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return true;
    return false;
}

/* Join two strings. made->owned keeps the result to free it; NULL without memory. */
static char *join(struct symbolize_argv *made, size_t *owned, const char *first, const char *second)
{
    char *joined = NULL;
    if (asprintf(&joined, "%s%s", first, second) < 0)
        return NULL;
    made->owned[(*owned)++] = joined;
    return joined;
}

static bool add(struct symbolize_argv *made, size_t *owned, char *argument)
{
    static char option_e[] = "-e";
    char *normal = argument;
    if (strncmp(argument, "-e=", 3) == 0) {
        made->values[made->count++] = option_e;
        normal = argument + 3;
    } else if (strncmp(argument, "-f=", 3) == 0) {
        normal = join(made, owned, "--functions=", argument + 3);
    } else if (argument[0] == '-' && argument[1] != '-' && is_long_name(argument + 1)) {
        normal = join(made, owned, "-", argument);
    }
    if (normal)
        made->values[made->count++] = normal;
    return normal;
}

bool symbolize_argv_make(struct symbolize_argv *made, int argc, char **argv)
{
    *made = (struct symbolize_argv){0};
    const char *variable = getenv("BATSYMBOLIZE_OPTS");
    made->environment = strdup(variable ? variable : "");
    if (!made->environment)
        return false;
    size_t option_max = strlen(made->environment) + (size_t)argc + 1;
    made->values = calloc(option_max * 2, sizeof(*made->values));
    made->owned = calloc(option_max, sizeof(*made->owned));
    if (!made->values || !made->owned)
        return false;
    size_t owned = 0;
    static char program[] = "batsymbolize";
    made->values[made->count++] = argc > 0 ? argv[0] : program;
    char *rest;
    for (char *option = strtok_r(made->environment, " \t\n", &rest); option;
         option = strtok_r(NULL, " \t\n", &rest))
        if (!add(made, &owned, option))
            return false;
    for (int i = 1; i < argc; i++)
        if (!add(made, &owned, argv[i]))
            return false;
    return true;
}

void symbolize_argv_free(struct symbolize_argv *made)
{
    for (size_t i = 0; made->owned && made->owned[i]; i++)
        free(made->owned[i]);
    BAT_FREE_ALL(made->owned, made->values, made->environment);
}
