/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The frame of the page about two binaries. */
#include "binary/note_facts.h"
#include "comparison_report.h"
#include "page.h"
#include <stdlib.h>

/* --- The data: spec/report.md ----------------------------------------------------------------- */

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

static enum bat_code comparison_write_data(const struct report_comparison *comparison,
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

/* --- The functions that differ most, for readers without scripts ------------------------------ */

/* Functions in each list. */
#define LISTED 25u

static void write_cells(const struct compared_function *function, struct bat_text_writer *page)
{
    char text[NUMBER_SIZE];
    if (!function) {
        bat_text_string(page, "<td></td><td></td><td></td>");
        return;
    }
    bat_text_format(page, "<td>%s</td>", with_commas(function->hot_size, text));
    bat_text_format(page, "<td>%s</td><td>0x%lx</td>", with_commas(function->cold_size, text),
                    function->address);
}

struct lists {
    const struct bat_page_request *request;
    const struct compared_side *sides;
    struct bat_text_writer *page;
};

/* A function of the new binary; or of the old one, if the new one does not have it. */
static void write_row(const struct lists *lists, const struct compared_function *function,
                      bool is_old)
{
    struct bat_text_writer *page = lists->page;
    char *plain = report_plain_name(lists->request, function->name);
    bat_text_format(page, "<tr><th scope=\"row\"><a href=\"#f=%s0x%lx\"><bdi>",
                    is_old ? "old-" : "", function->address);
    html_text(page, plain ? plain : function->name);
    bat_text_string(page, "</bdi></a></th>");
    free(plain);
    write_cells(is_old ? function : function->pair, page);
    write_cells(is_old ? NULL : function, page);
    bat_text_string(page, "</tr>\n");
}

/* The heading is what the summary's link leads to when nothing runs the page's scripts. */
static bool write_list(const struct lists *lists, unsigned change, const char *key,
                       const char *title, bool is_old)
{
    struct bat_text_writer *page = lists->page;
    struct function_list list;
    if (!list_functions(&lists->sides[is_old ? OLD : NEW], change, &list))
        return false;
    char text[NUMBER_SIZE];
    bat_text_format(page, "<h3 class=\"group\" id=\"functions?filter=%s\">%s: %s</h3>\n", key,
                    title, with_commas(list.count, text));
    if (list.count != 0)
        bat_text_format(page,
                        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">"
                        "<table class=\"rows\"><thead><tr><th scope=\"col\">function</th>"
                        "<th scope=\"col\">bytes, old</th><th scope=\"col\">cold</th>"
                        "<th scope=\"col\">address</th><th scope=\"col\">bytes, new</th>"
                        "<th scope=\"col\">cold</th><th scope=\"col\">address</th></tr></thead>"
                        "<tbody>\n",
                        title);
    for (uint32_t i = 0; i < list.count && i < LISTED; i++)
        write_row(lists, list.items[i].function, is_old);
    if (list.count != 0)
        bat_text_string(page, "</tbody></table></div>\n");
    if (list.count > LISTED)
        bat_text_format(page, "<p class=\"remark\">and %s more</p>\n",
                        with_commas(list.count - LISTED, text));
    free(list.items);
    return true;
}

/* False without memory. */
static bool comparison_write_lists(const struct report_comparison *comparison,
                                   struct bat_text_writer *page)
{
    const struct lists lists = {&comparison->requests[NEW], comparison->facts.sides, page};
    bat_text_string(page, "<div class=\"static\">\n");
    bool fits = write_list(&lists, 0, "appeared", "appeared", false) &&
                write_list(&lists, 0, "went", "went", true);
    for (unsigned bit = 0; bit < CHANGES && fits; bit++)
        fits = write_list(&lists, 1u << bit, change_keys[bit], change_labels[bit], false);
    bat_text_string(page, "</div>\n");
    return fits;
}

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
