/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The data of the page about two binaries. spec/report.md describes it. */
#include <stdlib.h>

#include "comparison_report.h"
#include "page.h"

static const char *const prefixes[2] = {"old-", "new-"};

static void write_description(const struct report_comparison *comparison,
                              struct bat_text_writer *page)
{
    bat_text_string(page, "<script type=\"application/json\" id=\"data\">{\"format\":"
                          "\"batreport-comparison\",\"version\":1,\n\"old\":{");
    report_write_members(&comparison->sides[OLD], page);
    bat_text_string(page, "},\n\"new\":{");
    report_write_members(&comparison->sides[NEW], page);
    bat_text_string(page, "}}</script>\n");
}

static void add_pairs(const struct report_comparison *comparison, struct page_parts *parts)
{
    struct report_columns columns = {0};
    uint32_t before = 0;
    for (uint32_t i = 0; i < comparison->sides[NEW].function_count; i++) {
        /* BAT_NONE becomes 0. */
        uint32_t old = comparison->pairs[NEW][i] + 1;
        pack_change(&columns.all[0], before, old);
        pack_number(&columns.all[1], comparison->flags[i]);
        before = old != 0 ? old : before;
    }
    parts_add_columns(parts, "", "pairs", &columns);
}

static void add_went(const struct report_comparison *comparison, struct page_parts *parts)
{
    struct report_columns columns = {0};
    for (uint32_t i = 0; i < comparison->sides[OLD].function_count; i++)
        pack_number(&columns.all[0], comparison->went[i]);
    parts_add_columns(parts, "", "went", &columns);
}

/* Old functions whose pairs have the same names have none in the data. */
static bool *find_nameless(const struct report_comparison *comparison)
{
    const struct report *sides = comparison->sides;
    uint32_t count = sides[OLD].function_count;
    bool *is_nameless = calloc((size_t)count + 1, sizeof(*is_nameless));
    for (uint32_t i = 0; is_nameless && i < count; i++) {
        uint32_t new = comparison->pairs[OLD][i];
        is_nameless[i] =
            new !=
            BAT_NONE &&strcmp(sides[OLD].functions[i].name, sides[NEW].functions[new].name) == 0;
    }
    return is_nameless;
}

enum bat_code comparison_write_data(const struct report_comparison *comparison,
                                    struct bat_text_writer *page)
{
    struct page_parts parts = {0};
    bool *is_nameless = find_nameless(comparison);
    BAT_TRY_MEMORY(is_nameless, page->error, "for the page");
    write_description(comparison, page);
    report_add_code(&comparison->sides[OLD], prefixes[OLD], is_nameless, &parts);
    free(is_nameless);
    report_add_code(&comparison->sides[NEW], prefixes[NEW], NULL, &parts);
    add_pairs(comparison, &parts);
    add_went(comparison, &parts);
    return parts_write(&parts, page);
}
