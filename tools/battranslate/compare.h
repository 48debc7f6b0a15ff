/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How much profiles agree (--compare): two in detail, more as a matrix. spec/compare.md. */
#ifndef BAT_TOOLS_BATTRANSLATE_COMPARE_H
#define BAT_TOOLS_BATTRANSLATE_COMPARE_H

#include "request.h"
#include "tools/common/tool.h"

/* Compare the profiles that the request names in place of binaries, and print how they agree. */
enum tool_exit compare_run(const struct translate_request *request);

#endif
