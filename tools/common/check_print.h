/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Prints the verdict on a profile (--check). */
#ifndef BAT_TOOLS_COMMON_CHECK_PRINT_H
#define BAT_TOOLS_COMMON_CHECK_PRINT_H

#include <stdio.h>

#include "bat_verdict.h"
#include "tool.h"

/* Print all checks with their severities and default limits to standard output. */
void check_print_list(void);

/*
 * Print the checks and the verdict on a profile of binary (its path): for people, or as the JSON
 * member "check":{...}. TOOL_BAD, with a message, if that cannot be written.
 */
enum tool_exit check_print(const struct bat_profile_verdict *check, const char *binary, FILE *file);
enum tool_exit check_print_json(const struct bat_profile_verdict *check, FILE *file);

/*
 * Print the verdict of bat_verdict_judge_counters(): as a line for people, if any check was made,
 * or as the JSON member "quick_check":{...}.
 */
void check_print_line(const struct bat_profile_verdict *check, FILE *file);
void check_print_line_json(const struct bat_profile_verdict *check, FILE *file);

/* Warn that a profile is unfit, if it is, and name the checks. */
void check_warn(const struct bat_profile_verdict *check, const char *binary);

#endif
