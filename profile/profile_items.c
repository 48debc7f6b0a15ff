/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a profile holds, one by one. */
#include "profile.h"

static bool is_return(const struct bat_profile *profile, const uint64_t *branch)
{
    return *branch == BAT_TRACE_EXTERNAL_RETURN ||
           bat_counts_find(&profile->returns, branch) != NULL;
}

bool bat_profile_trace(const struct bat_profile *profile, uint64_t i, struct bat_trace *trace)
{
    if (i >= profile->traces.count)
        return false;
    const uint64_t *item = bat_counts_item(&profile->traces, (uint32_t)i);
    *trace = (struct bat_trace){.branch = item[0],
                                .from = item[1],
                                .to = item[2],
                                .count = item[3],
                                .mispredictions = item[4],
                                .is_return = is_return(profile, item)};
    return true;
}

bool bat_profile_sample(const struct bat_profile *profile, uint64_t i, uint64_t *address,
                        uint64_t *count)
{
    if (i >= profile->samples.count)
        return false;
    const uint64_t *item = bat_counts_item(&profile->samples, (uint32_t)i);
    *address = item[0];
    *count = item[1];
    return true;
}

bool bat_profile_load(const struct bat_profile *profile, uint64_t i, uint64_t *address,
                      uint64_t *data_address, uint64_t *count)
{
    if (i >= profile->mem_samples.count)
        return false;
    const uint64_t *item = bat_counts_item(&profile->mem_samples, (uint32_t)i);
    *address = item[0];
    *data_address = item[1];
    *count = item[2];
    return true;
}

const char *bat_profile_event(const struct bat_profile *profile, uint64_t i)
{
    return i < profile->events.count ? bat_strings_get(&profile->events, (uint32_t)i) : NULL;
}
