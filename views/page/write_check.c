/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Whether the profile is fit, and which functions llvm-bolt will refuse, for readers without
 * scripts. */
#include <stdlib.h>

#include "binary/note_facts.h"
#include "page.h"
#include "profile/verdict/words.h"

/* Functions of a finding, and refused functions, that the page lists without scripts. */
#define FUNCTIONS_SHOWN 5u
#define REFUSALS_SHOWN 100u

/* --- The checks ------------------------------------------------------------------------------- */

static void write_number(struct bat_text_writer *page, const struct bat_verdict_kind *kind,
                         double value)
{
    char text[NUMBER_SIZE];
    if (kind->is_share)
        bat_text_format(page, "%.1f%%", 100 * value);
    else if (value < 1e15 && value == (double)(uint64_t)value)
        bat_text_string(page, with_commas((uint64_t)value, text));
    else
        bat_text_format(page, "%.1f", value);
}

void report_write_value(const struct report *report, enum bat_verdict_check number,
                        const char *between, struct bat_text_writer *page)
{
    const struct bat_verdict_kind *kind = bat_verdict_kind(number);
    write_number(page, kind, report->check.results[number].value);
    bat_text_format(page, "%sat %s ", between, kind->is_minimum ? "least" : "most");
    write_number(page, kind, report->check.results[number].limit);
}

/* The functions that contribute most, each with a link. */
static void write_functions(const struct report *report, enum bat_verdict_check number,
                            struct bat_text_writer *page)
{
    const struct bat_verdict_result *result = &report->check.results[number];
    if (result->function_count == 0)
        return;
    bat_text_string(page, "<tr class=\"detail\"><td colspan=\"4\"><ul>\n");
    for (size_t i = 0; i < result->function_count && i < FUNCTIONS_SHOWN; i++) {
        const struct bat_verdict_function *function = &result->functions[i];
        uint32_t place = BAT_NONE;
        if (number == BAT_VERDICT_STALE) {
            place = report_function_of_records(report, function->address);
        } else {
            uint32_t piece = report_piece_at(report, function->address);
            place = piece == BAT_NONE ? BAT_NONE : report->pieces[piece].function;
        }
        char part[NUMBER_SIZE];
        char whole[NUMBER_SIZE];
        bat_text_string(page, "<li>");
        report_write_name(report, place, function->name, page);
        bat_text_format(page, ": %s of %s%s%s</li>\n", with_commas(function->part, part),
                        with_commas(function->whole, whole), function->reason[0] ? ": " : "",
                        function->reason);
    }
    if (result->function_count > FUNCTIONS_SHOWN) {
        bat_text_string(page, "<li>and ");
        html_count(page, result->function_count - FUNCTIONS_SHOWN, "more function");
        bat_text_string(page, "</li>\n");
    }
    bat_text_string(page, "</ul></td></tr>\n");
}

static void write_result(const struct report *report, enum bat_verdict_check number,
                         struct bat_text_writer *page)
{
    const struct bat_verdict_kind *kind = bat_verdict_kind(number);
    const struct bat_verdict_result *result = &report->check.results[number];
    if (result->status == BAT_VERDICT_UNKNOWN)
        return;
    const char *verdict = bat_verdict_word(kind, result);
    bat_text_format(
        page, "<tr class=\"check is-%s\"><th scope=\"row\"><code>%s</code> %s</th><td>%s</td><td>",
        verdict, kind->id, kind->summary, verdict);
    report_write_value(report, number, "</td><td>", page);
    bat_text_string(page, "</td></tr>\n");
    if (result->reason)
        html_put(page, "<tr class=\"detail\"><td colspan=\"4\"><bdi>", result->reason,
                 "</bdi></td></tr>\n");
    if (result->status == BAT_VERDICT_FAILED)
        write_functions(report, number, page);
}

static void write_unknown(const struct bat_profile_verdict *check, struct bat_text_writer *page)
{
    const char *before = "<p class=\"remark\">The profile says nothing of these checks: ";
    for (size_t i = 0; i < BAT_VERDICT_CHECKS; i++) {
        if (check->results[i].status != BAT_VERDICT_UNKNOWN)
            continue;
        bat_text_format(page, "%s<code>%s</code>", before,
                        bat_verdict_kind((enum bat_verdict_check)i)->id);
        before = ", ";
    }
    if (*before == ',')
        bat_text_string(page, ".</p>\n");
}

static void write_unused(const struct bat_profile_verdict *check, struct bat_text_writer *page)
{
    for (size_t i = 0; i < check->suppressions.count; i++) {
        const struct bat_suppression *suppression = &check->suppressions.all[i];
        if (suppression->is_used)
            continue;
        bat_text_format(page, "<p class=\"remark\">Unused suppression: <code>%s</code> <bdi>",
                        bat_verdict_kind(suppression->check)->id);
        html_text(page, suppression->pattern ? suppression->pattern : "");
        bat_text_string(page, "</bdi></p>\n");
    }
}

static void write_checks(const struct report *report, struct bat_text_writer *page)
{
    const struct bat_profile_verdict *check = &report->check;
    bat_text_format(page, "<h3 class=\"group\" id=\"check\">The profile is %s (",
                    check->is_fit ? "fit" : "unfit");
    html_count(page, check->findings[BAT_ERROR], "error");
    bat_text_string(page, ", ");
    html_count(page, check->findings[BAT_WARNING], "warning");
    bat_text_string(page, ")</h3>\n<div class=\"card scroll\" tabindex=\"0\" role=\"region\" "
                          "aria-labelledby=\"check\"><table class=\"rows checks\"><thead><tr>"
                          "<th scope=\"col\">check</th><th scope=\"col\">verdict</th>"
                          "<th scope=\"col\">value</th><th scope=\"col\">limit</th></tr></thead>"
                          "<tbody>\n");
    for (size_t i = 0; i < BAT_VERDICT_CHECKS; i++)
        write_result(report, (enum bat_verdict_check)i, page);
    bat_text_string(page, "</tbody></table></div>\n");
    write_unknown(check, page);
    write_unused(check, page);
}

/* --- What llvm-bolt will refuse --------------------------------------------------------------- */

/* fdata first, then those with the most counts. */
static int most_counts_first(const void *left_pointer, const void *right_pointer)
{
    const struct report_refusal *left = *(const struct report_refusal *const *)left_pointer;
    const struct report_refusal *right = *(const struct report_refusal *const *)right_pointer;
    if (left->is_yaml != right->is_yaml)
        return left->is_yaml ? 1 : -1;
    if (left->counts != right->counts)
        return left->counts > right->counts ? -1 : 1;
    return (left > right) - (left < right);
}

static void write_refusal(const struct report *report, const struct report_refusal *refusal,
                          struct bat_text_writer *page)
{
    char text[NUMBER_SIZE];
    bat_text_string(page, "<tr><th scope=\"row\">");
    report_write_name(report, refusal->function, refusal->name, page);
    bat_text_format(page, "</th><td>%s</td><td>%s</td><td>%s</td></tr>\n",
                    refusal->is_yaml ? "YAML" : "fdata", with_commas(refusal->counts, text),
                    refusal->reason);
}

static bool write_refusals(const struct report *report, struct bat_text_writer *page)
{
    size_t count = report->refusal_count;
    if (count == 0)
        return true;
    const struct report_refusal **order = malloc(count * sizeof(*order));
    if (!order)
        return false;
    for (size_t i = 0; i < count; i++)
        order[i] = &report->refusals[i];
    qsort(order, count, sizeof(*order), most_counts_first);
    bat_text_string(page,
                    "<h3 class=\"group\" id=\"refused\">Functions whose profile llvm-bolt will "
                    "refuse</h3>\n<div class=\"card scroll\" tabindex=\"0\" role=\"region\" "
                    "aria-labelledby=\"refused\"><table class=\"rows refused\"><thead><tr>"
                    "<th scope=\"col\">function</th><th scope=\"col\">in</th>"
                    "<th scope=\"col\">counts</th><th scope=\"col\">reason</th></tr></thead>"
                    "<tbody>\n");
    for (size_t i = 0; i < count && i < REFUSALS_SHOWN; i++)
        write_refusal(report, order[i], page);
    bat_text_string(page, "</tbody></table></div>\n");
    if (count > REFUSALS_SHOWN) {
        bat_text_string(page, "<p class=\"remark\">And ");
        html_count(page, count - REFUSALS_SHOWN, "more function");
        bat_text_string(page, ", which the <a href=\"#functions?filter=refused\">table of functions"
                              "</a> has.</p>\n");
    }
    free(order);
    return true;
}

void report_write_banner(const struct report *report, struct bat_text_writer *page)
{
    char *words = bat_verdict_words(&report->check);
    if (!words && bat_verdict_made(&report->check) != 0 && page->code == BAT_OK)
        page->code = bat_fail_memory(page->error, "for the page");
    if (words && !report->check.is_fit)
        bat_text_format(page,
                        "<p class=\"banner\" role=\"note\">The profile is %s. The checks below say "
                        "why.</p>\n",
                        words);
    free(words);
}

void report_write_check(const struct report *report, struct bat_text_writer *page)
{
    write_checks(report, page);
    if (!write_refusals(report, page) && page->code == BAT_OK)
        page->code = bat_fail_memory(page->error, "for the page");
}
