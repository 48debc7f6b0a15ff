/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* batinject's work, after its options were read. */
#pragma once

#include "bat_binary.h"
#include "tools/common/tool.h"

/* From INJECT_NOTE on also the keys of the options. */
enum inject_action {
    INJECT_NOTHING,
    INJECT_NOTE = 1100, /* argument: a raw note, or "-" */
    INJECT_JSON,        /* argument: a description of a note, or "-" */
    INJECT_FROM,        /* argument: an ELF file with a note */
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

/* Run the action, except INJECT_STORE. Prints what was done to standard output,
 * errors to standard error. */
enum tool_exit inject_run(const struct inject_request *request);

/*
 * Upgrade the binary's map. Blocks get the numbers that they have in the code of the input binary
 * at path. Errors are told on standard error.
 */
bool inject_upgrade_by_input(struct bat_binary *binary, const char *path);

/*
 * Put the file into the store request->argument, which is made if it does not exist; when it is on
 * the disk, write the file's shipped form to request->output or in its place. A file that was
 * shipped before, and whose whole is in the store, stays as it is. Prints errors and what was done.
 */
bool inject_store(const struct inject_request *request);
