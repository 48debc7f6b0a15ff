/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "report_text.h"

#include "support/figures.h"

static void put_place(struct bat_text_writer *out, const char *function, uint32_t offset)
{
    bat_text_escaped(out, function ? function : "[unknown]");
    bat_text_format(out, "+0x%x", offset);
}

void next_explained_text(const struct next_explained *block, void *context)
{
    struct bat_text_writer *out = context;
    put_place(out, block->function, block->offset);
    bat_text_format(out, ": %lu", block->count);
    if (!block->old_function) {
        bat_text_string(out, ", inferred\n");
        return;
    }
    bat_text_string(out, block->is_piece ? ", a piece of " : ", was ");
    put_place(out, block->old_function, block->old_offset);
    bat_text_format(out, " (%lu), %.0f%%", block->old_count, 100 * (double)block->confidence);
    if (!block->is_piece)
        bat_text_format(out, " sure, code alike by %.0f%%", 100 * (double)block->content);
    bat_text_string(out, "\n");
}

/* Functions that changed most, in the text; JSON has all. */
#define CHANGED_PRINTED 5u

static void print_changed(struct bat_text_writer *out, const struct next_report *report)
{
    size_t count =
        report->changed_count < CHANGED_PRINTED ? report->changed_count : CHANGED_PRINTED;
    for (size_t i = 0; i < count; i++) {
        const struct next_changed *changed = &report->changed[i];
        bat_text_format(out, i == 0 ? "  most changed: " : "                ");
        bat_text_escaped(out, changed->name);
        bat_text_format(out, ", %.1f%% of the profile",
                        figures_percent(changed->count, report->all.count));
        if (changed->new_name)
            bat_text_format(out, ", alike by %.0f%%\n", 100 * (double)changed->likeness);
        else
            bat_text_string(out, ", gone\n");
    }
}

void next_report_text(const struct next_report *report, struct bat_text_writer *out)
{
    bat_text_format(out, "the profile of %lu functions, carried to the next build:\n",
                    report->all.functions);
    struct next_way ways[NEXT_WAYS];
    next_report_ways(report, ways);
    for (size_t i = 0; i < NEXT_WAYS; i++)
        if (ways[i].share.functions != 0)
            bat_text_format(out, "  %.1f%% in %lu functions %s\n",
                            figures_percent(ways[i].share.count, report->all.count),
                            ways[i].share.functions, ways[i].words);
    if (report->folded != 0)
        bat_text_format(out,
                        "the code of %lu more functions is that of others in the next build: their "
                        "counts were added to those\n",
                        report->folded);
    if (report->unfolded.functions != 0)
        bat_text_format(
            out,
            "%lu more functions were one with others in the old build: the %.1f%% of the "
            "profile that these have were divided by calls, %.1f%% evenly, because no "
            "call tells\n",
            report->unfolded.functions, figures_percent(report->unfolded.count, report->all.count),
            figures_percent(report->unfolded_guessed, report->unfolded.count));
    if (report->blocks != 0)
        bat_text_format(out,
                        "in changed functions %.1f%% of the counts are of blocks that were found, "
                        "%.1f%% were inferred\n",
                        figures_percent(report->blocks_matched, report->blocks),
                        figures_percent(report->blocks - report->blocks_matched, report->blocks));
    if (report->blocks != 0 && report->has_lines)
        bat_text_string(out, "  compared by lines of the source, too: both builds have debug "
                             "information\n");
    print_changed(out, report);
    if (report->copies + report->unknown != 0)
        bat_text_format(out,
                        "of new functions that are called, %lu are like an old one and got its "
                        "counts, %lu are not: their calls and code tell theirs\n",
                        report->copies, report->unknown);
}

static void print_share_json(struct bat_text_writer *out, const char *name,
                             const struct next_share *share)
{
    bat_text_format(out, "\"%s\":{\"functions\":%lu,\"count\":%lu},", name, share->functions,
                    share->count);
}

void next_report_json(const struct next_report *report, struct bat_text_writer *out)
{
    print_share_json(out, "all", &report->all);
    print_share_json(out, "same", &report->same);
    print_share_json(out, "by_name", &report->by_name);
    print_share_json(out, "by_plain_name", &report->by_plain_name);
    print_share_json(out, "by_code", &report->by_code);
    print_share_json(out, "gone", &report->gone);
    print_share_json(out, "unfolded", &report->unfolded);
    bat_text_format(out,
                    "\"unfolded_guessed\":%lu,\"folded\":%lu,\"copies\":%lu,\"unknown\":%lu,"
                    "\"blocks\":%lu,\"blocks_matched\":%lu,\"lines\":%s",
                    report->unfolded_guessed, report->folded, report->copies, report->unknown,
                    report->blocks, report->blocks_matched, report->has_lines ? "true" : "false");
    bat_text_string(out, ",\"changed\":[");
    for (size_t i = 0; i < report->changed_count; i++) {
        const struct next_changed *changed = &report->changed[i];
        bat_text_member(out, i ? ",{\"name\":" : "{\"name\":", changed->name);
        bat_text_string(out, ",\"next\":");
        if (changed->new_name)
            bat_text_json(out, changed->new_name);
        else
            bat_text_string(out, "null");
        bat_text_format(out, ",\"count\":%lu,\"likeness\":%.3f}", changed->count,
                        (double)changed->likeness);
    }
    bat_text_string(out, "]");
}
