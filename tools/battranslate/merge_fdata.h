/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* battranslate called as merge-fdata. */
#ifndef BAT_TOOLS_BATTRANSLATE_MERGE_FDATA_H
#define BAT_TOOLS_BATTRANSLATE_MERGE_FDATA_H

#include "tools/common/tool.h"

/* Read merge-fdata's options and do what they say. Prints errors to standard error. */
enum tool_exit merge_fdata_main(int argc, char **argv);

#endif
