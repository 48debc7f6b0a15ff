/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Judges whether a profile is fit to be used, and prints the verdict (--check). */
#ifndef BAT_TOOLS_COMMON_CHECK_H
#define BAT_TOOLS_COMMON_CHECK_H

#include <stdint.h>
#include <stdio.h>

#include "bat_fitness.h"
#include "check_list.h"

#define CHECK_REASON_SIZE 96u

/* A function that contributes to a finding. */
struct check_function {
    char *name;       /* owned */
    uint64_t address; /* in the sampled binary; of CHECK_STALE as in struct bat_stale_function */
    uint64_t part;
    uint64_t whole;
    char reason[CHECK_REASON_SIZE]; /* "" for none */
};

enum check_status { CHECK_UNKNOWN, CHECK_PASSED, CHECK_FAILED, CHECK_SUPPRESSED };

struct check_result {
    enum check_status status; /* UNKNOWN: the profile has nothing of what is checked */
    double value;
    double limit;
    const char *reason;               /* of the suppression */
    struct check_function *functions; /* if it failed: those with the largest part first */
    size_t function_count;
    size_t function_capacity;
};

struct check_density {
    char *name; /* owned */
    uint64_t branches;
    double density;
};

/* Profiles that could not be read. */
struct check_unreadable {
    uint64_t count;
    char message[BAT_MESSAGE_SIZE + 64]; /* why the last of them could not be */
};

/* All results. */
struct check {
    const struct check_options *options;
    const char *binary; /* the path in messages */
    struct check_suppressions suppressions;
    struct check_result results[CHECK_COUNT];
    struct check_density *densities; /* of all functions that count, the densest first */
    size_t density_count;
    size_t density_capacity;
    uint64_t findings[3]; /* that are not suppressed, by enum bat_severity */
    bool is_fit;
    struct check_unreadable unreadable;
    struct check_unreadable other_builds;
};

/* How a profile agrees with a former one. */
struct check_baseline {
    uint64_t own;     /* counts of the records */
    uint64_t former;  /* of those of the former profile */
    double functions; /* the overlap of the functions' shares */
};

/* A function that the next build does not have, or hardly. */
struct check_lost {
    const char *name;
    uint64_t count;
    double likeness; /* 0: it is gone */
};

/* How a profile was carried to the next build. */
struct check_next {
    uint64_t found;                /* samples in functions that it has, too */
    uint64_t whole;                /* in all that count */
    uint64_t inferred;             /* counts of blocks that no old block gives */
    uint64_t blocks;               /* of all blocks */
    const struct check_lost *lost; /* of whole, not of found */
    size_t lost_count;
    const struct bat_records *records; /* of the next build: those of the subject's judgement */
};

/* What check_judge() judges. */
struct check_subject {
    const struct bat_profile *profile; /* as it was sampled */
    const struct bat_profile *moved;   /* as the records were made from; may be the same */
    const struct bat_binary *binary;
    struct bat_elf *symbols; /* NULL: the binary's */
    struct bat_records *records;
    const struct bat_records *all_records;        /* perf2bolt's, for its density; NULL: records */
    const struct bat_to_input_counters *to_input; /* NULL: the profile was not moved */
    const struct bat_judgement *judgement;
    bool is_yaml;            /* it is the judgement of YAML */
    bool wants_samples;      /* basic samples were asked for */
    uint64_t profiles;       /* with records */
    uint32_t density_cutoff; /* millionths */
    double density_threshold;
    const struct check_baseline *baseline; /* NULL: none */
    const struct check_next *next;         /* NULL: it was not carried */
};

/* Read the suppressions. TOOL_BAD with a message. To be freed with check_free() in any case. */
enum tool_exit check_begin(struct check *check, const struct check_options *options,
                           const char *binary);

/* Make all checks. TOOL_BAD, with a message, if that is not possible. */
enum tool_exit check_judge(struct check *check, const struct check_subject *subject);

/*
 * Make only the checks that need no more than the counters of the subject's profile, records,
 * to_input and judgement, and `nowhere`: the others are unknown. records and judgement may be NULL.
 * check need not have begun. Linear in the profile's traces and samples.
 */
void check_judge_counters(struct check *check, const struct check_options *options,
                          const struct check_subject *subject);

/*
 * A profile could not be read, because it is of another build, or for another reason. Only the last
 * such error is kept.
 */
void check_note_unreadable(struct check *check, bool is_other_build, const struct bat_error *error);

/*
 * Nothing was judged: unfit if that is because a profile could not be read. Otherwise returns
 * false: there is no verdict.
 */
bool check_fail_reading(struct check *check);

/*
 * Print the checks and the verdict: for people, or as the JSON member "check":{...}. TOOL_BAD, with
 * a message, if that cannot be written.
 */
enum tool_exit check_print(const struct check *check, FILE *file);
enum tool_exit check_print_json(const struct check *check, FILE *file);

/*
 * Print the verdict of check_judge_counters(): as a line for people, if any check was made, or as
 * the JSON member "quick_check":{...}.
 */
void check_print_line(const struct check *check, FILE *file);
void check_print_line_json(const struct check *check, FILE *file);

/*
 * Only "fit" or "unfit", and by which checks, as a text that the caller frees; NULL if no check was
 * made. False, with NULL, without memory.
 */
bool check_verdict(const struct check *check, char **text);

/* Warn that a profile is unfit, if it is, and name the checks. */
void check_warn(const struct check *check, const char *binary);

/* Say in a few words why llvm-bolt will refuse the profile of a function of the records. */
void check_stale_reason(const struct bat_records *records, const struct bat_stale_function *stale,
                        char reason[CHECK_REASON_SIZE]);

void check_free(struct check *check);

#endif
