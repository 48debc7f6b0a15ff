/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Prints the verdict on a profile (--check). */
#ifndef BAT_TOOLS_COMMON_CHECK_PRINT_H
#define BAT_TOOLS_COMMON_CHECK_PRINT_H

#include <stdio.h>

#include "bat_verdict.h"
#include "tool.h"

/* Print all checks with their severities and default limits to standard output. */
void check_print_list(void);

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

#endif
