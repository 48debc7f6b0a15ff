/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "heatmap_buckets.h"
#include "spec/array.h"
#include "spec/order.h"

#include <stdlib.h>

/* The longest run that is counted, in bytes. */
#define RUN_MAX ((uint64_t)64 << 10)

void heatmap_free(struct heatmap_buckets *buckets)
{
    free(buckets->all);
    *buckets = (struct heatmap_buckets){0};
}

static bool append(struct heatmap_buckets *buckets, uint64_t number, uint64_t count)
{
    return BAT_APPEND(buckets->all, buckets->count, buckets->capacity,
                      (struct heatmap_bucket){number, count});
}

/* Note where the count begins, and ends behind last: sums are modulo 2^64. */
static bool add(struct heatmap_buckets *buckets, uint64_t first, uint64_t last, uint64_t count)
{
    return append(buckets, first, count) && append(buckets, last + 1, 0 - count);
}

/* Make buckets of the places where counts change. */
static bool sum_up(struct heatmap_buckets *buckets)
{
    struct heatmap_buckets result = {0};
    BAT_SORT_BY(buckets->all, buckets->count, number);
    uint64_t count = 0;
    bool fits = true;
    for (size_t i = 0; fits && i < buckets->count; i++) {
        uint64_t number = buckets->all[i].number;
        count += buckets->all[i].count;
        uint64_t end = i + 1 < buckets->count ? buckets->all[i + 1].number : number;
        for (; fits && count != 0 && number < end; number++)
            fits = append(&result, number, count);
    }
    heatmap_free(buckets);
    *buckets = result;
    return fits;
}

static bool is_counted(uint64_t address, uint64_t min, uint64_t max)
{
    return address != BAT_ADDRESS_EXTERNAL && address >= min && address <= max;
}

bool heatmap_count(struct heatmap_buckets *buckets, const struct bat_profile *profile,
                   uint64_t size, uint64_t min, uint64_t max)
{
    struct bat_trace trace;
    bool fits = true;
    for (uint64_t i = 0; fits && bat_profile_trace(profile, i, &trace); i++)
        if (trace.to != BAT_TRACE_BRANCH_ONLY && is_counted(trace.from, min, max) &&
            trace.from <= trace.to && trace.to - trace.from <= RUN_MAX)
            fits = add(buckets, trace.from / size, trace.to / size, trace.count);
    uint64_t address;
    uint64_t count;
    for (uint64_t i = 0; fits && bat_profile_sample(profile, i, &address, &count); i++)
        if (is_counted(address, min, max))
            fits = add(buckets, address / size, address / size, count);
    return fits && sum_up(buckets);
}

void heatmap_join(struct heatmap_buckets *buckets, uint64_t factor)
{
    size_t kept = 0;
    for (size_t i = 0; i < buckets->count; i++) {
        struct heatmap_bucket bucket = buckets->all[i];
        bucket.number /= factor;
        if (kept != 0 && buckets->all[kept - 1].number == bucket.number)
            buckets->all[kept - 1].count += bucket.count;
        else
            buckets->all[kept++] = bucket;
    }
    buckets->count = kept;
}
