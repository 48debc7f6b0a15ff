/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The ranges of instructions and the branches that a profile's traces executed, with counts. */
#ifndef BAT_PROFILE_AUTOFDO_RANGES_H
#define BAT_PROFILE_AUTOFDO_RANGES_H

#include "bat_autofdo.h"
#include "code_map.h"
#include "support/counts.h"

/* The source of branches from outside of the program, as llvm-profgen writes it. */
#define RANGES_OUTSIDE 1u

struct ranges {
    struct bat_counts ranges;   /* first instruction, last instruction: count, 0 */
    struct bat_counts branches; /* source, target: count, 0 */
};

/*
 * Collect the ranges and branches of a profile's traces in two sorted tables. Leaves out ranges
 * that execution cannot fall through, and traces whose target is not code. Counts samples, invalid,
 * outside, ranges and branches of counters. Free *ranges with ranges_free(). Fails with
 * BAT_ERR_RANGE (the counts add up to 2^64 or more) or BAT_ERR_MEMORY.
 */
enum bat_code ranges_collect(struct ranges *ranges, const struct bat_profile *profile,
                             struct code_map *code, struct bat_autofdo_counters *counters,
                             struct bat_error *error);
void ranges_free(struct ranges *ranges);

/* The addresses [first, last] were executed count times. last can be inside an instruction. */
struct range_run {
    uint64_t first;
    uint64_t last;
    uint64_t count;
};

/*
 * Split ranges that overlap into runs that do not, ascending, each with the sum of the counts of
 * its ranges. The caller frees *runs with free(). Fails with BAT_ERR_MEMORY. Time n log n.
 */
enum bat_code ranges_cut(const struct range_run *ranges, size_t count, struct range_run **runs,
                         size_t *run_count, struct bat_error *error);

#endif
