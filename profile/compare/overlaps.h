/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The records of profiles that are compared. Internal to the library. */
#pragma once

#include "bat_compare.h"
#include "support/counts.h"
#include "support/string_table.h"

/* The calls that are in no other, and how deep calls may be; compilers stop far earlier. */
#define SAMPLE_PLACES_OUTERMOST 0u
#define SAMPLE_PLACES_DEPTH_MAX 254u

/* For all profiles that are compared. {0} is one without places. */
struct sample_places {
    struct bat_strings names;
    struct bat_counts calls; /* key: outer call, line and discriminator, name; its number + 1 */
    bool is_begun;
};

/* A line, counted from the function's first, and its discriminator. */
struct sample_line {
    uint32_t line;
    uint32_t discriminator;
};

void sample_places_free(struct sample_places *places);

/* The number of a name of size bytes, none of them 0. BAT_ERR_MEMORY. */
enum bat_code sample_places_name(struct sample_places *places, const char *name, size_t size,
                                 uint32_t *number, struct bat_error *error);

/* The number of a call of a name, inlined at a line of an outer call. BAT_ERR_MEMORY. */
enum bat_code sample_places_call(struct sample_places *places, uint64_t outer,
                                 struct sample_line line, uint32_t name, uint64_t *call,
                                 struct bat_error *error);

/* One profile. */
struct compared {
    struct bat_counts records; /* function, record: count, 0. Sorted when all are there */
    struct bat_counts sums;    /* function: count of its records, 0. The same */
    uint64_t samples;
};

/* Functions and records have the same numbers in all profiles. */
struct bat_overlaps {
    struct bat_strings functions;
    struct bat_strings records;
    struct sample_places places; /* of sample profiles */
    struct compared *all;
    uint32_t count;
    bool has_plain_names;
    bool is_finished;
};

/* Add the samples of a line, in a call, to the comparison. Fails as bat_overlaps_record(). */
enum bat_code sample_places_record(struct bat_overlaps *comparison, const char *function,
                                   uint64_t call, struct sample_line line, uint64_t count,
                                   struct bat_error *error);
