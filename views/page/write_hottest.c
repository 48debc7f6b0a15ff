/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The functions with the most samples, for readers without scripts. */
#include <stdlib.h>

#include "binary/note_facts.h"
#include "page.h"

#define HOTTEST 100u

void report_write_name(const struct report *report, uint32_t function, const char *name,
                       struct bat_text_writer *page)
{
    /* "f/a.c/1" is the name of a local function in profiles. */
    char *symbol = strndup(name, strcspn(name, "/"));
    char *plain = symbol ? report_plain_name(report->request, symbol) : NULL;
    if (function != BAT_NONE)
        bat_text_format(page, "<a href=\"#f=0x%lx\">",
                        report->pieces[report->functions[function].main_piece].address);
    html_put(page, "<bdi>",
             plain   ? plain
             : *name ? name
                     : "(no name)",
             function != BAT_NONE ? "</bdi></a>" : "</bdi>");
    free(plain);
    free(symbol);
}

static void write_row(const struct report *report, uint32_t number, struct bat_text_writer *page)
{
    const struct report_function *function = &report->functions[number];
    char text[NUMBER_SIZE];
    uint64_t bytes[2] = {0};
    for (uint32_t i = 0; i < function->piece_count; i++) {
        const struct report_piece *piece =
            &report->pieces[report->pieces_of[function->first_piece + i]];
        bytes[piece->kind == REPORT_COLD] += piece->size;
    }
    bat_text_string(page, "<tr><th scope=\"row\">");
    report_write_name(report, number, function->name, page);
    bat_text_format(page, "</th><td>%s</td>", with_commas(function->samples, text));
    bat_text_format(page, "<td>%.2f%%</td>",
                    100.0 * (double)function->samples / (double)report->samples);
    bat_text_format(page, "<td>%s</td>", with_commas(bytes[0], text));
    bat_text_format(page, "<td>%s</td><td>0x%lx</td></tr>\n", with_commas(bytes[1], text),
                    report->pieces[function->main_piece].address);
}

void report_write_hottest(const struct report *report, struct bat_text_writer *page)
{
    uint32_t hottest[HOTTEST];
    uint32_t count = report_find_hottest(report, hottest, HOTTEST);
    if (count == 0)
        return;
    bat_text_format(
        page,
        "<div class=\"static scroll\" tabindex=\"0\" role=\"region\" "
        "aria-labelledby=\"functions-title\"><table class=\"rows\"><caption>The %u hottest "
        "functions</caption><thead><tr><th scope=\"col\">function</th><th scope=\"col\">"
        "samples</th><th scope=\"col\">share</th><th scope=\"col\">bytes</th><th "
        "scope=\"col\">cold bytes</th><th scope=\"col\">address</th></tr></thead><tbody>\n",
        count);
    for (uint32_t i = 0; i < count; i++)
        write_row(report, hottest[i], page);
    bat_text_string(page, "</tbody></table></div>\n");
}
