/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What may be read of debug information: amounts, and addresses that have code. */
#include "debuginfo.h"
#include "spec/order.h"

/* All names may have this many times the size of the files in total: they may overlap. */
#define NAMES_MAX 64u

void debug_allow(struct bat_debuginfo *debuginfo, uint64_t lines, uint64_t info, uint64_t size)
{
    debuginfo->budget.nodes += info / DEBUG_NODE_SIZE_MIN;
    debuginfo->budget.lines += lines;
    debuginfo->budget.ranges += size;
    debuginfo->budget.names += NAMES_MAX * size;
    debuginfo->name_budget += NAMES_MAX * size;
}

bool debug_is_code(const struct bat_debuginfo *debuginfo, uint64_t address)
{
    /* Linkers write 0 and 1 where a function was dropped; no program has code there, but kernel
       modules do. */
    if (address <= 1 && !debuginfo->is_relocatable)
        return false;
    size_t found = BAT_COUNT_UP_TO(debuginfo->code, debuginfo->code_count, end, address);
    return found < debuginfo->code_count && address >= debuginfo->code[found].start;
}
