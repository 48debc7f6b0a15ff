/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Heat maps of a profile, in the text of perf2bolt --heatmap and llvm-bolt-heatmap. */
#ifndef BAT_TOOLS_BATTRANSLATE_HEATMAP_H
#define BAT_TOOLS_BATTRANSLATE_HEATMAP_H

#include "bat_profile.h"
#include "tools/common/tool.h"

#define HEATMAP_SIZES_MAX 16u
#define HEATMAP_LINE_MAX 65536u

struct heatmap_options {
    const char *path; /* of the first map, or "-"; NULL for none */
    uint64_t sizes[HEATMAP_SIZES_MAX];
    uint32_t size_count; /* 0: the usual sizes */
    uint32_t line_size;  /* buckets in a line; 0: the usual number */
    uint64_t min_address;
    uint64_t max_address; /* 0: the usual one */
    bool prints_mappings;
};

/*
 * Parse sizes of buckets such as 64,4K,256K: each a multiple of the one before. False if the text
 * is anything else.
 */
bool heatmap_parse_sizes(const char *text, struct heatmap_options *options);

/* The most outputs of a heat map: a map for each size, and two lists. */
#define HEATMAP_FILES_MAX (HEATMAP_SIZES_MAX + 2u)

/*
 * Begin the outputs, at most HEATMAP_FILES_MAX: a map for each given size (PATH, PATH-SIZE), the
 * shares of the first's hottest buckets (PATH.csv) and how hot sections are
 * (PATH-section-hotness.csv); standard output is one for all. The caller commits or abandons them,
 * *count also if this fails.
 */
enum bat_code heatmap_begin(const struct heatmap_options *given, struct bat_output **outputs,
                            size_t *count, struct bat_error *error);

/*
 * Write the outputs that heatmap_begin() began. elf is the profiled binary, symbols has its
 * symbols. Prints errors to standard error.
 */
enum tool_exit heatmap_write(const struct heatmap_options *given, const struct bat_profile *profile,
                             const struct bat_elf *elf, struct bat_elf *symbols,
                             struct bat_output *const *outputs, size_t output_count);

#endif
