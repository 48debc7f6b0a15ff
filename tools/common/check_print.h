/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Prints the verdict on a profile (--check). */
#pragma once

#include <stdio.h>

#include "bat_verdict.h"
#include "tool.h"

/* Keys of the options that check_parse() reads. */
enum check_key { CHECK_LIMIT = 0x800, CHECK_STRICT, CHECK_SUPPRESS, CHECK_LIST };

/*
 * Read an option of the checks. False if it is another key; exits for a bad value, and after the
 * list of all checks with their severities and default limits.
 */
struct argp_state;
bool check_parse(int key, char *argument, struct argp_state *state,
                 struct bat_verdict_options *options);

/* bat_verdict_write() to a file. TOOL_BAD, with a message, if there is no memory. */
enum tool_exit check_print(const struct bat_profile_verdict *check, const char *binary, FILE *file);

/*
 * Print the verdict of bat_verdict_judge_counters(): as a line for people, if any check was made,
 * or as the JSON member "quick_check":{...}.
 */
void check_print_line(const struct bat_profile_verdict *check, FILE *file);
void check_print_line_json(const struct bat_profile_verdict *check, FILE *file);

/* Warn that a profile is unfit, if it is, and name the checks. */
void check_warn(const struct bat_profile_verdict *check, const char *binary);
