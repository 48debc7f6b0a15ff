/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The frame of the page. */
#include <batkit/bat_version.h>

#include "page.h"

static void write_hash(struct bat_text_writer *page, const uint8_t sha256[32])
{
    char text[64];
    pack_base64(sha256, 32, text);
    bat_text_format(page, "'sha256-%s'", text);
}

/* The page may run its own code and style, by their hashes, and load nothing at all. */
static void write_policy(struct bat_text_writer *page, const struct report_file *script)
{
    bat_text_string(page, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                          "'none'; base-uri 'none'; form-action 'none'; script-src ");
    write_hash(page, script->sha256);
    bat_text_string(page, "; style-src ");
    write_hash(page, report_style.sha256);
    bat_text_string(page, "\">\n");
}

void page_write_head(struct bat_text_writer *page, const struct report_file *script)
{
    bat_text_string(page,
                    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    write_policy(page, script);
    bat_text_string(page, "<meta name=\"viewport\" content=\"width=device-width, "
                          "initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light "
                          "dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n");
    bat_text_format(page, "<meta name=\"generator\" content=\"batreport (batkit) %s\">\n<title>",
                    bat_version());
}

void page_write_style(struct bat_text_writer *page)
{
    bat_text_string(page, "</title>\n<style>");
    bat_text_bytes(page, (const char *)report_style.bytes, report_style.size);
    bat_text_string(page, "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the "
                          "content</a>\n<header class=\"top\">\n<h1>");
}

void page_write_remark(struct bat_text_writer *page)
{
    bat_text_string(page,
                    "<noscript><p class=\"remark\">The map, the pages of functions and the search "
                    "need scripts. The summary does not.</p></noscript>\n</main>\n");
}

void page_write_end(struct bat_text_writer *page, const struct report_file *script)
{
    bat_text_string(page, "<script>");
    bat_text_bytes(page, (const char *)script->bytes, script->size);
    bat_text_string(page, "</script>\n</body>\n</html>\n");
}

void page_write_views(struct bat_text_writer *page, bool has_stacks, const char *title)
{
    bat_text_string(page, "</h1>\n<nav aria-label=\"Views\">\n"
                          "<a href=\"#summary\">Summary</a>\n"
                          "<a href=\"#map\" class=\"scripted\">Map</a>\n"
                          "<a href=\"#functions\">Functions</a>\n");
    if (has_stacks)
        bat_text_string(page, "<a href=\"#stacks\" class=\"scripted\">Stacks</a>\n");
    bat_text_format(page,
                    "</nav>\n</header>\n<main id=\"main\" tabindex=\"-1\">\n"
                    "<section id=\"summary\" data-view aria-labelledby=\"summary-title\">\n"
                    "<h2 id=\"summary-title\">%s</h2>\n",
                    title);
}

void page_begin_functions(struct bat_text_writer *page)
{
    bat_text_string(page, "</section>\n"
                          "<section id=\"map\" data-view hidden aria-labelledby=\"map-title\">\n"
                          "<h2 id=\"map-title\">Map of the code</h2>\n</section>\n"
                          "<section id=\"functions\" data-view "
                          "aria-labelledby=\"functions-title\">\n<h2 id=\"functions-title\">"
                          "Functions</h2>\n");
}

void page_end_functions(struct bat_text_writer *page)
{
    bat_text_string(page, "</section>\n<section id=\"function\" data-view hidden "
                          "aria-labelledby=\"function-title\">\n<h2 id=\"function-title\">"
                          "Function</h2>\n</section>\n");
}

static void write_head(const struct report *report, struct bat_text_writer *page)
{
    const char *name = basename(report->request->binary);
    page_write_head(page, &report_script);
    html_text(page, name);
    bat_text_string(page, " – BOLT report");
    page_write_style(page);
    html_put(page, "<bdi>", name, "</bdi>");
    page_write_views(page, report->node_count != 0, "Summary");
}

static void write_views(const struct report *report, struct bat_text_writer *page)
{
    report_write_summary((struct report *)report, page);
    report_write_pages(report, page);
    page_begin_functions(page);
    report_write_hottest(report, page);
    page_end_functions(page);
    if (report->next.profile)
        bat_text_string(page, "<section id=\"next\" data-view hidden "
                              "aria-labelledby=\"next-title\">\n<h2 id=\"next-title\">In the next "
                              "build</h2>\n</section>\n");
    if (report->node_count != 0)
        bat_text_string(page, "<section id=\"stacks\" data-view hidden "
                              "aria-labelledby=\"stacks-title\">\n<h2 id=\"stacks-title\">Stacks"
                              "</h2>\n</section>\n");
    page_write_remark(page);
}

enum bat_code report_write(struct report *report, struct bat_output *output,
                           struct bat_error *error)
{
    struct bat_text_writer page;
    BAT_TRY(bat_text_begin(&page, output, error));
    write_head(report, &page);
    write_views(report, &page);
    enum bat_code code = report_write_data(report, &page);
    page_write_end(&page, &report_script);
    return bat_text_finish(&page, code);
}
