/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Options that battranslate has because perf2bolt has them. */
#ifndef BAT_TOOLS_BATTRANSLATE_PERF2BOLT_OPTIONS_H
#define BAT_TOOLS_BATTRANSLATE_PERF2BOLT_OPTIONS_H

#include <argp.h>

#include "request.h"
#include "tools/common/tool.h"

/* A child of battranslate's own parser. Its input is the struct translate_request. */
extern const struct argp perf2bolt_argp;

/*
 * Add the profile at path; if no file has that name and there are commas in it, the profiles that
 * they separate. path must outlive the request.
 */
void perf2bolt_add_profiles(struct translate_request *request, struct argp_state *state,
                            char *path);

/* Free what this parser and perf2bolt_add_profiles() have added to the request. */
void perf2bolt_free(struct translate_request *request);

#endif
