/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How much profiles agree. A profile is a set of records with counts, each of a function: edges of
 * fdata, traces, lines of a program, whatever is compared. spec/compare.md has the formulas.
 *
 *     bat_overlaps_new(&comparison, &error)
 *     bat_overlaps_add_profile(comparison, a, NULL, &error)          the first, number 0
 *     bat_overlaps_add_profile(comparison, b, NULL, &error)          number 1
 *     bat_overlaps_finish(comparison, &error)
 *     bat_overlaps_pair(comparison, 0, 1, &agreement, &error)
 */
#ifndef BAT_COMPARE_H
#define BAT_COMPARE_H

#include "bat_profile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Profiles that are compared. One thread may change it, several may ask it. */
struct bat_overlaps;

/* Make an empty one, to be freed with bat_overlaps_free(). Fails with BAT_ERR_MEMORY. */
BAT_API enum bat_code bat_overlaps_new(struct bat_overlaps **comparison, struct bat_error *error);

/* NULL is allowed. */
BAT_API void bat_overlaps_free(struct bat_overlaps *comparison);

/*
 * Take local functions by their names alone, without /N or /FILE/N behind them: whether they have
 * the file depends on whether the binary that was sampled had a BAT note. Functions of one name
 * count as one. To be called before the first profile.
 */
BAT_API void bat_overlaps_use_plain_names(struct bat_overlaps *comparison);

/*
 * Begin the next profile: the following records are its own. Time n log n in the records of the
 * profile before, which then takes no more memory than they do. Fails with BAT_ERR_MEMORY.
 */
BAT_API enum bat_code bat_overlaps_begin(struct bat_overlaps *comparison, struct bat_error *error);

/*
 * Add a record to the profile that was begun last. Both texts are copied; neither is empty. Counts
 * of the same record add up, records without a count are left out. Constant time on average. Fails
 * with BAT_ERR_MEMORY, BAT_ERR_RANGE if the profile's counts add up to 2^63 or more, and with
 * BAT_ERR_ARGUMENT before the first profile and after bat_overlaps_finish().
 */
BAT_API enum bat_code bat_overlaps_record(struct bat_overlaps *comparison, const char *function,
                                          const char *record, uint64_t count,
                                          struct bat_error *error);

/*
 * Begin the next profile, and add the fdata records, traces and basic samples of `profile`. Traces
 * and samples have addresses; elf is the binary that was sampled, for the names of functions, or
 * NULL: then there is one function. Linear. Fails as bat_overlaps_record(), and as
 * bat_elf_symbols().
 */
BAT_API enum bat_code bat_overlaps_add_profile(struct bat_overlaps *comparison,
                                               const struct bat_profile *profile,
                                               struct bat_elf *elf, struct bat_error *error);

/* What a profile's records are of. Only profiles of one form can be compared. */
enum bat_compared_form {
    BAT_COMPARED_FDATA,
    BAT_COMPARED_FDATA_SAMPLES, /* basic samples in the binary's functions */
    BAT_COMPARED_YAML,
    BAT_COMPARED_PREAGG,
    BAT_COMPARED_AUTOFDO,     /* LLVM's sample profile */
    BAT_COMPARED_AUTOFDO_MD5, /* the same with MD5 sums as names */
};

/* A form in words, for messages; static. */
BAT_API const char *bat_compared_form_name(enum bat_compared_form form);

enum bat_fdata_origin {
    BAT_FDATA_NONE,     /* the file is no fdata, or not a regular file, which could be read again */
    BAT_FDATA_BOLTED,   /* its header says that the binary had a BAT note */
    BAT_FDATA_UNBOLTED, /* it does not */
};

/*
 * Look at the beginning of a file: if some of the profiles are of BOLTed binaries and some are not,
 * they have to be compared by plain names. Fails with BAT_ERR_IO.
 */
BAT_API enum bat_code bat_fdata_origin_of(const char *path, enum bat_fdata_origin *origin,
                                          struct bat_error *error);

/*
 * Begin the next profile, and add the one in a file, or on standard input ("-"), whatever its form
 * is. elf is the binary that pre-aggregated profiles are of, or NULL. Sets *form. Fails as
 * bat_profile_read_memory(), as bat_overlaps_add_profile(), with BAT_ERR_IO, with
 * BAT_ERR_UNSUPPORTED for perf.data, which must be translated first, and BAT_ERR_SYNTAX for other
 * forms.
 */
BAT_API enum bat_code bat_overlaps_add_file(struct bat_overlaps *comparison, const char *path,
                                            struct bat_elf *elf, enum bat_compared_form *form,
                                            struct bat_error *error);

/* To be called after the last record, before the questions. Time n log n. Fails with
 * BAT_ERR_MEMORY. */
BAT_API enum bat_code bat_overlaps_finish(struct bat_overlaps *comparison, struct bat_error *error);

/* What a profile has. */
struct bat_overlaps_size {
    uint64_t samples; /* the sum of its counts */
    uint64_t records;
    uint64_t functions;
};

/* The size of a profile, by its number. All zero if there is none of that number. Constant time. */
BAT_API struct bat_overlaps_size bat_overlaps_size(const struct bat_overlaps *comparison,
                                                   uint32_t profile);

/* How two profiles agree. Shares are 0 to 1. Later versions may add members at the end. */
struct bat_agreement {
    double overlap;           /* of the records: the sum of the smaller of both shares */
    double functions;         /* the same of the functions' shares */
    double similarity;        /* as llvm-profdata computes "profile similarity" */
    double sample_overlap;    /* the sum of the smaller counts by that of the larger counts */
    uint64_t only_samples[2]; /* counts of the records that only one of them has */
    uint64_t only_records[2];
    uint64_t only_functions[2];
};

/*
 * Compare two profiles, by their numbers. A profile without records agrees with nothing. Linear in
 * the records of both, and in all functions. Fails with BAT_ERR_MEMORY, and with BAT_ERR_ARGUMENT
 * if there is no profile of a number.
 */
BAT_API enum bat_code bat_overlaps_pair(const struct bat_overlaps *comparison, uint32_t left,
                                        uint32_t right, struct bat_agreement *agreement,
                                        struct bat_error *error);

/* How they agree on one function. Later versions may add members at the end. */
struct bat_function_agreement {
    const char *name; /* belongs to the comparison */
    double shares[2]; /* of the samples of each profile */
    double overlap;   /* inside the function: the sum of the smaller of both shares of a record */
};

/* Receives a function, valid during the call, with context. Returns false to stop. */
typedef bool bat_function_agreement_fn(const struct bat_function_agreement *agreement,
                                       void *context);

/*
 * Compare two profiles function by function: that which differs most first, by the larger of both
 * shares less what is common; equal ones by name. Fails as bat_overlaps_pair(), and with
 * BAT_ERR_MEMORY if found() returns false. Time n log n in the functions.
 */
BAT_API enum bat_code bat_overlaps_functions(const struct bat_overlaps *comparison, uint32_t left,
                                             uint32_t right, bat_function_agreement_fn *found,
                                             void *context, struct bat_error *error);

/* --- What all agree on ------------------------------------------------------------------------ */

/*
 * Keep of profile the traces, samples, loads, fdata records and events that `from` has as well,
 * each with the smaller of both counts. A branch stays a return if both say so. On failure profile
 * is as it was: BAT_ERR_MEMORY, BAT_ERR_MISMATCH if only one has fdata, or fdata of another kind.
 * Linear in profile.
 */
BAT_API enum bat_code bat_profile_keep_common(struct bat_profile *profile,
                                              const struct bat_profile *from,
                                              struct bat_error *error);

/*
 * Write the fdata records that a profile holds, as they were read: by the names and offsets of
 * their ends. The caller begins and commits output (bat_output.h). Fails with BAT_ERR_MEMORY,
 * BAT_ERR_IO. Time is n log n.
 */
BAT_API enum bat_code bat_profile_write_fdata(const struct bat_profile *profile,
                                              struct bat_output *output, struct bat_error *error);

#ifdef __cplusplus
}
#endif

#endif
