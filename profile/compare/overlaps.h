/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The records of profiles that are compared. Internal to the library. */
#pragma once

#include "bat_compare.h"
#include "sample_places.h"
#include "support/counts.h"
#include "support/string_table.h"

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
