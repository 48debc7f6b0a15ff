/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Merging fdata as merge-fdata does: lines that differ in their counts only are added up. */
#ifndef BAT_TOOLS_BATTRANSLATE_MERGE_LINES_H
#define BAT_TOOLS_BATTRANSLATE_MERGE_LINES_H

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

#endif
