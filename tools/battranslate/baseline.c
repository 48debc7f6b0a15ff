/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Functions and counts are compared, not records: a former profile may be of a build with other
 * code, and when half of the hosts are missing, the shares of the functions stay what they were.
 * Local functions are compared by their names alone: f/1 of a binary without a note is f/file.c/1
 * of one that has a note.
 */
#include "translate_report.h"

#include "bat_compare.h"

static enum tool_exit read_former(struct bat_overlaps *comparison, const char *path)
{
    enum bat_compared_form form = BAT_COMPARED_FDATA;
    struct bat_error error;
    enum bat_code code = bat_overlaps_add_file(comparison, path, NULL, &form, &error);
    if (code != BAT_OK) {
        tool_report(path, &error);
    } else if (form != BAT_COMPARED_FDATA && form != BAT_COMPARED_FDATA_SAMPLES) {
        tool_message(path, "expected fdata of a former profile, found %s",
                     bat_compared_form_name(form));
        code = BAT_ERR_MISMATCH;
    } else if (bat_overlaps_size(comparison, 0).records == 0) {
        tool_message(path, "expected a profile with records, found none in it");
        code = BAT_ERR_MISMATCH;
    }
    return code == BAT_OK ? TOOL_FINE : TOOL_BAD;
}

/* All records of a function count as one. */
static enum bat_code add_records(struct bat_overlaps *comparison, const struct bat_records *records,
                                 struct bat_error *error)
{
    struct bat_record record;
    enum bat_code code = bat_overlaps_begin(comparison, error);
    for (uint64_t i = 0; code == BAT_OK && bat_records_get(records, i, &record); i++)
        code = bat_overlaps_record(comparison, record.from.name, "all", record.count, error);
    return code;
}

static enum tool_exit compare(struct bat_overlaps *comparison, const char *path,
                              const struct bat_records *records,
                              struct bat_verdict_baseline *baseline)
{
    struct bat_error error;
    struct bat_agreement agreement;

    BAT_TRY(read_former(comparison, path));
    if (add_records(comparison, records, &error) != BAT_OK ||
        bat_overlaps_finish(comparison, &error) != BAT_OK ||
        bat_overlaps_pair(comparison, 0, 1, &agreement, &error) != BAT_OK)
        return tool_report(path, &error);
    *baseline = (struct bat_verdict_baseline){.own = bat_overlaps_size(comparison, 1).samples,
                                              .former = bat_overlaps_size(comparison, 0).samples,
                                              .functions = agreement.functions};

    return TOOL_FINE;
}

enum tool_exit baseline_compare(const char *path, const struct bat_records *records,
                                struct bat_verdict_baseline *baseline)
{
    struct bat_overlaps *comparison;
    struct bat_error error;
    if (bat_overlaps_new(&comparison, &error) != BAT_OK)
        return tool_report(path, &error);
    bat_overlaps_use_plain_names(comparison);
    enum tool_exit status = compare(comparison, path, records, baseline);
    bat_overlaps_free(comparison);
    return status;
}
