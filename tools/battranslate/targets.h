/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The binaries of one pass, and where the profile of each goes. */
#pragma once

#include "bat_elf.h"
#include "request.h"
#include "tools/common/tool.h"
#include "translate_work.h"

/* A binary, its outputs, and the work of translating its profile. */
struct target {
    char *binary;
    char *output; /* NULL if there is one output for all */
    char *yaml;   /* NULL if it is not wanted */
    char *original;
    struct translate_request request; /* for this binary alone */
    struct work work;
    uint64_t inside; /* samples that lie in the binary */
    bool is_idle;    /* of --all, without samples: left out */
    char *report;
    size_t report_size;
    enum tool_exit status;
};

struct targets {
    struct target *items;
    size_t count;
    char *made_folder; /* --output-dir, if it was made for these outputs; or NULL */
};

/*
 * Make the targets of a request for several binaries: of its arguments (BINARY or BINARY=OUT), or
 * for --all of the files that its profiles name. Prints errors. To be freed in any case.
 */
enum tool_exit targets_make(struct targets *targets, const struct translate_request *request);

/*
 * Fail for binaries that are not told apart: the same file twice, one build-id, or one name without
 * build-ids. Their files are open.
 */
enum tool_exit targets_check(const struct targets *targets);

/* Remove the folder that was made, if the outputs are not in it. */
void targets_remove_folder(struct targets *targets);
void targets_free(struct targets *targets);
