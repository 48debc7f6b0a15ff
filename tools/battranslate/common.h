/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What profiles agree on (--common): spec/compare.md, 5. */
#ifndef BAT_TOOLS_BATTRANSLATE_COMMON_H
#define BAT_TOOLS_BATTRANSLATE_COMMON_H

#include "request.h"
#include "tools/common/tool.h"

/* Write what the profiles that the request names in place of binaries have in common. */
enum tool_exit common_run(const struct translate_request *request);

#endif
