/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The first screen: whether the profile is fit, what BOLT gained and lost, where the time goes,
 * what to do next. Each answer links to what it comes from.
 */
#include <string.h>

#include "binary/note_facts.h"
#include "page.h"

#define HOTTEST_SHOWN 10u

/* Profiles that a command names; more are three dots. */
#define PROFILES_NAMED 3u

/* --- Is the profile fit? ---------------------------------------------------------------------- */

static void write_verdict(const struct report *report, struct bat_text_writer *page)
{
    const struct bat_profile_verdict *check = &report->check;
    uint64_t passed = 0;
    for (size_t i = 0; i < BAT_VERDICT_CHECKS; i++)
        passed += check->results[i].status == BAT_VERDICT_PASSED;
    bat_text_format(page, "<div class=\"card %s\"><h3>%s</h3>\n", "verdict", "Is the profile fit?");
    bat_text_format(page, "<p class=\"word is-%s\">%s</p>\n<p><a href=\"#check\">",
                    check->is_fit ? "fit" : "unfit", check->is_fit ? "Yes" : "No");
    html_count(page, passed, "check");
    bat_text_string(page, "</a> passed</p>\n<ul>\n");
    for (size_t i = 0; i < BAT_VERDICT_CHECKS; i++) {
        const struct bat_verdict_kind *kind = bat_verdict_kind((enum bat_verdict_check)i);
        if (check->results[i].status != BAT_VERDICT_FAILED)
            continue;
        bat_text_format(page, "<li><a href=\"#check\"><code>%s</code></a> ", kind->id);
        report_write_value(report, (enum bat_verdict_check)i, ", ", page);
        bat_text_format(page, " (%s): %s</li>\n", bat_severity_name(kind->severity), kind->summary);
    }
    bat_text_string(page, "</ul></div>\n");
}

/* --- What BOLT gained ------------------------------------------------------------------------- */

/* A row; has_before is false if the profile is not known for the input's layout. */
static void write_gain(struct bat_text_writer *page, const char *label, uint64_t before,
                       uint64_t after, bool has_before)
{
    char text[NUMBER_SIZE];
    bat_text_format(page, "<tr><th scope=\"row\">%s</th>", label);
    if (has_before)
        bat_text_format(page, "<td>%s</td>", with_commas(before, text));
    bat_text_format(page, "<td>%s</td>", with_commas(after, text));
    if (has_before && before == 0)
        bat_text_string(page, "<td></td>");
    else if (has_before)
        bat_text_format(page, "<td class=\"is-%s\">%s%.1f%%</td>",
                        after < before   ? "better"
                        : after > before ? "worse"
                                         : "equal",
                        after < before   ? "\u2212"
                        : after > before ? "+"
                                         : "",
                        html_percent(after < before ? before - after : after - before, before));
    bat_text_string(page, "</tr>\n");
}

static void write_gains(const struct report *report, struct bat_text_writer *page)
{
    const struct report_path *before = &report->paths[0];
    const struct report_path *after = &report->paths[1];
    const bool has_before = report->input_profile;
    bat_text_format(page, "<div class=\"card %s\"><h3>%s</h3>\n", "gains", "What BOLT gained");
    bat_text_format(page,
                    "<table class=\"rows\">%s<thead><tr><th scope=\"col\">less is better</th>%s"
                    "<th scope=\"col\">%s</th>%s</tr></thead><tbody>\n",
                    has_before ? "<caption>The same samples in both layouts</caption>" : "",
                    has_before ? "<th scope=\"col\">before</th>" : "", "after",
                    has_before ? "<th scope=\"col\">change</th>" : "");
    if (before->taken != 0 || after->taken != 0)
        write_gain(page, "taken branches, calls, returns", before->taken, after->taken, has_before);
    write_gain(page, "cache lines with 99% of the samples", before->lines, after->lines,
               has_before);
    write_gain(page, "<a href=\"#pages\">pages of 4 KiB</a> with 99%", before->pages, after->pages,
               has_before);
    write_gain(page, "<a href=\"#pages\">pages of 2 MiB</a> with 99%", before->huge, after->huge,
               has_before);
    bat_text_string(page, "</tbody></table>\n");
    if (!has_before)
        bat_text_string(page, "<p class=\"remark\"><code>--original=INPUT</code> adds what it was "
                              "before.</p>\n");
    if (report->samples_of_kind[REPORT_COLD] != 0) {
        bat_text_string(page, "<p class=\"remark\">Lost: ");
        bat_text_format(page,
                        "%.2f%% of the samples are in <a href=\"#functions?filter=cold\">cold "
                        "fragments</a>.</p>\n",
                        html_percent(report->samples_of_kind[REPORT_COLD], report->samples));
    }
    bat_text_string(page, "</div>\n");
}

/* --- The hottest functions -------------------------------------------------------------------- */

static void write_hottest(const struct report *report, struct bat_text_writer *page)
{
    uint32_t hottest[HOTTEST_SHOWN];
    const uint32_t count = report_find_hottest(report, hottest, HOTTEST_SHOWN);
    uint64_t sum = 0;
    bat_text_format(page, "<div class=\"card %s\"><h3>%s</h3>\n", "hottest",
                    "The hottest functions");
    bat_text_string(page,
                    "<table class=\"rows\"><thead><tr><th scope=\"col\">function</th>"
                    "<th scope=\"col\">share</th><th scope=\"col\">sum</th></tr></thead><tbody>\n");
    for (uint32_t i = 0; i < count; i++) {
        const struct report_function *function = &report->functions[hottest[i]];
        sum += function->samples;
        bat_text_string(page, "<tr><th scope=\"row\">");
        report_write_name(report, hottest[i], function->name, page);
        bat_text_format(page, "</th><td>%.1f%%</td><td>%.1f%%</td></tr>\n",
                        html_percent(function->samples, report->samples),
                        html_percent(sum, report->samples));
    }
    bat_text_string(page,
                    "</tbody></table>\n<p><a href=\"#functions\">All functions</a></p></div>\n");
}

/* --- What to do next -------------------------------------------------------------------------- */

/* A word of a command for a shell. */
static void write_word(struct bat_text_writer *page, const char *word)
{
    const bool is_plain =
        *word &&
        word[strspn(word,
                    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-./:@%,")] ==
            '\0';
    if (is_plain) {
        html_text(page, word);
        return;
    }
    bat_text_string(page, "&#39;");
    for (const char *at = word; *at;) {
        const size_t length = strcspn(at, "'");
        char part[256];
        size_t taken = length < sizeof(part) - 1 ? length : sizeof(part) - 1;
        /* Not within a character. */
        while (taken < length && taken > 1 && (at[taken] & 0xc0) == 0x80)
            taken--;
        memcpy(part, at, taken);
        part[taken] = '\0';
        html_text(page, part);
        at += taken;
        if (*at == '\'') {
            bat_text_string(page, "&#39;\\&#39;&#39;");
            at++;
        }
    }
    bat_text_string(page, "&#39;");
}

/* Lines are broken between options, not behind their hyphens (page.css). */
static void write_option(struct bat_text_writer *page, const char *option, const char *value)
{
    bat_text_format(page, " <span>%s", option);
    write_word(page, value);
    bat_text_string(page, "</span>");
}

/* The command that makes the next profile, of another build if next is not NULL. */
static void write_translation(const struct report *report, const char *next, const char *output,
                              struct bat_text_writer *page)
{
    const struct bat_page_request *request = report->request;
    bat_text_string(page, "<code class=\"command\">battranslate ");
    write_word(page, request->binary);
    for (size_t i = 0; i < request->profile_count && i < PROFILES_NAMED; i++)
        write_option(page, "-p ", request->profiles[i]);
    if (request->profile_count > PROFILES_NAMED)
        bat_text_string(page, " -p …");
    write_option(page, "--original=", request->original ? request->original : "INPUT");
    if (next)
        write_option(page, "--for=", next);
    write_option(page, "-o ", output);
    bat_text_string(page, " <span>--check</span></code>");
}

static void write_recording(const struct report *report, const char *what,
                            struct bat_text_writer *page)
{
    const char *binary = report->request->binary;
    bat_text_format(page, "<li>%s: <code class=\"command\">perf record -e cycles:u ", what);
    bat_text_format(page, "<span>-j any,u</span> <span>-- %s", strchr(binary, '/') ? "" : "./");
    write_word(page, binary);
    bat_text_string(page, "</span></code></li>\n");
}

static bool has_failed(const struct report *report, enum bat_verdict_check check)
{
    return report->check.results[check].status == BAT_VERDICT_FAILED;
}

/* What ran is not in the code of this binary. */
static bool is_of_other_build(const struct report *report)
{
    return has_failed(report, BAT_VERDICT_BUILD_ID) || has_failed(report, BAT_VERDICT_BRANCHES) ||
           has_failed(report, BAT_VERDICT_TARGETS) || has_failed(report, BAT_VERDICT_RUNS) ||
           has_failed(report, BAT_VERDICT_INSTRUCTIONS);
}

/* No sample is in the binary. */
static bool is_of_other_binary(const struct report *report)
{
    return has_failed(report, BAT_VERDICT_SAMPLES) &&
           report->check.results[BAT_VERDICT_SAMPLES].value == 0;
}

/* What the profile says of this code is chance. */
static bool is_of_other_code(const struct report *report)
{
    return is_of_other_binary(report) || is_of_other_build(report);
}

/* What is wrong with the profile, and what helps. */
static void write_faults(const struct report *report, struct bat_text_writer *page)
{
    const size_t given = report->request->profile_count;
    if (!report->check.is_fit)
        bat_text_format(page,
                        "<li>Do not use this profile as it is: <a href=\"#check\">the checks</a> "
                        "say %s.</li>\n",
                        is_of_other_binary(report) ? "that no sample is in this binary"
                        : is_of_other_build(report)
                            ? "that it, or a part of it, is of another build"
                            : "what is wrong with it");
    if (report->profiles_with_records < given && !is_of_other_binary(report)) {
        bat_text_string(page, "<li>Look for missing hosts: ");
        bat_text_format(page, "%zu of ", given - (size_t)report->profiles_with_records);
        html_count(page, given, "profile");
        bat_text_string(page, " had <a href=\"#check\">no records</a> of this binary.</li>\n");
    }
    if (report->samples_old != 0)
        bat_text_format(page,
                        "<li>%.1f%% of the samples are in code from before BOLT moved it: <a "
                        "href=\"#map\">the map</a> shows where.</li>\n",
                        html_percent(report->samples_old, report->samples));
}

static void write_losses(const struct report *report, struct bat_text_writer *page)
{
    if (report->has_judgement && report->judgement.stale_functions != 0) {
        const struct bat_judgement *judged = &report->judgement;
        bat_text_string(page, "<li>llvm-bolt will refuse <a href=\"#refused\">");
        html_count(page, judged->stale_functions, "function");
        bat_text_format(page, "</a> with %.1f%% of the counts%s.</li>\n",
                        html_percent(judged->stale_samples, judged->samples),
                        report->original ? "" : ": <code>--original</code> makes these fewer");
    }
    if (report->is_moved && report->moved.by_note_functions != 0) {
        bat_text_string(page, "<li><a href=\"#by-note\">");
        html_count(page, report->moved.by_note_functions, "function");
        bat_text_string(page, "</a> have the profile of the note alone.</li>\n");
    }
}

static void write_next(const struct report *report, struct bat_text_writer *page)
{
    bat_text_format(page, "<div class=\"card %s\"><h3>%s</h3>\n", "next", "What to do next");
    bat_text_string(page, "<ol>\n");
    if (!report->has_profile) {
        write_recording(report, "Record a profile, and give it with <code>-p</code>", page);
        bat_text_string(page, "</ol></div>\n");
        return;
    }
    write_faults(report, page);
    if (is_of_other_code(report) || has_failed(report, BAT_VERDICT_OLD_CODE)) {
        write_recording(report, "Record this binary", page);
        bat_text_string(page, "</ol></div>\n");
        return;
    }
    write_losses(report, page);
    bat_text_string(page, "<li>For another BOLT of the same build: ");
    write_translation(report, NULL, "app.fdata", page);
    bat_text_string(page, "</li>\n<li>For the next release");
    if (report->next.profile)
        bat_text_format(
            page, ", which has <a href=\"#next-build\">%.1f%% of the profile</a>",
            100 - html_percent(report->next.figures.gone.count, report->next.figures.all.count));
    bat_text_string(page, ": ");
    write_translation(report, report->next.profile ? report->request->next : "NEXT", "next.fdata",
                      page);
    bat_text_string(page, "</li>\n</ol></div>\n");
}

void report_write_answer(const struct report *report, struct bat_text_writer *page)
{
    const bool is_of_this = report->has_profile && !is_of_other_code(report);
    bat_text_string(page, "<div class=\"cards answers\">\n");
    if (report->has_profile)
        write_verdict(report, page);
    if (is_of_this)
        write_gains(report, page);
    write_next(report, page);
    if (is_of_this && report->samples != 0)
        write_hottest(report, page);
    bat_text_string(page, "</div>\n");
}
