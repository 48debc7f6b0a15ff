/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Handles of the same debug information for other threads. Internal to the library.
 */
#pragma once

#include "bat_debuginfo.h"

/*
 * Open the files of first again, which may be used meanwhile. NULL if they cannot be opened, or if
 * other files are at their paths now.
 */
struct bat_debuginfo *debug_open_second(const struct bat_debuginfo *first);

/* Close second, and count in first what only second has read. */
void debug_close_second(struct bat_debuginfo *first, struct bat_debuginfo *second);
