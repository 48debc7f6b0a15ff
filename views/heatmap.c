/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "heatmap.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/order.h"

/* perf2bolt 22's. */
static const uint64_t usual_sizes[] = {64, 4096, 262144};
#define USUAL_LINE 256u
#define USUAL_MAX_ADDRESS UINT64_C(0xffffffff)

bool heatmap_parse_sizes(const char *text, struct heatmap_options *options)
{
    options->size_count = 0;
    for (;;) {
        char *end;
        uint64_t size = strtoull(text, &end, 10);
        if (text[0] < '0' || text[0] > '9' || options->size_count == HEATMAP_SIZES_MAX)
            return false;
        const char *units = "kmg";
        const char *unit = *end ? strchr(units, *end | 0x20) : NULL;
        unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
        end += unit ? 1 + (end[1] == 'i') : 0;
        end += *end == 'b' || *end == 'B';
        uint64_t before = options->size_count ? options->sizes[options->size_count - 1] : 1;
        if (size == 0 || size > UINT32_MAX >> shift || (size << shift) % before != 0 ||
            (options->size_count && size << shift == before))
            return false;
        options->sizes[options->size_count++] = size << shift;
        if (*end == '\0')
            return true;
        if (*end != ',')
            return false;
        text = end + 1;
    }
}

/* --- Sections ------------------------------------------------------------------------------- */

/* The sections with code, by address. The caller frees them; NULL if there is no memory. */
static struct heatmap_section *list_sections(const struct bat_elf *elf, uint32_t *count)
{
    size_t all_count;
    const struct bat_section *all = bat_elf_sections(elf, &all_count);
    struct heatmap_section *sections = malloc((all_count + 1) * sizeof(*sections));
    *count = 0;
    for (size_t i = 0; sections && i < all_count; i++)
        if (all[i].flags & SHF_EXECINSTR && all[i].flags & SHF_ALLOC && all[i].size != 0)
            sections[(*count)++] = (struct heatmap_section){
                .name = all[i].name, .start = all[i].address, .end = all[i].address + all[i].size};
    BAT_SORT_BY(sections, *count, start);
    return sections;
}

/* --- Files ---------------------------------------------------------------------------------- */

/* The outputs begin with these, and the coarser maps follow. */
enum file_index { FINEST_MAP, SHARES, SECTIONS, LISTS_END };

/* Fill in what was not given. */
static struct heatmap_options complete(const struct heatmap_options *given)
{
    struct heatmap_options options = *given;
    if (options.size_count == 0) {
        memcpy(options.sizes, usual_sizes, sizeof(usual_sizes));
        options.size_count = sizeof(usual_sizes) / sizeof(usual_sizes[0]);
    }
    if (options.line_size == 0)
        options.line_size = USUAL_LINE;
    if (options.max_address == 0)
        options.max_address = USUAL_MAX_ADDRESS;
    return options;
}

static enum bat_code begin_file(const char *path, const char *suffix, struct bat_output **output,
                                struct bat_error *error)
{
    char *whole;
    if (asprintf(&whole, "%s%s", path, suffix) < 0)
        return bat_fail_memory(error, "to write the heat map");
    enum bat_code code = bat_output_begin(whole, output, error);
    free(whole);
    return code;
}

enum bat_code heatmap_begin(const struct heatmap_options *given, struct bat_output **outputs,
                            size_t *count, struct bat_error *error)
{
    const struct heatmap_options options = complete(given);
    bool is_standard = strcmp(options.path, "-") == 0;
    *count = 0;
    for (uint32_t i = 0; i < (is_standard ? 1 : LISTS_END + options.size_count - 1); i++) {
        char suffix[24] = "";
        if (i == SHARES || i == SECTIONS)
            snprintf(suffix, sizeof(suffix), i == SHARES ? ".csv" : "-section-hotness.csv");
        else if (i >= LISTS_END)
            snprintf(suffix, sizeof(suffix), "-%lu", options.sizes[i - LISTS_END + 1]);
        BAT_TRY(begin_file(options.path, suffix, &outputs[i], error));
        (*count)++;
    }
    return BAT_OK;
}

/* Write everything, each to its output; standard output, the only one, gets all. */
static enum bat_code write_all(struct heatmap_view *view, const struct heatmap_options *options,
                               struct bat_output *const *outputs, size_t count,
                               struct bat_error *error)
{
    enum bat_code code = heatmap_write_map(view, outputs[0], error);
    code = code ? code : heatmap_write_shares(view, outputs[count > 1 ? SHARES : 0], error);
    code = code ? code : heatmap_write_sections(view, outputs[count > 1 ? SECTIONS : 0], error);
    for (uint32_t i = 1; i < options->size_count && code == BAT_OK; i++) {
        heatmap_join(view->buckets, options->sizes[i] / view->bucket_size);
        view->bucket_size = options->sizes[i];
        code = heatmap_write_map(view, outputs[count > 1 ? LISTS_END + i - 1 : 0], error);
    }
    return code;
}

enum bat_code heatmap_write(const struct heatmap_options *given, const struct bat_profile *profile,
                            const struct bat_elf *elf, struct bat_elf *symbols,
                            struct bat_output *const *outputs, size_t output_count,
                            struct bat_error *error)
{
    const struct heatmap_options options = complete(given);
    struct heatmap_buckets buckets = {0};
    struct heatmap_view view = {.buckets = &buckets,
                                .bucket_size = options.sizes[0],
                                .line_size = options.line_size,
                                .is_wide = options.max_address > UINT32_MAX,
                                .prints_mappings = options.prints_mappings};
    struct heatmap_section *sections = list_sections(elf, &view.section_count);
    view.sections = sections;
    enum bat_code code;
    if (!sections || !heatmap_count(&buckets, profile, options.sizes[0], options.min_address,
                                    options.max_address))
        code = bat_fail_memory(error, "for the heat map");
    else if (buckets.count == 0)
        code = bat_fail(error, BAT_ERR_MISMATCH,
                        "expected samples of the binary for the heat map, found none");
    else
        code = heatmap_find_hot_text(symbols, &view, error);
    code = code ? code : write_all(&view, &options, outputs, output_count, error);
    free(sections);
    heatmap_free(&buckets);
    return code;
}
