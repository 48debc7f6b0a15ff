/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* battranslate's work, after its options were read. */
#ifndef BAT_TOOLS_BATTRANSLATE_TRANSLATE_H
#define BAT_TOOLS_BATTRANSLATE_TRANSLATE_H

#include "request.h"
#include "tools/common/tool.h"

/*
 * Translate and report. Prints errors to standard error. Outputs are written completely or not at
 * all.
 */
enum tool_exit translate_run(const struct translate_request *request);

#endif
