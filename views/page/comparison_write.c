/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The frame of the page about two binaries. */
#include "comparison_report.h"
#include "page.h"

static void write_name(const struct report *report, struct bat_text_writer *page)
{
    html_put(page, "<bdi>", basename(report->request->binary), "</bdi>");
}

static void write_head(const struct report *sides, struct bat_text_writer *page)
{
    page_write_head(page, &comparison_script);
    html_text(page, basename(sides[OLD].request->binary));
    html_put(page, " → ", basename(sides[NEW].request->binary), " – BOLT comparison");
    page_write_style(page);
    write_name(&sides[OLD], page);
    bat_text_string(page, " → ");
    write_name(&sides[NEW], page);
    page_write_views(page, false, "What changed");
}

static enum bat_code write_views(const struct report_comparison *comparison,
                                 struct bat_text_writer *page)
{
    comparison_write_summary(comparison, page);
    page_begin_functions(page);
    BAT_TRY_MEMORY(comparison_write_lists(comparison, page), page->error, "for the page");
    page_end_functions(page);
    page_write_remark(page);
    return BAT_OK;
}

enum bat_code comparison_write(struct report_comparison *comparison, struct bat_output *output,
                               struct bat_error *error)
{
    struct bat_text_writer page;
    BAT_TRY(bat_text_begin(&page, output, error));
    write_head(comparison->sides, &page);
    enum bat_code code = write_views(comparison, &page);
    code = code ? code : comparison_write_data(comparison, &page);
    page_write_end(&page, &comparison_script);
    return bat_text_finish(&page, code);
}
