/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The address that calls of a function go to: spec/autofdo.md 2. */
#ifndef BAT_PROFILE_AUTOFDO_ENTRY_H
#define BAT_PROFILE_AUTOFDO_ENTRY_H

#include "bat_debuginfo.h"

/* No entry: the function is not called by its name, as the part of a coroutine that resumes it. */
#define ENTRY_NONE UINT64_MAX

/*
 * The address that calls of a function go to, or ENTRY_NONE. name_length is the length of the
 * function's name without suffixes (name_parts.h). Linear in the function's ranges, times the
 * logarithm of the number of symbols.
 */
uint64_t entry_of(struct bat_debuginfo *debuginfo, const struct bat_debuginfo_function *function,
                  size_t name_length);

#endif
