/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A heat map as text for terminals, and two lists of comma-separated values. */
#ifndef BAT_TOOLS_BATTRANSLATE_HEATMAP_TEXT_H
#define BAT_TOOLS_BATTRANSLATE_HEATMAP_TEXT_H

#include "bat_elf.h"
#include "bat_output.h"
#include "tools/common/heatmap_buckets.h"

/* A section with code: [start, end). */
struct heatmap_section {
    const char *name;
    uint64_t start;
    uint64_t end;
};

/* What is written, and how. */
struct heatmap_view {
    struct heatmap_buckets *buckets; /* at least one */
    uint64_t bucket_size;
    uint32_t line_size; /* buckets in a line */
    bool is_wide;       /* addresses have 16 digits, not 8 */
    bool prints_mappings;
    const struct heatmap_section *sections; /* by address */
    uint32_t section_count;
    uint64_t hot_start; /* [hot_start, hot_end): BOLT's hot text; empty if not known */
    uint64_t hot_end;
    bool is_continued; /* a map was written: the terminal's color is known */
};

/* Set hot_start and hot_end by the symbols that BOLT makes for them. */
enum bat_code heatmap_find_hot_text(struct bat_elf *elf, struct heatmap_view *view,
                                    struct bat_error *error);

enum bat_code heatmap_write_map(struct heatmap_view *view, struct bat_output *output,
                                struct bat_error *error);

/* How many of the hottest buckets have which share of the samples. */
enum bat_code heatmap_write_shares(const struct heatmap_view *view, struct bat_output *output,
                                   struct bat_error *error);

/* The share of samples of each section, and the share of it that has samples. */
enum bat_code heatmap_write_sections(const struct heatmap_view *view, struct bat_output *output,
                                     struct bat_error *error);

#endif
