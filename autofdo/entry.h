/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where calls of a function go: spec/autofdo.md 2. */
#ifndef BAT_AUTOFDO_ENTRY_H
#define BAT_AUTOFDO_ENTRY_H

#include "bat_debuginfo.h"

/* A function that is not called by its name, such as the part of a coroutine that resumes it. */
#define ENTRY_NONE UINT64_MAX

/*
 * The address that calls of a function go to, or ENTRY_NONE. Its name has name_length bytes without
 * suffixes (function_name.h). Linear in the function's ranges, times the logarithm of the number of
 * symbols.
 */
uint64_t entry_of(struct bat_debuginfo *debuginfo, const struct bat_debuginfo_function *function,
                  size_t name_length);

#endif
