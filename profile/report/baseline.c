/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Functions and counts are compared, not records: a former profile may be of a build with other
 * code, and when half of the hosts are missing, the shares of the functions stay what they were.
 * Local functions are compared by their names alone: f/1 of a binary without a note is f/file.c/1
 * of one that has a note.
 */
#include "bat_compare.h"
#include "report.h"

static enum bat_code read_former(struct bat_overlaps *comparison, const char *path,
                                 struct bat_error *error)
{
    enum bat_compared_form form = BAT_COMPARED_FDATA;
    BAT_TRY(bat_overlaps_add_file(comparison, path, NULL, &form, error));
    if (form != BAT_COMPARED_FDATA && form != BAT_COMPARED_FDATA_SAMPLES)
        return bat_fail(error, BAT_ERR_MISMATCH, "expected fdata of a former profile, found %s",
                        bat_compared_form_name(form));
    if (bat_overlaps_size(comparison, 0).records == 0)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected a profile with records, found none in it");
    return BAT_OK;
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

static enum bat_code compare(struct bat_overlaps *comparison, const char *path,
                             const struct bat_records *records,
                             struct bat_verdict_baseline *baseline, struct bat_error *error)
{
    struct bat_agreement agreement;
    BAT_TRY(read_former(comparison, path, error));
    BAT_TRY(add_records(comparison, records, error));
    BAT_TRY(bat_overlaps_finish(comparison, error));
    BAT_TRY(bat_overlaps_pair(comparison, 0, 1, &agreement, error));
    *baseline = (struct bat_verdict_baseline){.own = bat_overlaps_size(comparison, 1).samples,
                                              .former = bat_overlaps_size(comparison, 0).samples,
                                              .functions = agreement.functions};
    return BAT_OK;
}

enum bat_code baseline_compare(const char *path, const struct bat_records *records,
                               struct bat_verdict_baseline *baseline, struct bat_error *error)
{
    struct bat_overlaps *comparison;
    BAT_TRY(bat_overlaps_new(&comparison, error));
    bat_overlaps_use_plain_names(comparison);
    enum bat_code code = compare(comparison, path, records, baseline, error);
    bat_overlaps_free(comparison);
    return code;
}
