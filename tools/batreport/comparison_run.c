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

static enum tool_exit collect_side(struct report *report)
{
    static report_step_fn *const steps[] = {
        report_open_binaries,
        report_collect_code,
        report_collect_profile,
        report_collect_verdict,
        report_collect_heat,
        report_collect_pages,
        NULL,
    };
    return report_collect(report, steps);
}

static enum tool_exit collect(struct report_comparison *comparison)
{
    struct report *sides = comparison->sides;
    enum tool_exit status = collect_side(&sides[OLD]);
    if (status == TOOL_FINE)
        status = collect_side(&sides[NEW]);
    if (status != TOOL_FINE)
        return status;
    struct bat_error error;
    if (compare_binaries(&sides[OLD].binary, sides[OLD].request->binary, &sides[NEW].binary,
                         sides[NEW].request->binary, &comparison->facts, &error) != BAT_OK)
        return tool_report(comparison->facts.failed, &error);
    return comparison_pair(comparison) ? TOOL_FINE : TOOL_BAD;
}

static enum tool_exit check_unchanged(struct report *report)
{
    bool is_same = bat_binary_check_unchanged(&report->binary, &report->error) == BAT_OK;
    return is_same ? TOOL_FINE : report_fail(report, report->request->binary);
}

enum tool_exit comparison_run(const struct report_request *request)
{
    struct report_comparison comparison = {.requests = {*request, *request}};
    struct report_request *old = &comparison.requests[OLD];
    old->binary = request->old_binary;
    old->profiles = request->old_profiles;
    old->profile_count = request->old_profile_count;
    for (unsigned side = 0; side < 2; side++) {
        struct report *report = &comparison.sides[side];
        *report =
            (struct report){.request = &comparison.requests[side], .stored = bat_stored_nothing()};
    }
    struct report *report = &comparison.sides[NEW];
    struct bat_output *output = NULL;
    if (bat_output_begin(request->output, &output, &report->error) != BAT_OK)
        return report_fail(report, NULL);
    enum tool_exit status = report_check_output(&comparison.sides[OLD], output);
    if (status == TOOL_FINE)
        status = report_check_output(report, output);
    if (status == TOOL_FINE)
        status = collect(&comparison);
    if (status == TOOL_FINE && comparison_write(&comparison, output, &report->error) != BAT_OK)
        status = tool_report_output(request->output, &report->error);
    for (unsigned side = 0; side < 2 && status == TOOL_FINE; side++)
        status = check_unchanged(&comparison.sides[side]);
    if (status == TOOL_FINE)
        status = tool_commit(NULL, &output, 1);
    else
        bat_output_abandon(output);
    free_comparison(&comparison);
    return status;
}
