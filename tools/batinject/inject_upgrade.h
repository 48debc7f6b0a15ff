/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Making an old note one of version 3. */
#ifndef BAT_TOOLS_BATINJECT_INJECT_UPGRADE_H
#define BAT_TOOLS_BATINJECT_INJECT_UPGRADE_H

#include "bat_binary.h"

/*
 * Upgrade the binary's map. Blocks get the numbers that they have in the code of the input binary
 * at path; path may be NULL, then in the note. Errors are told on standard error.
 */
bool inject_upgrade(const char *file, struct bat_binary *binary, const char *path);

#endif
