/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <stdlib.h>

#include "comparison_report.h"

static void free_comparison(struct report_comparison *comparison)
{
    /* The facts use the binaries. */
    comparison_free(&comparison->facts);
    for (unsigned side = 0; side < 2; side++) {
        free(comparison->pairs[side]);
        report_free(&comparison->sides[side]);
    }
    free(comparison->flags);
    free(comparison->went);
}

static enum bat_code collect_side(struct report *report)
{
    static report_step_fn *const steps[] = {
        report_open_binaries,   report_collect_code,    report_collect_profile,
        report_collect_verdict, report_collect_samples, report_collect_blocks,
        report_collect_heat,    report_collect_pages,   NULL,
    };
    return report_collect(report, steps);
}

/* *report becomes the side whose error tells why it fails. */
static enum bat_code collect(struct report_comparison *comparison, struct report **report)
{
    struct report *sides = comparison->sides;
    for (unsigned side = OLD; side <= NEW; side++) {
        *report = &sides[side];
        BAT_TRY(collect_side(*report));
    }
    if (compare_binaries(&sides[OLD].binary, sides[OLD].request->binary, &sides[NEW].binary,
                         sides[NEW].request->binary, &comparison->facts,
                         &(*report)->error) != BAT_OK)
        return report_fail(*report, comparison->facts.failed);
    return comparison_pair(comparison) ? BAT_OK : report_no_memory(*report);
}

static enum bat_code check_unchanged(struct report *report)
{
    bool is_same = bat_binary_check_unchanged(&report->binary, &report->error) == BAT_OK;
    return is_same ? BAT_OK : report_fail(report, report->request->binary);
}

enum bat_code comparison_run(const struct bat_page_request *request, struct bat_output *output,
                             const char **file, struct bat_error *error)
{
    struct report_comparison comparison = {.requests = {*request, *request}};
    struct bat_page_request *old = &comparison.requests[OLD];
    old->binary = request->old_binary;
    old->profiles = request->old_profiles;
    old->profile_count = request->old_profile_count;
    for (unsigned side = 0; side < 2; side++) {
        struct report *report = &comparison.sides[side];
        *report =
            (struct report){.request = &comparison.requests[side], .stored = bat_stored_nothing()};
    }
    struct report *report;
    enum bat_code code = collect(&comparison, &report);
    code = code ? code : comparison_write(&comparison, output, &report->error);
    for (unsigned side = 0; side < 2 && code == BAT_OK; side++) {
        report = &comparison.sides[side];
        code = check_unchanged(report);
    }
    *file = report->failed;
    if (code != BAT_OK && error)
        *error = report->error;
    free_comparison(&comparison);
    return code;
}
