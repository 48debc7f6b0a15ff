/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Judges whether the profile is fit, and lists the functions that llvm-bolt will refuse. */
#include <stdlib.h>

#include "binary/functions/functions.h"
#include "binary/original/original.h"
#include "profile/verdict/words.h"
#include "report.h"

static void warn_unfit(const struct report *report)
{
    char *words = report->check.is_fit ? NULL : bat_verdict_words(&report->check);
    if (words)
        report_warn(report, report->request->binary, "the profile looks %s", words);
    free(words);
}

/* perf2bolt's: the functions with 99% of the samples. */
#define DENSITY_CUTOFF 990000u

static enum bat_code list_refusals(struct report *report)
{
    struct bat_stale_function stale;
    size_t count = 0;
    for (unsigned form = 0; form < 2; form++)
        for (uint64_t i = 0; bat_records_stale(report->records, form, i, &stale); i++)
            count++;
    report->refusals = malloc((count + 1) * sizeof(*report->refusals));
    if (!report->refusals)
        return report_no_memory(report);
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
    return BAT_OK;
}

/* perf2bolt's records, of which it makes the density; those of a moved profile are what they are.
 */
static enum bat_code translate_all(struct report *report, struct bat_records **records)
{
    const struct bat_translate_options options = {.size = sizeof(options),
                                                  .keep_all_records = true};
    *records = NULL;
    if (report->is_moved || bat_profile_translate(report->profile, &report->binary, &options,
                                                  records, &report->error) == BAT_OK)
        return BAT_OK;
    return report_fail(report, report->request->binary);
}

enum bat_code report_collect_check(struct report *report)
{
    if (!report->has_profile)
        return BAT_OK;
    struct bat_records *all_records;
    BAT_TRY(translate_all(report, &all_records));
    enum bat_code code = BAT_OK;
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
        code = report_fail(report, report->request->binary);
    bat_records_free(all_records);
    if (code == BAT_OK)
        warn_unfit(report);
    return code ? code : list_refusals(report);
}

enum bat_code report_collect_verdict(struct report *report)
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
    warn_unfit(report);
    return BAT_OK;
}
