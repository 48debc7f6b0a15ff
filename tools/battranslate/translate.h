/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What battranslate does, after its options were read. */
#pragma once

#include <argp.h>

#include "request.h"
#include "tools/common/tool.h"

/*
 * Translate and report. Prints errors to standard error. Outputs are written completely or not at
 * all.
 */
enum tool_exit translate_run(const struct translate_request *request);

/* Write what the profiles that the request names in place of binaries have in common:
 * spec/compare.md, 5. */
enum tool_exit common_run(const struct translate_request *request);

/* Compare the profiles that the request names in place of binaries, and print how they agree:
 * spec/compare.md. */
enum tool_exit compare_run(const struct translate_request *request);

/* Print what the recording that --explain-recording names holds. TOOL_BAD if it is of no use. */
enum tool_exit explain_recording_run(const struct translate_request *request);

/* Read merge-fdata's options and do what they say. Prints errors to standard error. */
enum tool_exit merge_fdata_main(int argc, char **argv);

/* True if a request is for several binaries, or says so: it needs several_run(). */
bool several_is(const struct translate_request *request);

/* As translate_run(), for several binaries: each profile is read once. */
enum tool_exit several_run(const struct translate_request *request);

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
