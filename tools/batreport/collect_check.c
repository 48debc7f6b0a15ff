/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Judges whether the profile is fit, and lists the functions that llvm-bolt will refuse. */
#include <stdlib.h>

#include "binary/functions/functions.h"
#include "binary/original/original.h"
#include "report.h"

/* perf2bolt's: the functions with 99% of the samples. */
#define DENSITY_CUTOFF 990000u

static enum tool_exit list_refusals(struct report *report)
{
    struct bat_stale_function stale;
    size_t count = 0;
    for (unsigned form = 0; form < 2; form++)
        for (uint64_t i = 0; bat_records_stale(report->records, form, i, &stale); i++)
            count++;
    report->refusals = malloc((count + 1) * sizeof(*report->refusals));
    if (!report->refusals)
        return tool_no_memory(NULL);
    for (unsigned form = 0; form < (report->has_yaml_judgement ? 2 : 1); form++)
        for (uint64_t i = 0; bat_records_stale(report->records, form, i, &stale); i++) {
            struct report_refusal *refusal = &report->refusals[report->refusal_count++];
            *refusal = (struct report_refusal){
                .name = stale.name,
                .counts = stale.samples,
                .function = report_function_of_records(report, stale.address),
                .is_yaml = form != 0};
            bat_verdict_stale_reason(report->records, &stale, refusal->reason);
        }
    return TOOL_FINE;
}

/* perf2bolt's records, of which it makes the density; those of a moved profile are what they are.
 */
static enum tool_exit translate_all(struct report *report, struct bat_records **records)
{
    const struct bat_translate_options options = {.size = sizeof(options),
                                                  .keep_all_records = true};
    *records = NULL;
    if (report->is_moved || bat_profile_translate(report->profile, &report->binary, &options,
                                                  records, &report->error) == BAT_OK)
        return TOOL_FINE;
    return report_fail(report, report->request->binary);
}

enum tool_exit report_collect_check(struct report *report)
{
    if (!report->has_profile)
        return TOOL_FINE;
    struct bat_records *all_records;
    enum tool_exit status = translate_all(report, &all_records);
    if (status != TOOL_FINE)
        return status;
    const struct bat_verdict_subject subject = {
        .profile = report->profile,
        .moved = report->is_moved ? report->input_profile : report->profile,
        .binary = &report->binary,
        .records = report->records,
        .all_records = all_records,
        .to_input = report->is_moved ? &report->moved : NULL,
        .judgement = &report->judgement,
        .profiles = report->profiles_with_records,
        .density_cutoff = DENSITY_CUTOFF,
        .density_threshold = bat_verdict_kind(BAT_VERDICT_DENSITY)->limit};
    if (bat_verdict_judge(&report->check, &subject, &report->error) != BAT_OK)
        status = report_fail(report, report->request->binary);
    bat_records_free(all_records);
    if (status == TOOL_FINE)
        check_warn(&report->check, report->request->binary);
    return status == TOOL_FINE ? list_refusals(report) : status;
}

enum tool_exit report_collect_verdict(struct report *report)
{
    const struct bat_verdict_subject subject = {
        .profile = report->profile,
        .binary = &report->binary,
        .records = report->records,
        .to_input = report->is_moved ? &report->moved : NULL,
        .judgement = &report->judgement,
        .density_threshold = bat_verdict_kind(BAT_VERDICT_DENSITY)->limit};
    if (report->has_profile)
        bat_verdict_judge_counters(&report->check, &report->request->check, &subject);
    check_warn(&report->check, report->request->binary);
    return TOOL_FINE;
}
