/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Heat maps of a profile, in the text of perf2bolt --heatmap and llvm-bolt-heatmap. */
#pragma once

#include "bat_elf.h"
#include "bat_output.h"
#include "bat_profile.h"
#include "heatmap_buckets.h"

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
 * symbols. Fails with BAT_ERR_MISMATCH if no sample is in the range of addresses, BAT_ERR_MEMORY,
 * and as bat_output_write().
 */
enum bat_code heatmap_write(const struct heatmap_options *given, const struct bat_profile *profile,
                            const struct bat_elf *elf, struct bat_elf *symbols,
                            struct bat_output *const *outputs, size_t output_count,
                            struct bat_error *error);

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
