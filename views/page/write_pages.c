/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Curves of the share of samples in the hottest pages, before and after. */
#include <math.h>

#include "binary/note_facts.h"
#include "page.h"

/* The plot, in units of its own. */
#define WIDTH 480.0
#define HEIGHT 220.0
#define LEFT 44.0
#define RIGHT 12.0
#define TOP 10.0
#define BOTTOM 34.0

struct plot {
    const struct report_pages *before; /* or NULL */
    const struct report_pages *after;
    const char *const *names; /* of both */
    size_t most;              /* pages on the axis, which is logarithmic */
};

static double x_of(const struct plot *plot, size_t pages)
{
    double most = plot->most > 1 ? log2((double)plot->most) : 1;
    return LEFT + (WIDTH - LEFT - RIGHT) * log2((double)pages) / most;
}

static double y_of(double share)
{
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share);
}

/* The share of all samples in the n hottest pages. */
static double share_in(const struct report_pages *pages, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n && i < pages->count; i++)
        sum += pages->counts[i];
    return pages->sum ? (double)sum / (double)pages->sum : 0;
}

static void write_axes(const struct plot *plot, struct bat_text_writer *page)
{
    for (unsigned i = 0; i <= 4; i++) {
        double y = y_of(i / 4.0);
        bat_text_format(page,
                        "<line class=\"grid\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                        "<text class=\"tick end\" x=\"%.0f\" y=\"%.1f\">%u%%</text>\n",
                        LEFT, WIDTH - RIGHT, y, y, LEFT - 6, y + 4, i * 25);
    }
    for (size_t pages = 1; pages <= plot->most; pages *= plot->most > 64 ? 8 : 2)
        bat_text_format(page,
                        "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.0f\" y2=\"%.0f\"/>"
                        "<text class=\"tick middle\" x=\"%.1f\" y=\"%.0f\">%zu</text>\n",
                        x_of(plot, pages), x_of(plot, pages), TOP, HEIGHT - BOTTOM,
                        x_of(plot, pages), HEIGHT - BOTTOM + 14, pages);
}

/* A point at each number of pages that is a sixteenth larger than the one before, and at the end.
 */
static void write_curve(const struct plot *plot, const struct report_pages *pages, const char *name,
                        struct bat_text_writer *page)
{
    bat_text_format(page, "<polyline class=\"curve %s\" points=\"", name);
    uint64_t sum = 0;
    size_t shown = 1;
    for (size_t n = 1; n <= pages->count; n++) {
        sum += pages->counts[n - 1];
        if (n < shown && n != pages->count)
            continue;
        bat_text_format(page, "%.1f,%.1f ", x_of(plot, n), y_of((double)sum / (double)pages->sum));
        shown = n + 1 + n / 16;
    }
    bat_text_string(page, "\"/>\n");
}

static void write_rows(const struct plot *plot, struct bat_text_writer *page)
{
    char text[NUMBER_SIZE];
    bat_text_string(page, "<details><summary>The same in numbers</summary>\n<table class=\"rows\">"
                          "<thead><tr><th scope=\"col\">hottest pages</th>");
    if (plot->before)
        bat_text_format(page, "<th scope=\"col\">%s</th>", plot->names[0]);
    bat_text_format(page, "<th scope=\"col\">%s</th></tr></thead><tbody>\n", plot->names[1]);
    for (size_t n = 1; n < 2 * plot->most; n *= 2) {
        size_t pages = n < plot->most ? n : plot->most;
        bat_text_format(page, "<tr><th scope=\"row\">%s</th>", with_commas(pages, text));
        if (plot->before)
            bat_text_format(page, "<td>%.2f%%</td>", 100 * share_in(plot->before, pages));
        bat_text_format(page, "<td>%.2f%%</td></tr>\n", 100 * share_in(plot->after, pages));
    }
    bat_text_string(page, "</tbody></table></details>\n");
}

static void write_plot(const struct report_pages *before, const struct report_pages *after,
                       const char *const names[2], const char *title, struct bat_text_writer *page)
{
    struct plot plot = {.before = before, .after = after, .names = names};
    plot.most = plot.after->count;
    if (plot.before && plot.before->count > plot.most)
        plot.most = plot.before->count;
    char text[NUMBER_SIZE];
    bat_text_format(page, "<figure class=\"card\"><figcaption><h3>%s</h3><p class=\"legend\">",
                    title);
    if (plot.before)
        bat_text_format(page, "<span class=\"key before\"></span>%s: %s with samples ", names[0],
                        with_commas(plot.before->count, text));
    bat_text_format(page, "<span class=\"key after\"></span>%s: %s with samples</p></figcaption>\n",
                    names[1], with_commas(plot.after->count, text));
    bat_text_format(page,
                    "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s: share of "
                    "samples in the hottest ones\">\n",
                    WIDTH, HEIGHT, title);
    write_axes(&plot, page);
    if (plot.before)
        write_curve(&plot, plot.before, "before", page);
    write_curve(&plot, plot.after, "after", page);
    bat_text_format(
        page, "<text class=\"tick middle\" x=\"%.0f\" y=\"%.0f\">hottest pages</text></svg>\n",
        (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4);
    write_rows(&plot, page);
    bat_text_string(page, "</figure>\n");
}

void report_write_curves(const struct report_pages before[2], const struct report_pages after[2],
                         const char *const names[2], struct bat_text_writer *page)
{
    static const char *const titles[2] = {"Pages of 4 KiB", "Huge pages of 2 MiB"};
    if (after[0].sum == 0)
        return;
    bat_text_string(page,
                    "<h3 class=\"group\" id=\"pages\">Share of samples in the hottest pages</h3>\n"
                    "<p class=\"remark\">A run of code counts for each page that it "
                    "touches.</p>\n<div class=\"cards wide\">\n");
    for (unsigned size = 0; size < 2; size++)
        write_plot(before && before[size].sum != 0 ? &before[size] : NULL, &after[size], names,
                   titles[size], page);
    bat_text_string(page, "</div>\n");
}

void report_write_pages(const struct report *report, struct bat_text_writer *page)
{
    static const char *const names[2] = {"before", "after"};
    if (report->has_profile)
        report_write_curves(report->input_profile ? report->pages[0] : NULL, report->pages[1],
                            names, page);
}
