/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* batinject's work, after its options were read. */
#ifndef BAT_TOOLS_BATINJECT_INJECT_H
#define BAT_TOOLS_BATINJECT_INJECT_H

#include "tools/common/tool.h"

enum inject_action {
    INJECT_NOTHING,
    INJECT_NOTE, /* argument: a raw note, or "-" */
    INJECT_JSON, /* argument: a description of a note, or "-" */
    INJECT_FROM, /* argument: an ELF file with a note */
    INJECT_REMOVE,
    INJECT_EXTRACT, /* argument: the file to write, or "-" */
    INJECT_REPAIR,
    INJECT_UPGRADE,
    INJECT_STORE, /* argument: the folder of a store */
};

struct inject_request {
    enum inject_action action;
    const char *argument;
    const char *file;
    const char *output;   /* NULL: the file itself */
    const char *original; /* the input binary, for INJECT_UPGRADE; or NULL */
    bool force;           /* copy the note even if the build-ids differ; replace in the store */
    bool no_check;
    bool quiet;
};

/* Run the action, except INJECT_STORE (inject_store.h). Prints what was done to standard output,
 * errors to standard error. */
enum tool_exit inject_run(const struct inject_request *request);

#endif
