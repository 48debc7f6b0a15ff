/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ranges.h"

#include <stdlib.h>

#include "profile/profile.h"
#include "support/key_sort.h"

/* --- From traces ---------------------------------------------------------------------------- */

static bool is_known(uint64_t branch)
{
    return branch != BAT_TRACE_FALLTHROUGH_ONLY && branch != BAT_TRACE_EXTERNAL_RETURN;
}

/* Additions that are made together. */
struct batches {
    struct bat_counts_batch ranges;
    struct bat_counts_batch branches;
};

/* A trace is (branch, from, to): branch went to from, and the next branch was at to. */
static enum bat_code add_trace(struct ranges *ranges, struct batches *batches,
                               const uint64_t *trace, struct code_map *code,
                               struct bat_autofdo_counters *counters)
{
    uint64_t count = trace[3];
    if (__builtin_add_overflow(counters->samples, count, &counters->samples))
        return BAT_ERR_RANGE;
    bool from_is_code = code_map_starts(code, trace[1]);
    if (!from_is_code)
        counters->outside += count;
    enum bat_code status = BAT_OK;
    if (from_is_code && is_known(trace[0]) && count != 0) {
        uint64_t source = code_map_has(code, trace[0]) ? trace[0] : RANGES_OUTSIDE;
        uint64_t branch[2] = {source, trace[1]};
        status = bat_counts_add_later(&ranges->branches, &batches->branches, branch, count, 0);
    }
    if (status != BAT_OK || !from_is_code || trace[2] == BAT_TRACE_BRANCH_ONLY || count == 0)
        return status;
    if (trace[1] > trace[2] || !code_map_falls_through(code, trace[1], trace[2])) {
        counters->invalid += count;
        return BAT_OK;
    }
    return bat_counts_add_later(&ranges->ranges, &batches->ranges, trace + 1, count, 0);
}

enum bat_code ranges_collect(struct ranges *ranges, const struct bat_profile *profile,
                             struct code_map *code, struct bat_autofdo_counters *counters,
                             struct bat_error *error)
{
    *ranges = (struct ranges){.ranges = bat_counts_new(2), .branches = bat_counts_new(2)};
    struct batches batches = {.ranges = {.count = 0}};
    enum bat_code status = BAT_OK;
    for (uint32_t i = 0; i < profile->traces.count && status == BAT_OK; i++)
        status = add_trace(ranges, &batches, bat_counts_item(&profile->traces, i), code, counters);
    status = status ? status : bat_counts_flush(&ranges->ranges, &batches.ranges);
    status = status ? status : bat_counts_flush(&ranges->branches, &batches.branches);
    if (status != BAT_OK) {
        ranges_free(ranges);
        return bat_counts_fail(error, status, "the profile's ranges");
    }
    bat_counts_sort(&ranges->ranges);
    bat_counts_sort(&ranges->branches);
    counters->ranges = ranges->ranges.count;
    counters->branches = ranges->branches.count;
    return BAT_OK;
}

void ranges_free(struct ranges *ranges)
{
    bat_counts_free(&ranges->ranges);
    bat_counts_free(&ranges->branches);
}

/* --- Runs that do not overlap --------------------------------------------------------------- */

/*
 * The starts of ranges and the addresses behind their ends, in ascending order. The value is twice
 * the range's position, and 1 more for an end. *edges is to be freed; NULL: there is no memory.
 */
static const struct bat_sort_key *sort_edges(const struct range_run *ranges, size_t count,
                                             struct bat_sort_key **edges)
{
    *edges = malloc(4 * count * sizeof(**edges) + 1);
    if (!*edges)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        (*edges)[2 * i] = (struct bat_sort_key){ranges[i].first, 2 * i};
        (*edges)[2 * i + 1] = (struct bat_sort_key){ranges[i].last + 1, 2 * i + 1};
    }
    return bat_sort_keys(*edges, *edges + 2 * count, 2 * count);
}

enum bat_code ranges_cut(const struct range_run *ranges, size_t count, struct range_run **runs,
                         size_t *run_count, struct bat_error *error)
{
    struct bat_sort_key *memory;
    const struct bat_sort_key *edges = sort_edges(ranges, count, &memory);
    *runs = malloc(2 * count * sizeof(**runs) + 1);
    *run_count = 0;
    if (!edges || !*runs) {
        free(memory);
        free(*runs);
        *runs = NULL;
        return bat_fail_memory(error, "to make the profile");
    }
    uint64_t total = 0;
    size_t depth = 0; /* ranges that have this address, including those of count 0 */
    for (size_t i = 0; i < 2 * count; i++) {
        if (depth > 0 && edges[i].key > edges[i - 1].key)
            (*runs)[(*run_count)++] = (struct range_run){edges[i - 1].key, edges[i].key - 1, total};
        const bool is_end = edges[i].value % 2 != 0;
        const uint64_t range_samples = ranges[edges[i].value / 2].count;
        total += is_end ? 0 - range_samples : range_samples;
        depth += is_end ? SIZE_MAX : 1;
    }
    free(memory);
    return BAT_OK;
}
