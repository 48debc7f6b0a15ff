/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The records of a profile, and what its readers share. Internal to the library. */
#pragma once

#include "bat_profile.h"
#include "support/counts.h"
#include "support/string_table.h"

/* Records read from fdata: they are in terms of the input binary already. */
struct bat_fdata {
    struct bat_strings names;
    struct bat_counts branches; /* see bat_fdata_word(): from, its offset, to, its offset */
    struct bat_counts samples;  /* name, offset */
    bool bolted;                /* a file said "boltedcollection" */
    bool no_lbr;                /* a file said "no_lbr" */
    bool seen;                  /* at least one file was read */
};

/* The first kind of location that makes a record of fdata a load, without mispredictions. */
#define BAT_FIRST_MEMORY_KIND 3u

/* The largest count: llvm-bolt refuses a whole fdata file for a larger one. */
#define BAT_COUNT_MAX ((uint64_t)INT64_MAX)

struct bat_joint;

struct bat_profile {
    /* Not NULL: addresses are those of several binaries, as bat_joint_place() makes them. */
    const struct bat_joint *joint;
    uint8_t *build_id;
    size_t build_id_size;
    uint64_t base_address;
    bool ignore_build_id;
    const struct bat_elf *elf; /* the profiled binary, or NULL */
    bool is_bolted;
    bool is_library; /* shared: addresses without a build-id before their colon are not its own */

    struct bat_counts traces;            /* branch, from, to: count, mispredictions */
    struct bat_counts samples;           /* address: count */
    struct bat_counts_batch trace_batch; /* pending additions to traces, for the reader only */
    struct bat_counts returns;           /* addresses of branches that are returns by R records */
    struct bat_counts mem_samples;       /* address of a load, address that it read: count */
    struct bat_strings events;
    bool names_events;                /* some of the events were named as such, not perf's own */
    struct bat_strings foreign_names; /* objects other than the binary that locations name */
    struct bat_counts foreign_counts; /* number in foreign_names: locations */
    struct bat_fdata fdata;
    /* Where addresses that are added from memory come from: see bat_profile_set_mapping(). */
    bool is_mapped;
    uint64_t bias; /* subtracted from them */
    uint64_t low;  /* of the binary's own addresses: [low, high) */
    uint64_t high;
    uint64_t
        sum; /* of the counts of all text records: at most BAT_COUNT_MAX, so that no total wraps */
    struct bat_profile_counters counters;
    uint64_t branch_filter; /* of all recordings that were read: see perf_branch_filter() */
    char elsewhere[BAT_MESSAGE_SIZE - 64]; /* files with the samples of a recording; or empty */
};

/* A location of an fdata record: its kind (the digit) and the number of its name. */
static inline uint64_t bat_fdata_word(uint32_t kind, uint32_t name)
{
    return (uint64_t)kind << 32 | name;
}

/* The position of a line parser, and the end of the whole lines that it may read. */
struct bat_lines {
    const uint8_t *at;
    const uint8_t *end; /* end[-1] is a newline */
    uint64_t line;      /* number of the line at `at`, from 1 */
    struct bat_error *error;
};

/* Read all lines into profile. Errors have line and column. */
enum bat_code bat_preagg_read(struct bat_profile *profile, struct bat_lines *lines);
enum bat_code bat_fdata_read(struct bat_profile *profile, struct bat_lines *lines);

/*
 * Fail at the byte `at` of the line that starts at `start`. The message is "expected ..., found
 * "..."" with the text at `at` up to the next blank.
 */
enum bat_code bat_lines_fail(const struct bat_lines *lines, const uint8_t *start, const uint8_t *at,
                             const char *expected);

/* Add the count of the current line, at most BAT_COUNT_MAX, to the sum of a profile's counts. */
static inline enum bat_code bat_lines_add_sum(const struct bat_lines *lines,
                                              struct bat_profile *profile, uint64_t count)
{
    profile->sum += count;
    return profile->sum <= BAT_COUNT_MAX
               ? BAT_OK
               : bat_fail_text(lines->error, BAT_ERR_RANGE, lines->line, 1,
                               "expected counts that add up to less than 2^63, found more");
}

/* Fail with the error of bat_counts_add(): a count that does not fit, or no memory. */
enum bat_code bat_lines_fail_add(const struct bat_lines *lines, enum bat_code code);

/*
 * Create an empty profile for the same binary, which bat_profile_take() adds to profile later. NULL
 * if there is no memory.
 */
struct bat_profile *bat_profile_new_part(const struct bat_profile *profile);

/*
 * What several threads read into: for each, a part of every profile. Their large tables move items
 * to shared ones, at BAT_SHARED_LIMIT items. A single thread reads into the profiles themselves.
 */
struct bat_profile_parts {
    struct bat_profile *const *profiles;
    uint32_t count;
    unsigned threads;
    struct bat_profile **all; /* count of the first thread, then of the next */
    struct bat_shared_counts **shared;
};

/* For profiles that are empty. False if there is no memory. To be freed in any case. */
bool bat_profile_parts_make(struct bat_profile_parts *parts, struct bat_profile *const *profiles,
                            uint32_t count, unsigned threads);
void bat_profile_parts_free(struct bat_profile_parts *parts);

/* Add all to the profiles, once. The threads must have ended. */
enum bat_code bat_profile_parts_take(struct bat_profile_parts *parts, struct bat_error *error);

/* What a profile has, as balance.in of each kind. */
struct bat_balances bat_profile_sums(const struct bat_profile *profile);

/* A number that grows with each record that is read. */
uint64_t bat_profile_records_read(const struct bat_profile *profile);

void bat_profile_add_counters(struct bat_profile_counters *counters,
                              const struct bat_profile_counters *from);

/* Add the records of from to profile. Afterwards from may only be freed. */
enum bat_code bat_profile_take(struct bat_profile *profile, struct bat_profile *from,
                               struct bat_error *error);

/* The same for count profiles that differ, each with its own from: all or none of them change. */
enum bat_code bat_profiles_take(struct bat_profile *const *profiles,
                                struct bat_profile *const *from, size_t count,
                                struct bat_error *error);
