/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The profiles of a request as parts of one sum: which of them are read (--once), and what happens
 * if one cannot be (--keep-going).
 */
#ifndef BAT_TOOLS_BATTRANSLATE_PARTS_H
#define BAT_TOOLS_BATTRANSLATE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "request.h"
#include "support/counts.h"
#include "tools/common/output.h"

enum part_state {
    PART_WAITING,
    PART_READ,
    PART_REPEATED, /* --once: all that it holds was counted already */
    PART_LEFT_OUT, /* --keep-going: it cannot be read */
};

struct part {
    const char *path;          /* as the request names it */
    char *copy;                /* what to read instead, for what can be read only once; or NULL */
    int file;                  /* of the copy, or -1 */
    struct bat_counts digests; /* --once: of the parts that it holds */
    enum part_state state;
    char *reason; /* why it was left out; NULL also without memory */
};

struct parts {
    const struct translate_request *request;
    struct part *items; /* one for each profile, in the request's order */
    size_t count;
    struct bat_counts counted; /* --once: digests of what the sum holds */
};

/* Read the file at path into the profile or profiles of context: all of it, or nothing. */
typedef enum bat_code parts_read_fn(void *context, const char *path,
                                    const struct bat_read_options *options,
                                    struct bat_error *error);

/*
 * Read the profiles of a request. With --once a profile is left out if all parts that it holds are
 * in others; one of whose parts only some are is an error. With --keep-going, a profile that fails
 * is left out with a message. Otherwise fails with the first error, and if nothing could be read.
 * Prints errors. parts_free() must follow.
 */
enum tool_exit parts_read(struct parts *parts, const struct translate_request *request,
                          parts_read_fn *read, void *context);

void parts_free(struct parts *parts);

/* --once: how many parts the profiles hold that were read. */
uint64_t parts_count(const struct parts *parts);

/* TOOL_PARTIAL if a profile was left out, else TOOL_FINE. */
enum tool_exit parts_status(const struct parts *parts);

/* Write the D records of all that was counted, in their order; none without --once. */
enum bat_code parts_write_digests(const struct parts *parts, struct bat_output *output,
                                  struct bat_error *error);

/* True if there is something to report: --once or --keep-going was given. */
bool parts_are_reported(const struct translate_request *request);

/* Report how many profiles were counted, and name the others. */
void parts_print_text(const struct parts *parts, struct bat_text_writer *out);

/* The same as members of a JSON object, with a comma before each. */
void parts_print_json(const struct parts *parts, struct bat_text_writer *out);

#endif
