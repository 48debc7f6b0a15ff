/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "profile_warnings.h"

#include <inttypes.h>

#include "bat_profile.h"

void tool_warn_limited(const char *file, const char *work, uint64_t limited)
{
    if (limited != 0)
        tool_message(file,
                     "warning: %s was given up %" PRIu64 " times, because it takes too much work: "
                     "counts are left out or less exact there",
                     work, limited);
}

void tool_warn_branch_filter(const char *file, const struct bat_profile *profile)
{
    char names[128];
    if (bat_profile_branch_filter(profile, names, sizeof(names)) != 0)
        tool_message(file,
                     "warning: perf recorded only some branches (-j %s): what ran between two of "
                     "them is not known, and not in the profile",
                     names);
}

void split_units_warn(const char *path, uint64_t missing, uint64_t read)
{
    if (missing == 0)
        return;
    tool_message(path,
                 "warning: the split debug information (.dwo files, or a .dwp beside the program) "
                 "of %" PRIu64 " of %" PRIu64
                 " units that were read was not found: their inlined calls are known only if the "
                 "compiler also put these into the program (-fsplit-dwarf-inlining)",
                 missing, read);
}

enum tool_exit tool_fail_without_records(const char *file, const struct bat_profile *profile)
{
    const uint64_t processes = bat_profile_counters(profile).perf_processes;
    if (processes == 0)
        return tool_message(file, "expected a profile with records, found none in it");
    return tool_message(file,
                        "expected samples, found none in the recording, which has the binary in "
                        "%" PRIu64 " processes: it was idle, or this machine does not count the "
                        "event (perf record -e cpu-clock:u works on virtual machines)",
                        processes);
}
