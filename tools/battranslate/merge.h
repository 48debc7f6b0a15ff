/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Adding up fdata and YAML, as merge-fdata does. */
#ifndef BAT_TOOLS_BATTRANSLATE_MERGE_H
#define BAT_TOOLS_BATTRANSLATE_MERGE_H

#include <stdio.h>

#include "bat_output.h"
#include "support/counts.h"
#include "support/string_table.h"

/* Records of one sort. */
struct merged_records {
    struct bat_strings keys;  /* lines without their counts, in the order in which they were met */
    struct bat_counts counts; /* number of a key: count, mispredictions */
};

struct merged_lines {
    struct merged_records samples; /* branches, or basic samples */
    struct merged_records memory;  /* loads, which have no mispredictions */
    struct bat_strings events;     /* that the lines no_lbr name */
    bool is_bolted;                /* the files have the line boltedcollection */
    bool has_no_lbr;               /* ... a line no_lbr */
    bool has_files;                /* the two above are known */
};

void merged_lines_free(struct merged_lines *merged);

/*
 * Add the fdata at path, which may have no records. Errors in the text have line and column. Fails
 * with BAT_ERR_SYNTAX, BAT_ERR_IO, BAT_ERR_MEMORY, BAT_ERR_RANGE for sums of 2^64 and more, and
 * BAT_ERR_MISMATCH for a file with other header lines than the files before.
 */
enum bat_code merged_lines_add(struct merged_lines *merged, const char *path,
                               struct bat_error *error);

/* Write the lines, sorted by their text: samples, loads. The events are sorted, too. */
enum bat_code merged_lines_write(const struct merged_lines *merged, struct bat_output *output,
                                 struct bat_error *error);

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
