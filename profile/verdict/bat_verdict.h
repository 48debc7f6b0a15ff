/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Whether a profile is fit to be used: checks with limits, suppressions, and a verdict
 * (spec/fitness.md).
 *
 *     struct bat_verdict_options options = bat_verdict_options_new();
 *     struct bat_profile_verdict verdict;
 *     bat_verdict_begin(&verdict, &options, &error)
 *     bat_verdict_judge(&verdict, &subject, &error)
 *     ... verdict.is_fit, verdict.results[BAT_VERDICT_STALE].value ...
 *     bat_verdict_free(&verdict)
 */
#ifndef BAT_VERDICT_H
#define BAT_VERDICT_H

#include "bat_fitness.h"
#include "bat_validate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- The checks ------------------------------------------------------------------------------ */

enum bat_verdict_check {
    BAT_VERDICT_READ,
    BAT_VERDICT_BUILD_ID,
    BAT_VERDICT_PROFILES,
    BAT_VERDICT_SAMPLES,
    BAT_VERDICT_STACKS,
    BAT_VERDICT_OUTSIDE,
    BAT_VERDICT_NOWHERE,
    BAT_VERDICT_KERNEL,
    BAT_VERDICT_LOST,
    BAT_VERDICT_BRANCHES,
    BAT_VERDICT_TARGETS,
    BAT_VERDICT_RUNS,
    BAT_VERDICT_INSTRUCTIONS,

    BAT_VERDICT_STALE,
    BAT_VERDICT_DENSITY,
    BAT_VERDICT_FLOW,
    BAT_VERDICT_ENTRIES,
    BAT_VERDICT_CALLS,
    BAT_VERDICT_CONTINUITY,
    BAT_VERDICT_NEW_CODE,
    BAT_VERDICT_OLD_CODE,
    BAT_VERDICT_FOUND, /* this one and the next need a next build */
    BAT_VERDICT_INFERRED,
    BAT_VERDICT_BASELINE_SAMPLES, /* this one and the next need a baseline */
    BAT_VERDICT_BASELINE,
    BAT_VERDICT_CHECKS,
};

struct bat_verdict_kind {
    const char *id;
    enum bat_severity severity; /* of the finding */
    bool is_share;              /* value and limit are shares, 0 to 1; else plain numbers */
    bool is_minimum;            /* a value below the limit is a finding; else one above it */
    bool has_functions;         /* computed from those of single functions */
    double limit;               /* the default */
    const char *summary;        /* of the value, in a few words */
};

/* A check; static. NULL for a number that is none. */
BAT_API const struct bat_verdict_kind *bat_verdict_kind(enum bat_verdict_check check);

/* What the options say. Strings are owned by the caller. */
struct bat_verdict_options {
    bool is_strict;                    /* warnings make a profile unfit, too */
    double limits[BAT_VERDICT_CHECKS]; /* negative: the default */
    const char *suppressions_path;     /* or NULL */
    const char *baseline_path;         /* fdata of a former profile, for who compares; or NULL */
};

/* No check, with the default limits. */
BAT_API struct bat_verdict_options bat_verdict_options_new(void);

/*
 * Parse ID=VALUE, with a percent sign behind the value or not for shares. False, with what was
 * expected in *expected, if it is anything else.
 */
BAT_API bool bat_verdict_parse_limit(struct bat_verdict_options *options, const char *text,
                                     const char **expected);

/* --- Suppressions ---------------------------------------------------------------------------- */

/* A line of the file: a check, or a check's share of the functions whose names match. */
struct bat_suppression {
    enum bat_verdict_check check;
    char *pattern; /* NULL: the check as a whole */
    char *reason;
    bool is_used;
};

struct bat_suppressions {
    struct bat_suppression *all; /* in the order of the file */
    size_t count;
    size_t capacity;
    struct bat_suppression **plain; /* patterns that are names: by check, then by pattern */
    size_t plain_count;
    struct bat_suppression **wild; /* patterns that may match several names */
    size_t wild_count;
};

/* --- Results --------------------------------------------------------------------------------- */

#define BAT_VERDICT_REASON_SIZE 96u

/* A function that contributes to a finding. */
struct bat_verdict_function {
    char *name; /* owned */
    uint64_t
        address; /* in the sampled binary; of BAT_VERDICT_STALE as in struct bat_stale_function */
    uint64_t part;
    uint64_t whole;
    char reason[BAT_VERDICT_REASON_SIZE]; /* "" for none */
};

enum bat_verdict_status {
    BAT_VERDICT_UNKNOWN,
    BAT_VERDICT_PASSED,
    BAT_VERDICT_FAILED,
    BAT_VERDICT_SUPPRESSED
};

struct bat_verdict_result {
    enum bat_verdict_status status; /* UNKNOWN: the profile has nothing of what is checked */
    double value;
    double limit;
    const char *reason;                     /* of the suppression */
    struct bat_verdict_function *functions; /* if it failed: those with the largest part first */
    size_t function_count;
    size_t function_capacity;
};

struct bat_verdict_density {
    char *name; /* owned */
    uint64_t branches;
    double density;
};

/* Profiles that could not be read. */
struct bat_verdict_unreadable {
    uint64_t count;
    char message[BAT_MESSAGE_SIZE + 64]; /* why the last of them could not be */
};

/* All results. */
struct bat_profile_verdict {
    const struct bat_verdict_options *options;
    struct bat_suppressions suppressions;
    struct bat_verdict_result results[BAT_VERDICT_CHECKS];
    struct bat_verdict_density *densities; /* of all functions that count, the densest first */
    size_t density_count;
    size_t density_capacity;
    uint64_t findings[3]; /* that are not suppressed, by enum bat_severity */
    bool is_fit;
    struct bat_verdict_unreadable unreadable;
    struct bat_verdict_unreadable other_builds;
};

/* How a profile agrees with a former one. */
struct bat_verdict_baseline {
    uint64_t own;     /* counts of the records */
    uint64_t former;  /* of those of the former profile */
    double functions; /* the overlap of the functions' shares */
};

/* A function that the next build does not have, or hardly. */
struct bat_verdict_lost {
    const char *name;
    uint64_t count;
    double likeness; /* 0: it is gone */
};

/* How a profile was carried to the next build. */
struct bat_verdict_next {
    uint64_t found;                      /* samples in functions that it has, too */
    uint64_t whole;                      /* in all that count */
    uint64_t inferred;                   /* counts of blocks that no old block gives */
    uint64_t blocks;                     /* of all blocks */
    const struct bat_verdict_lost *lost; /* of whole, not of found */
    size_t lost_count;
    const struct bat_records *records; /* of the next build: those of the subject's judgement */
};

/* What bat_verdict_judge() judges. */
struct bat_verdict_subject {
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
    const struct bat_verdict_baseline *baseline; /* NULL: none */
    const struct bat_verdict_next *next;         /* NULL: it was not carried */
};

/*
 * Begin a verdict; options must outlive it. Reads the suppressions: fails with BAT_ERR_IO,
 * BAT_ERR_MEMORY, BAT_ERR_SYNTAX, all of options->suppressions_path. To be freed with
 * bat_verdict_free() in any case.
 */
BAT_API enum bat_code bat_verdict_begin(struct bat_profile_verdict *verdict,
                                        const struct bat_verdict_options *options,
                                        struct bat_error *error);

/*
 * A profile could not be read, because it is of another build, or for another reason. Only the last
 * such error is kept.
 */
BAT_API void bat_verdict_note_unreadable(struct bat_profile_verdict *verdict, bool is_other_build,
                                         const struct bat_error *error);

/* Make all checks. Fails with BAT_ERR_MEMORY, and as bat_profile_measure(). */
BAT_API enum bat_code bat_verdict_judge(struct bat_profile_verdict *verdict,
                                        const struct bat_verdict_subject *subject,
                                        struct bat_error *error);

/*
 * Make only the checks that need no more than the counters of the subject's profile, records,
 * to_input and judgement, and `nowhere`: the others are unknown. records and judgement may be NULL.
 * verdict need not have begun. Linear in the profile's traces and samples.
 */
BAT_API void bat_verdict_judge_counters(struct bat_profile_verdict *verdict,
                                        const struct bat_verdict_options *options,
                                        const struct bat_verdict_subject *subject);

/*
 * Nothing was judged: unfit if that is because a profile could not be read. Otherwise returns
 * false: there is no verdict.
 */
BAT_API bool bat_verdict_fail_reading(struct bat_profile_verdict *verdict);

/* Say in a few words why llvm-bolt will refuse the profile of a function of the records. */
BAT_API void bat_verdict_stale_reason(const struct bat_records *records,
                                      const struct bat_stale_function *stale,
                                      char reason[BAT_VERDICT_REASON_SIZE]);

/*
 * Write a verdict and its checks: as text about the binary of that path, or for NULL as a JSON
 * object (spec/fitness.md). Fails with BAT_ERR_MEMORY, and as bat_output_write().
 */
BAT_API enum bat_code bat_verdict_write(const struct bat_profile_verdict *verdict,
                                        const char *binary, struct bat_output *output,
                                        struct bat_error *error);

/* Free what a verdict holds; it is empty then. */
BAT_API void bat_verdict_free(struct bat_profile_verdict *verdict);

#ifdef __cplusplus
}
#endif

#endif
