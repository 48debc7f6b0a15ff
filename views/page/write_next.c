/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the profile is worth to the next build: what found its functions, and which changed most. */
#include <string.h>

#include "binary/note_facts.h"
#include "page.h"

/* Changed functions, those that lost the most first, whose blocks the page has side by side. */
#define CHANGED_SHOWN 100u

static size_t changed_shown(const struct report *report)
{
    const size_t count = report->next.figures.changed_count;
    return count < CHANGED_SHOWN ? count : CHANGED_SHOWN;
}

/* --- For readers ------------------------------------------------------------------------------ */

static void write_ways(const struct next_report *figures, struct bat_text_writer *page)
{
    char text[NUMBER_SIZE];
    struct next_way ways[NEXT_WAYS];
    next_report_ways(figures, ways);
    bat_text_string(page, "<div class=\"card\"><table class=\"rows\"><caption>What found the "
                          "functions of the profile</caption><thead><tr><th scope=\"col\">"
                          "functions</th><th scope=\"col\">number</th><th scope=\"col\">share of "
                          "the profile</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < NEXT_WAYS; i++) {
        if (ways[i].share.functions == 0)
            continue;
        bat_text_format(page, "<tr><th scope=\"row\">%s</th><td>%s</td><td>%.1f%%</td></tr>\n",
                        ways[i].words, with_commas(ways[i].share.functions, text),
                        html_percent(ways[i].share.count, figures->all.count));
    }
    bat_text_string(page, "</tbody></table></div>\n");
}

static void write_sentences(const struct report_next *next, struct bat_text_writer *page)
{
    const struct next_report *figures = &next->figures;
    if (figures->blocks != 0)
        bat_text_format(page,
                        "<p>In changed functions %.1f%% of the counts are of blocks that were "
                        "found, the rest was inferred.</p>\n",
                        html_percent(figures->blocks_matched, figures->blocks));
    if (figures->copies + figures->unknown != 0)
        bat_text_format(page,
                        "<p>Of new functions that are called, %lu are like an old one and got its "
                        "counts, %lu are not: their calls and code tell theirs.</p>\n",
                        figures->copies, figures->unknown);
    if (next->has_judgement)
        bat_text_format(page,
                        "<p>llvm-bolt will refuse the profile of %lu of %lu functions, with %.2f%% "
                        "of the samples.</p>\n",
                        next->judgement.stale_functions, next->judgement.functions,
                        html_percent(next->judgement.stale_samples, next->judgement.samples));
}

/*
 * The function of the output that has this name in profiles, or BAT_NONE. Of local functions the
 * input's name may lack the source file: then the only one with the same symbol.
 */
static uint32_t function_named(const struct report *report, const char *name)
{
    const size_t length = strcspn(name, "/");
    uint32_t found = BAT_NONE;
    uint32_t alike = 0;
    for (uint32_t i = 0; i < report->function_count; i++) {
        const char *other = report->functions[i].name;
        if (strcmp(other, name) == 0)
            return i;
        if (strncmp(other, name, length) == 0 && other[length] == '/' && name[length] == '/') {
            found = i;
            alike++;
        }
    }
    return alike == 1 ? found : BAT_NONE;
}

static void write_changed(const struct report *report, size_t number, struct bat_text_writer *page)
{
    const struct next_report *figures = &report->next.figures;
    const struct next_changed *changed = &figures->changed[number];
    bat_text_format(page, "<tr><th scope=\"row\">");
    if (changed->new_name) {
        bat_text_format(page, "<a href=\"#next?f=%zu\">", number);
        report_write_name(report, BAT_NONE, changed->name, page);
        bat_text_string(page, "</a>");
    } else {
        report_write_name(report, function_named(report, changed->name), changed->name, page);
    }
    bat_text_format(page, "</th><td>%.1f%%</td>", html_percent(changed->count, figures->all.count));
    if (!changed->new_name)
        bat_text_string(page, "<td>gone</td><td></td></tr>\n");
    else {
        bat_text_format(page, "<td>%.0f%%</td><td>", 100 * (double)changed->likeness);
        if (strcmp(changed->name, changed->new_name) != 0)
            report_write_name(report, BAT_NONE, changed->new_name, page);
        bat_text_string(page, "</td></tr>\n");
    }
}

void report_write_next(const struct report *report, struct bat_text_writer *page)
{
    const struct report_next *next = &report->next;
    if (!next->profile)
        return;
    bat_text_string(page, "<h3 class=\"group\" id=\"next-build\">The profile in the next build"
                          "</h3>\n<p>Carried to <bdi>");
    html_text(page, report->request->next);
    bat_text_string(page, "</bdi></p>\n");
    write_ways(&next->figures, page);
    write_sentences(next, page);
    if (next->figures.changed_count == 0)
        return;
    bat_text_string(
        page, "<div class=\"card scroll\" tabindex=\"0\" role=\"region\" "
              "aria-labelledby=\"next-build\"><table class=\"rows changed\"><caption>Functions "
              "that changed, those that lost the most first</caption><thead><tr><th "
              "scope=\"col\">function</th><th scope=\"col\">share of the profile</th><th "
              "scope=\"col\">code alike by</th><th scope=\"col\">name in the next build</th>"
              "</tr></thead><tbody>\n");
    for (size_t i = 0; i < changed_shown(report); i++)
        write_changed(report, i, page);
    bat_text_string(page, "</tbody></table></div>\n");
    if (next->figures.changed_count > CHANGED_SHOWN) {
        bat_text_string(page, "<p class=\"remark\">And ");
        html_count(page, next->figures.changed_count - CHANGED_SHOWN, "more function");
        bat_text_string(page, ".</p>\n");
    }
}

/* --- The data --------------------------------------------------------------------------------- */

static uint64_t per_mille(float share)
{
    return (uint64_t)(1000 * (double)share + 0.5);
}

static void pack_block(struct pack *all, const struct report_carried *block)
{
    pack_number(&all[0], block->function);
    pack_number(&all[1], block->offset);
    pack_number(&all[2], block->old_function + 1); /* BAT_NONE becomes 0 */
    pack_number(&all[3], block->old_offset);
    pack_number(&all[4], 2 * per_mille(block->confidence) + block->is_piece);
    pack_number(&all[5], per_mille(block->content));
    pack_number(&all[6], block->old_count);
    pack_number(&all[7], block->count);
}

/* Pack the blocks of a function of the next build; returns how many these are. */
static uint32_t pack_blocks(const struct report_next *next, const struct next_changed *changed,
                            struct pack *all)
{
    const char *name = changed->new_name;
    const uint32_t unit = name ? bat_strings_find(&next->names, name, strlen(name)) : BAT_NONE;
    uint32_t count = 0;
    for (size_t i = 0; unit != BAT_NONE && i < next->block_count; i++) {
        if (next->blocks[i].unit != unit)
            continue;
        pack_block(all, &next->blocks[i]);
        count++;
    }
    return count;
}

void report_write_next_members(const struct report *report, struct bat_text_writer *page)
{
    if (report->next.profile)
        bat_text_format(page, ",\n\"changed\":%zu,\"carriedNames\":%u", changed_shown(report),
                        report->next.names.count);
}

void report_add_carried(const struct report *report, struct page_parts *parts)
{
    const struct report_next *next = &report->next;
    if (!next->profile)
        return;
    struct report_columns changes = {0};
    struct report_columns blocks = {0};
    struct pack names = {0};
    for (size_t i = 0; i < changed_shown(report); i++) {
        const struct next_changed *changed = &next->figures.changed[i];
        pack_number(&changes.all[0], function_named(report, changed->name) + 1);
        pack_number(&changes.all[1], changed->count);
        pack_number(&changes.all[2], per_mille(changed->likeness));
        pack_number(&changes.all[3], pack_blocks(next, changed, blocks.all));
        pack_text(&names, changed->name);
        pack_text(&names, changed->new_name ? changed->new_name : "");
    }
    parts_add_columns(parts, "", "changed", &changes);
    parts_add_columns(parts, "", "carried", &blocks);
    parts_add(parts, "", "changed-names", &names);
    parts_add_strings(parts, "carried-names", &next->names);
}
