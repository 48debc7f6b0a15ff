/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compares records with a former profile (--check-baseline). */
#ifndef BAT_TOOLS_BATTRANSLATE_BASELINE_H
#define BAT_TOOLS_BATTRANSLATE_BASELINE_H

#include "tools/common/check.h"

/*
 * Compare the records with the fdata in the file at path. TOOL_BAD, with a message, if that cannot
 * be read or is another form of profile.
 */
enum tool_exit baseline_compare(const char *path, const struct bat_records *records,
                                struct check_baseline *baseline);

#endif
