/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "words.h"

#include <stdio.h>

bool profile_warning_limited(const char *work, uint64_t limited, char text[PROFILE_WARNING_SIZE])
{
    if (limited != 0)
        snprintf(text, PROFILE_WARNING_SIZE,
                 "%s was given up %lu times, because it takes too much work: counts are left out "
                 "or less exact there",
                 work, limited);
    return limited != 0;
}

bool profile_warning_filter(const struct bat_profile *profile, char text[PROFILE_WARNING_SIZE])
{
    char names[128];
    if (bat_profile_branch_filter(profile, names, sizeof(names)) == 0)
        return false;
    snprintf(text, PROFILE_WARNING_SIZE,
             "perf recorded only some branches (-j %s): what ran between two of them is not known, "
             "and not in the profile",
             names);
    return true;
}

enum bat_code profile_fail_without_records(const struct bat_profile *profile,
                                           struct bat_error *error)
{
    const uint64_t processes = bat_profile_counters(profile).perf_processes;
    if (processes == 0)
        return bat_fail(error, BAT_ERR_SYNTAX, "expected a profile with records, found none in it");
    return bat_fail(error, BAT_ERR_SYNTAX,
                    "expected samples, found none in the recording, which has the binary in %lu "
                    "processes: it was idle, or this machine does not count the event (perf record "
                    "-e cpu-clock:u works on virtual machines)",
                    processes);
}
