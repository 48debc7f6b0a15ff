/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Functions and counts are compared, not records: a former profile may be of a build with other
 * code, and when half of the hosts are missing, the shares of the functions stay what they were.
 * Local functions are compared by their names alone: f/1 of a binary without a note is f/file.c/1
 * of one that has a note.
 */
#include "baseline.h"

#include <stdlib.h>
#include <string.h>

#include "bat_compare.h"
#include "compare_read.h"
#include "sample_places.h"

/* A function, with its shares of both profiles. */
struct shared {
    const char *name; /* belongs to the comparison */
    size_t size;      /* of the name without what marks it as local */
    double shares[2];
};

struct shares {
    struct shared *all;
    size_t count;
};

/* --- Names of functions ---------------------------------------------------------------------- */

/* The size of a name without /N or /FILE/N at its end. */
static size_t plain_size(const char *name)
{
    size_t size = strlen(name);
    size_t end = size;
    while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9')
        end--;
    if (end == size || end < 2 || name[end - 1] != '/')
        return size;
    size_t plain = --end;
    while (end > 0 && name[end - 1] != '/')
        end--;
    return end > 1 && end < plain ? end - 1 : plain;
}

static bool add_shared(const struct bat_function_agreement *function, void *context)
{
    struct shares *shares = context;
    size_t count = shares->count;
    if ((count & (count - 1)) == 0) { /* full at each power of two */
        struct shared *grown =
            reallocarray(shares->all, count ? 2 * count : 1, sizeof(*shares->all));
        if (!grown)
            return false;
        shares->all = grown;
    }
    shares->all[shares->count++] =
        (struct shared){.name = function->name,
                        .size = plain_size(function->name),
                        .shares = {function->shares[0], function->shares[1]}};
    return true;
}

static int by_name(const void *left_pointer, const void *right_pointer)
{
    const struct shared *left = left_pointer;
    const struct shared *right = right_pointer;
    size_t smaller = left->size < right->size ? left->size : right->size;
    int order = memcmp(left->name, right->name, smaller);
    return order ? order : (left->size > right->size) - (left->size < right->size);
}

/* The sum of the smaller of both shares of all names. Sorts the shares. */
static double sum_common(struct shares *shares)
{
    double sum = 0;
    if (shares->count > 1)
        qsort(shares->all, shares->count, sizeof(*shares->all), by_name);
    for (size_t i = 0; i < shares->count;) {
        double both[2] = {0, 0};
        size_t first = i;
        for (; i < shares->count && by_name(&shares->all[first], &shares->all[i]) == 0; i++)
            for (size_t j = 0; j < 2; j++)
                both[j] += shares->all[i].shares[j];
        sum += both[0] < both[1] ? both[0] : both[1];
    }
    return sum;
}

/* --- Both profiles --------------------------------------------------------------------------- */

static enum tool_exit read_former(struct bat_overlaps *comparison, const char *path)
{
    struct sample_places places = {0};
    enum compared_form form = COMPARED_FDATA;
    struct bat_error error;
    enum bat_code code = compare_read(comparison, &places, path, NULL, &form, &error);
    sample_places_free(&places);
    if (code != BAT_OK) {
        tool_report(path, &error);
    } else if (form != COMPARED_FDATA && form != COMPARED_FDATA_SAMPLES) {
        tool_message(path, "expected fdata of a former profile, found %s",
                     compared_form_name(form));
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
                              const struct bat_records *records, struct check_baseline *baseline)
{
    struct bat_error error;
    struct shares shares = {0};

    enum tool_exit status = read_former(comparison, path);
    if (status != TOOL_FINE)
        return status;
    if (add_records(comparison, records, &error) != BAT_OK ||
        bat_overlaps_finish(comparison, &error) != BAT_OK ||
        bat_overlaps_functions(comparison, 0, 1, add_shared, &shares, &error) != BAT_OK) {
        free(shares.all);
        tool_report(path, &error);
        return TOOL_BAD;
    }
    *baseline = (struct check_baseline){.own = bat_overlaps_size(comparison, 1).samples,
                                        .former = bat_overlaps_size(comparison, 0).samples,
                                        .functions = sum_common(&shares)};
    free(shares.all);

    return TOOL_FINE;
}

enum tool_exit baseline_compare(const char *path, const struct bat_records *records,
                                struct check_baseline *baseline)
{
    struct bat_overlaps *comparison;
    struct bat_error error;
    if (bat_overlaps_new(&comparison, &error) != BAT_OK) {
        tool_report(path, &error);
        return TOOL_BAD;
    }
    enum tool_exit status = compare(comparison, path, records, baseline);
    bat_overlaps_free(comparison);
    return status;
}
