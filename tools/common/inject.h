/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What batinject does once its options are known. */
#ifndef BAT_INJECT_H
#define BAT_INJECT_H

#include "tool.h"

enum inject_action {
    INJECT_NOTHING,
    INJECT_NOTE, /* argument: a raw note, or "-" */
    INJECT_JSON, /* argument: a description of a note, or "-" */
    INJECT_FROM, /* argument: an ELF file with a note */
    INJECT_REMOVE,
    INJECT_EXTRACT, /* argument: the file to write, or "-" */
    INJECT_REPAIR,
};

struct inject_request {
    enum inject_action action;
    const char *argument;
    const char *file;
    const char *output; /* NULL: the file itself */
    bool force;         /* copy the note though the build-ids differ */
    bool no_check;
    bool quiet;
};

/* Do it, and tell on standard output what was done, on standard error what is wrong. */
enum tool_exit inject_run(const struct inject_request *request);

#endif
