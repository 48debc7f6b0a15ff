/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The functions that differ most, for readers without scripts. */
#include <stdlib.h>

#include "binary/note_facts.h"
#include "comparison_report.h"
#include "page.h"

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

bool comparison_write_lists(const struct report_comparison *comparison,
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
