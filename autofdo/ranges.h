/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a profile executed: ranges of instructions and branches, with their counts. */
#ifndef BAT_AUTOFDO_RANGES_H
#define BAT_AUTOFDO_RANGES_H

#include "bat_autofdo.h"
#include "code_map.h"
#include "counts.h"

/* The source of a branch that came from outside, as llvm-profgen writes it. */
#define RANGES_OUTSIDE 1u

struct ranges {
    struct bat_counts ranges;   /* first instruction, last instruction: count, 0 */
    struct bat_counts branches; /* source, target: count, 0 */
};

/*
 * Take ranges and branches out of the traces of a profile. A range that no execution can fall
 * through is left out, as is what is not in the code; counters->samples, invalid, outside, ranges
 * and branches tell of it. Both tables are sorted. To be freed with ranges_free().
 */
enum bat_code ranges_collect(struct ranges *ranges, const struct bat_profile *profile,
                             struct code_map *code, struct bat_autofdo_counters *counters,
                             struct bat_error *error);
void ranges_free(struct ranges *ranges);

/* A run of addresses that was executed count times; [first, last], not split by instructions. */
struct range_run {
    uint64_t first;
    uint64_t last;
    uint64_t count;
};

/*
 * Cut ranges that overlap into runs that do not, ascending, with the sums of their counts.
 * *runs is to be freed with free(). Time n log n.
 */
enum bat_code ranges_cut(const struct range_run *ranges, size_t count, struct range_run **runs,
                         size_t *run_count, struct bat_error *error);

#endif
