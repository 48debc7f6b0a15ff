/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* battranslate's work for several binaries. */
#ifndef BAT_TOOLS_BATTRANSLATE_SEVERAL_H
#define BAT_TOOLS_BATTRANSLATE_SEVERAL_H

#include "request.h"
#include "tools/common/tool.h"

/* True if a request is for several binaries, or says so: it needs several_run(). */
bool several_is(const struct translate_request *request);

/* As translate_run(), for several binaries: each profile is read once. */
enum tool_exit several_run(const struct translate_request *request);

#endif
