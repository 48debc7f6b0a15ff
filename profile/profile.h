/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a profile holds while it is read. Internal to the library. */
#ifndef BAT_PROFILE_PROFILE_H
#define BAT_PROFILE_PROFILE_H

#include "bat_profile.h"
#include "counts.h"
#include "loading.h"
#include "string_table.h"

/* Records that came as fdata, already in terms of the input binary. */
struct bat_fdata {
    struct bat_strings names;
    struct bat_counts branches; /* see bat_fdata_word(): from, its offset, to, its offset */
    struct bat_counts samples;  /* name, offset */
    bool bolted;                /* a file said "boltedcollection" */
    bool no_lbr;                /* a file said "no_lbr" */
    bool seen;                  /* at least one file was read */
};

/* The largest count: llvm-bolt refuses a whole fdata file for a larger one. */
#define BAT_COUNT_MAX ((uint64_t)INT64_MAX)

struct bat_profile {
    uint8_t *build_id;
    size_t build_id_size;
    uint64_t base_address;
    bool ignore_build_id;
    const struct bat_elf *elf; /* NULL if the binary is not at hand */
    bool is_bolted;

    struct bat_counts traces;            /* branch, from, to: count, mispredictions */
    struct bat_counts samples;           /* address: count */
    struct bat_counts_batch trace_batch; /* not yet in traces: for the reader only */
    struct bat_counts returns;           /* addresses of branches that R records call returns */
    struct bat_counts mem_samples;       /* address of a load, address that it read: count */
    bool keeps_unknown_data;             /* translate those too that read no data of the binary */
    bool keeps_all_records;              /* ... all that perf2bolt would write */
    bool will_be_judged;                 /* its records, by bat_records_judge() */
    struct bat_strings events;
    struct bat_strings foreign_names; /* objects that locations name, other than the binary */
    struct bat_counts foreign_counts; /* by their numbers */
    struct bat_fdata fdata;
    struct bat_loading *loading; /* what bat_profile_prepare() began, or NULL */
    uint64_t
        sum; /* of the counts of all text records: at most BAT_COUNT_MAX, so that no total wraps */
    struct bat_profile_counters counters;
};

/* An end of an fdata record: its kind (the digit) and its name. */
static inline uint64_t bat_fdata_word(uint32_t kind, uint32_t name)
{
    return (uint64_t)kind << 32 | name;
}

/* Where a line parser is, and where the whole lines that it may read end. */
struct bat_lines {
    const uint8_t *at;
    const uint8_t *end; /* end[-1] is a newline */
    uint64_t line;      /* number of the line at `at`, from 1 */
    struct bat_error *error;
};

/* Read all of lines into profile. They fail with line and column. */
enum bat_code bat_preagg_read(struct bat_profile *profile, struct bat_lines *lines);
enum bat_code bat_fdata_read(struct bat_profile *profile, struct bat_lines *lines);

/*
 * Fail at the byte `at` of the line that starts at `start`: "expected WHAT, found "..."", quoting
 * what stands there up to the next blank.
 */
enum bat_code bat_lines_fail(const struct bat_lines *lines, const uint8_t *start, const uint8_t *at,
                             const char *expected);

/* Add to the sum of a profile's counts the count of the line at hand, at most BAT_COUNT_MAX. */
static inline enum bat_code bat_lines_add_sum(const struct bat_lines *lines,
                                              struct bat_profile *profile, uint64_t count)
{
    profile->sum += count;
    return profile->sum <= BAT_COUNT_MAX
               ? BAT_OK
               : bat_fail_text(lines->error, BAT_ERR_RANGE, lines->line, 1,
                               "expected counts that add up to less than 2^63, found more");
}

/* Fail for a total that does not fit, or no memory: what bat_counts_add() gave. */
enum bat_code bat_lines_fail_add(const struct bat_lines *lines, enum bat_code code);

/* An empty profile for the same binary, to be added to the other later; NULL if there is no memory.
 */
struct bat_profile *bat_profile_new_part(const struct bat_profile *profile);

/* What parts that several threads read have in common: the tables that can be large. */
struct bat_shared_profile;

/* NULL if there is no memory. */
struct bat_shared_profile *bat_shared_profile_new(void);
void bat_shared_profile_free(struct bat_shared_profile *shared);

/* Let a part, still empty, give to shared what is beyond BAT_SHARED_LIMIT in its tables. */
void bat_profile_share(struct bat_profile *part, struct bat_shared_profile *shared);

/* Add all that was given to shared. The parts' threads must have ended. */
enum bat_code bat_profile_take_shared(struct bat_profile *profile,
                                      struct bat_shared_profile *shared, struct bat_error *error);

/* Add all that from holds to profile; from is only good for bat_profile_free() afterwards. */
enum bat_code bat_profile_take(struct bat_profile *profile, struct bat_profile *from,
                               struct bat_error *error);

#endif
