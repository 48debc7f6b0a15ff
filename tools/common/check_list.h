/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The checks of --check: their ids, limits and suppressions. spec/fitness.md describes each. */
#ifndef BAT_TOOLS_COMMON_CHECK_LIST_H
#define BAT_TOOLS_COMMON_CHECK_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "bat_validate.h"
#include "tools/common/tool.h"

enum check_number {
    CHECK_READ,
    CHECK_BUILD_ID,
    CHECK_PROFILES,
    CHECK_SAMPLES,
    CHECK_STACKS,
    CHECK_OUTSIDE,
    CHECK_NOWHERE,
    CHECK_KERNEL,
    CHECK_LOST,
    CHECK_BRANCHES,
    CHECK_TARGETS,
    CHECK_RUNS,
    CHECK_INSTRUCTIONS,

    CHECK_STALE,
    CHECK_DENSITY,
    CHECK_FLOW,
    CHECK_ENTRIES,
    CHECK_CALLS,
    CHECK_CONTINUITY,
    CHECK_NEW_CODE,
    CHECK_OLD_CODE,
    CHECK_FOUND, /* this one and the next need a next build */
    CHECK_INFERRED,
    CHECK_BASELINE_SAMPLES, /* this one and the next need a baseline */
    CHECK_BASELINE,
    CHECK_COUNT,
};

struct check_kind {
    const char *id;
    enum bat_severity severity; /* of the finding */
    bool is_share;              /* value and limit are shares, 0 to 1; else plain numbers */
    bool is_minimum;            /* a value below the limit is a finding; else one above it */
    bool has_functions;         /* computed from those of single functions */
    double limit;               /* the default */
    const char *summary;        /* of the value, in a few words */
};

/* All checks, CHECK_COUNT, by their numbers; static. */
extern const struct check_kind check_kinds[];

/* What the options say. Strings are owned by the caller. */
struct check_options {
    bool is_wanted;
    bool is_strict;                /* warnings make a profile unfit, too */
    double limits[CHECK_COUNT];    /* negative: the default */
    const char *suppressions_path; /* or NULL */
    const char *baseline_path;     /* fdata of a former profile; or NULL */
};

/* No check, with the default limits. */
struct check_options check_options_new(void);

/*
 * Parse ID=VALUE, with a percent sign behind the value or not for shares. False, with what was
 * expected in *expected, if it is anything else.
 */
bool check_parse_limit(struct check_options *options, const char *text, const char **expected);

/* Print all checks with their severities and default limits to standard output. */
void check_print_list(void);

/* --- Suppressions ---------------------------------------------------------------------------- */

/* A line of the file: a check, or a check's share of the functions whose names match. */
struct check_suppression {
    enum check_number check;
    char *pattern; /* NULL: the check as a whole */
    char *reason;
    bool is_used;
};

struct check_suppressions {
    struct check_suppression *all; /* in the order of the file */
    size_t count;
    size_t capacity;
    struct check_suppression **plain; /* patterns that are names: by check, then by pattern */
    size_t plain_count;
    struct check_suppression **wild; /* patterns that may match several names */
    size_t wild_count;
};

/*
 * Read a file of lines "ID [PATTERN] # REASON"; empty lines and those that begin with # are
 * comments. Every function is compared with each pattern that is no name: more than 1,000 of these
 * are refused. TOOL_BAD, with a message, if the file cannot be read or has anything else. The
 * caller frees *suppressions with check_suppressions_free() in any case.
 */
enum tool_exit check_suppressions_read(const char *path, struct check_suppressions *suppressions);
void check_suppressions_free(struct check_suppressions *suppressions);

/* The suppression of a check as a whole, or NULL; it counts as used. */
const struct check_suppression *check_suppressed(struct check_suppressions *suppressions,
                                                 enum check_number check);

/*
 * True if a function does not count for a check. The suppression counts as used if the function is
 * a part of the finding.
 */
bool check_suppresses_function(struct check_suppressions *suppressions, enum check_number check,
                               const char *name, bool is_part);

#endif
