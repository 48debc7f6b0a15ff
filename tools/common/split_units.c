/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "split_units.h"

#include <inttypes.h>

#include "tool.h"

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
