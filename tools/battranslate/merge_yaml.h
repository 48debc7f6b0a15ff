/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Merging YAML profiles as merge-fdata does. */
#ifndef BAT_TOOLS_BATTRANSLATE_MERGE_YAML_H
#define BAT_TOOLS_BATTRANSLATE_MERGE_YAML_H

#include <stdio.h>

#include "bat_output.h"

struct merged_yaml;

/* The list of functions that is printed. */
enum merge_print { MERGE_PRINT_NONE, MERGE_PRINT_EXEC, MERGE_PRINT_BRANCHES };

/* NULL if there is no memory. */
struct merged_yaml *merged_yaml_new(void);
void merged_yaml_free(struct merged_yaml *merged);

/*
 * Add the YAML profile at path. Prints name, and warnings, to standard error. Fails with
 * BAT_ERR_SYNTAX (line and column), BAT_ERR_IO, BAT_ERR_MEMORY, BAT_ERR_RANGE for sums of 2^64 and
 * more, and BAT_ERR_MISMATCH if it is not of the same binary as those before it.
 */
enum bat_code merged_yaml_add(struct merged_yaml *merged, const char *name, const char *path,
                              struct bat_error *error);

/* Write the merged profile, sorted: functions by their numbers. Nothing can be added after that. */
enum bat_code merged_yaml_write(struct merged_yaml *merged, struct bat_output *output,
                                struct bat_error *error);

/* Print the number of functions, and the list. */
void merged_yaml_print(struct merged_yaml *merged, FILE *file, enum merge_print print);

#endif
