/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Profiles as parts of one sum: which of them are read (once), and what happens if one cannot be
 * (keep_going). Internal to the library and the tools.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bat_profile.h"
#include "support/counts.h"
#include "support/text_writer.h"

enum part_state {
    PART_WAITING,
    PART_READ,
    PART_REPEATED, /* once: all that it holds was counted already */
    PART_LEFT_OUT, /* keep_going: it cannot be read */
};

struct part {
    const char *path;          /* as it was named */
    char *copy;                /* what to read instead, for what can be read only once; or NULL */
    int file;                  /* of the copy, or -1 */
    struct bat_counts digests; /* once: of the parts that it holds */
    enum part_state state;
    char *reason; /* why it was left out; NULL also without memory */
};

struct parts_request {
    const char *const *profiles; /* paths; must outlive the parts */
    size_t profile_count;
    const struct bat_read_options *reading;
    bool once;       /* a profile is left out if all parts that it holds are in others */
    bool keep_going; /* one that cannot be read is left out */
    /* Called before a profile is read, with the context of reading's progress; or NULL. */
    void (*begin)(const char *path, void *context);
    /* Receives each error with the path that it is of, or NULL. */
    void (*report)(const char *path, const struct bat_error *error);
};

struct parts {
    struct parts_request request;
    struct part *items; /* one for each profile, in the request's order */
    size_t count;
    struct bat_counts counted; /* once: digests of what the sum holds */
};

/* Read the file at path into the profile or profiles of context: all of it, or nothing. */
typedef enum bat_code parts_read_fn(void *context, const char *path,
                                    const struct bat_read_options *options,
                                    struct bat_error *error);

/*
 * Read profiles. With once, one of whose parts only some are in others is an error. Fails, after
 * reporting it, with the first error that keep_going does not leave out, and if nothing could be
 * read. parts_free() must follow.
 */
bool parts_read(struct parts *parts, const struct parts_request *request, parts_read_fn *read,
                void *context);

void parts_free(struct parts *parts);

/* once: how many parts the profiles hold that were read. */
uint64_t parts_count(const struct parts *parts);

/* True if a profile was left out. */
bool parts_are_left_out(const struct parts *parts);

/* Write the D records of all that was counted, in their order; none without once. */
enum bat_code parts_write_digests(const struct parts *parts, struct bat_output *output,
                                  struct bat_error *error);

/* Report how many profiles were counted, and name the others. */
void parts_print_text(const struct parts *parts, struct bat_text_writer *out);

/* The same as members of a JSON object, with a comma before each. */
void parts_print_json(const struct parts *parts, struct bat_text_writer *out);
