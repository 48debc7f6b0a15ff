/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What was read of a recording is what the profile holds and what was left out, by reason. */

#include "perf_data.h"
#include "profile/profile.h"

/* Fail if the whole is not its parts. */
static enum bat_code check(const char *what, uint64_t whole, uint64_t parts,
                           struct bat_error *error)
{
    if (whole == parts)
        return BAT_OK;
    return bat_fail(error, BAT_ERR_MISMATCH,
                    "expected the recording's %s to be those used and those left out, found %lu "
                    "and %lu: this is a fault of batkit",
                    what, whole, parts);
}

enum bat_code perf_check_sums(struct bat_profile *const *parts, uint32_t count,
                              struct bat_error *error)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < count && code == BAT_OK; i++) {
        const struct bat_profile *part = parts[i];
        const struct bat_profile_counters *all = &part->counters;
        code = check("samples", all->perf_samples,
                     all->perf_foreign_samples + all->perf_plain_samples + all->perf_used_samples +
                         all->perf_unread_samples,
                     error);
        if (code == BAT_OK)
            code = check("entries of branch stacks", all->perf_branches,
                         all->perf_kernel_branches + all->perf_wrong_path + all->perf_dropped +
                             all->perf_used_branches,
                         error);
        if (code == BAT_OK)
            code = check("entries that are used", all->perf_used_branches,
                         bat_counts_sum(&part->traces), error);
        if (code == BAT_OK)
            code = check("addresses", all->sample_records, bat_counts_sum(&part->samples), error);
    }
    return code;
}
