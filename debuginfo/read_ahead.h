/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reads many units at once, before their addresses are looked up. Internal to the library. */
#pragma once

#include "bat_debuginfo.h"

/*
 * Read the units, and their line tables, that have the addresses, which ascend: by as many threads
 * as bat_debuginfo_set_threads() allows. What they find does not depend on that. A unit that takes
 * libdw is left to its first look-up. Without memory bat_debuginfo_lacks_memory() becomes true.
 */
void debug_read_ahead(struct bat_debuginfo *debuginfo, const uint64_t *addresses, size_t count);

/* The number of threads that bat_debuginfo_set_threads() was given. */
unsigned debug_threads(const struct bat_debuginfo *debuginfo);
