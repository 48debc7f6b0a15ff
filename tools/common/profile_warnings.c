/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tool.h"

#include "profile/verdict/words.h"

void tool_warn_branch_filter(const char *file, const struct bat_profile *profile)
{
    char text[PROFILE_WARNING_SIZE];
    if (profile_warning_filter(profile, text))
        tool_message(file, "warning: %s", text);
}

void split_units_warn(const char *path, uint64_t missing, uint64_t read)
{
    if (missing == 0)
        return;
    tool_message(path,
                 "warning: the split debug information (.dwo files, or a .dwp beside the program) "
                 "of %lu of %lu units that were read was not found: their inlined calls are known "
                 "only if the compiler also put these into the program (-fsplit-dwarf-inlining)",
                 missing, read);
}
