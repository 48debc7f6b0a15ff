/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compare_profiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bat_compare.h"
#include "spec/array.h"

/* Functions that are printed for people; JSON has all. */
#define FUNCTIONS_PRINTED 20u

struct comparing {
    const struct compared_profiles *request;
    const char *const *paths;
    uint32_t count;
    struct bat_overlaps *comparison;
    struct bat_text_writer *output;
    uint32_t printed;   /* functions */
    bool is_low;        /* an overlap is below the lowest that is wanted */
    const char *failed; /* the path that the error is of; or NULL */
    struct bat_error *error;
};

/* --- Reading --------------------------------------------------------------------------------- */

static enum bat_code read_all(struct comparing *comparing, struct bat_elf *elf)
{
    enum bat_compared_form first = BAT_COMPARED_FDATA;
    for (uint32_t i = 0; i < comparing->count; i++) {
        enum bat_compared_form form = BAT_COMPARED_FDATA;
        const char *path = comparing->failed = comparing->paths[i];
        BAT_TRY(bat_overlaps_add_file(comparing->comparison, path, elf, &form, comparing->error));
        if (bat_overlaps_size(comparing->comparison, i).records == 0)
            return bat_fail(comparing->error, BAT_ERR_MISMATCH,
                            "expected a profile with records, found none in it");
        first = i == 0 ? form : first;
        if (form != first)
            return bat_fail(comparing->error, BAT_ERR_MISMATCH, "expected %s, as %s is, found %s",
                            bat_compared_form_name(first), comparing->paths[0],
                            bat_compared_form_name(form));
    }
    comparing->failed = NULL;
    return bat_overlaps_finish(comparing->comparison, comparing->error);
}

/* Take names as plain if some of the profiles are fdata of BOLTed binaries, and some of others. */
static enum bat_code choose_names(struct comparing *comparing)
{
    bool seen[] = {
        [BAT_FDATA_NONE] = false, [BAT_FDATA_BOLTED] = false, [BAT_FDATA_UNBOLTED] = false};
    for (uint32_t i = 0; i < comparing->count; i++) {
        enum bat_fdata_origin origin;
        comparing->failed = comparing->paths[i];
        BAT_TRY(bat_fdata_origin_of(comparing->failed, &origin, comparing->error));
        seen[origin] = true;
    }
    if (!seen[BAT_FDATA_BOLTED] || !seen[BAT_FDATA_UNBOLTED])
        return BAT_OK;
    bat_overlaps_use_plain_names(comparing->comparison);
    comparing->request->tell(NULL,
                             "warning: some profiles are of BOLTed binaries and some are not: "
                             "local functions are compared by their names alone");
    return BAT_OK;
}

static enum bat_code read_profiles(struct comparing *comparing)
{
    struct bat_elf *elf = NULL;
    BAT_TRY(choose_names(comparing));
    comparing->failed = comparing->request->symbols;
    if (comparing->failed)
        BAT_TRY(bat_elf_open(comparing->failed, &elf, comparing->error));
    enum bat_code code = read_all(comparing, elf);
    bat_elf_close(elf);
    return code;
}

/* --- Two profiles ---------------------------------------------------------------------------- */

static void print_percent(struct bat_text_writer *output, const char *label, double share)
{
    bat_text_format(output, "%-36s %9.3f%%\n", label, 100 * share);
}

static void print_both(struct bat_text_writer *output, const char *label, uint64_t left,
                       uint64_t right)
{
    bat_text_format(output, "%-36s %14lu %14lu\n", label, left, right);
}

static bool print_function(const struct bat_function_agreement *function, void *context)
{
    struct comparing *comparing = context;
    struct bat_text_writer *output = comparing->output;
    bool is_first = comparing->printed++ == 0;
    if (comparing->request->as_json) {
        bat_text_member(output, is_first ? "\n{\"name\":" : ",\n{\"name\":", function->name);
        bat_text_format(output, ",\"shares\":[%.9g,%.9g],\"overlap\":%.9g}", function->shares[0],
                        function->shares[1], function->overlap);
        return true;
    }
    if (comparing->printed > FUNCTIONS_PRINTED)
        return true;
    if (is_first)
        bat_text_string(output, "share in A  share in B  overlap inside  function\n");
    bat_text_format(output, "%9.3f%%  %9.3f%%  %13.3f%%  ", 100 * function->shares[0],
                    100 * function->shares[1], 100 * function->overlap);
    bat_text_name(output, "", function->name, "\n");
    return true;
}

static void print_text(const struct comparing *comparing, const struct bat_agreement *agreement)
{
    struct bat_text_writer *output = comparing->output;
    const struct bat_overlaps_size left = bat_overlaps_size(comparing->comparison, 0);
    const struct bat_overlaps_size right = bat_overlaps_size(comparing->comparison, 1);
    for (uint32_t i = 0; i < 2; i++)
        bat_text_name(output, i ? "B: " : "A: ", comparing->paths[i], "\n");
    print_percent(output, "overlap of records", agreement->overlap);
    print_percent(output, "overlap of functions", agreement->functions);
    print_percent(output, "similarity, by llvm-profdata", agreement->similarity);
    print_percent(output, "sample overlap, by llvm-profdata", agreement->sample_overlap);
    bat_text_format(output, "%-36s %14s %14s\n", "", "A", "B");
    print_both(output, "samples", left.samples, right.samples);
    print_both(output, "  of records in only this one", agreement->only_samples[0],
               agreement->only_samples[1]);
    print_both(output, "records", left.records, right.records);
    print_both(output, "  in only this one", agreement->only_records[0],
               agreement->only_records[1]);
    print_both(output, "functions", left.functions, right.functions);
    print_both(output, "  in only this one", agreement->only_functions[0],
               agreement->only_functions[1]);
}

static void print_json(const struct comparing *comparing, const struct bat_agreement *agreement)
{
    struct bat_text_writer *output = comparing->output;
    bat_text_format(output,
                    "{\"format\":\"batkit-comparison\",\"schema\":1,\"overlap\":%.9g,"
                    "\"function_overlap\":%.9g,\"similarity\":%.9g,\"sample_overlap\":%.9g,"
                    "\"profiles\":[",
                    agreement->overlap, agreement->functions, agreement->similarity,
                    agreement->sample_overlap);
    for (uint32_t i = 0; i < 2; i++) {
        const struct bat_overlaps_size size = bat_overlaps_size(comparing->comparison, i);
        bat_text_member(output, i ? ",\n{\"file\":" : "\n{\"file\":", comparing->paths[i]);
        bat_text_format(output,
                        ",\"samples\":%lu,\"records\":%lu,\"functions\":%lu,\"only_samples\":%lu,"
                        "\"only_records\":%lu,\"only_functions\":%lu}",
                        size.samples, size.records, size.functions, agreement->only_samples[i],
                        agreement->only_records[i], agreement->only_functions[i]);
    }
    bat_text_string(output, "],\"functions\":[");
}

static enum bat_code compare_two(struct comparing *comparing)
{
    struct bat_agreement agreement;
    BAT_TRY(bat_overlaps_pair(comparing->comparison, 0, 1, &agreement, comparing->error));
    comparing->is_low = agreement.overlap < comparing->request->min_overlap;
    if (comparing->request->is_quiet)
        return BAT_OK;
    (comparing->request->as_json ? print_json : print_text)(comparing, &agreement);
    BAT_TRY(bat_overlaps_functions(comparing->comparison, 0, 1, print_function, comparing,
                                   comparing->error));
    if (comparing->request->as_json)
        bat_text_string(comparing->output, "]}\n");
    else if (comparing->printed > FUNCTIONS_PRINTED)
        bat_text_format(comparing->output, "and %u functions more\n",
                        comparing->printed - FUNCTIONS_PRINTED);
    return BAT_OK;
}

/* --- Many profiles --------------------------------------------------------------------------- */

/* From so many profiles on, one may differ from what most agree on. */
#define OUTLIERS_MIN 4u

/* What scales a median of absolute deviations to a standard deviation of a normal distribution. */
#define DEVIATIONS 1.4826

/* An outlier is at least so much less like the others. */
#define DIFFERENCE_MIN 0.01

static int ascending(const void *left_pointer, const void *right_pointer)
{
    const double *left = left_pointer;
    const double *right = right_pointer;
    return (*left > *right) - (*left < *right);
}

/* The median; sorts the numbers. */
static double median(double *numbers, uint32_t count)
{
    qsort(numbers, count, sizeof(*numbers), ascending);
    return count % 2 ? numbers[count / 2] : (numbers[count / 2 - 1] + numbers[count / 2]) / 2;
}

/* The median overlap of each profile with the others. */
static void find_medians(const double *matrix, uint32_t count, double *medians, double *scratch)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t others = 0;
        for (uint32_t j = 0; j < count; j++)
            if (j != i)
                scratch[others++] = matrix[(size_t)i * count + j];
        medians[i] = median(scratch, others);
    }
}

/* The median below which a profile is an outlier; 0 for too few profiles. */
static double outlier_limit(const double *medians, uint32_t count, double *scratch)
{
    if (count < OUTLIERS_MIN)
        return 0;
    memcpy(scratch, medians, count * sizeof(*scratch));
    double middle = median(scratch, count);
    for (uint32_t i = 0; i < count; i++)
        scratch[i] = fabs(medians[i] - middle);
    double distance = 3 * DEVIATIONS * median(scratch, count);
    return middle - (distance > DIFFERENCE_MIN ? distance : DIFFERENCE_MIN);
}

static void print_matrix(const struct comparing *comparing, const double *matrix,
                         const double *medians, double limit)
{
    struct bat_text_writer *output = comparing->output;
    for (uint32_t i = 0; i < comparing->count; i++) {
        bat_text_format(output, "%4u  median %7.3f%%%s  ", i + 1, 100 * medians[i],
                        medians[i] < limit ? "  outlier" : "         ");
        bat_text_name(output, "", comparing->paths[i], "\n");
    }
    bat_text_string(output, "    ");
    for (uint32_t i = 0; i < comparing->count; i++)
        bat_text_format(output, " %7u", i + 1);
    for (uint32_t i = 0; i < comparing->count; i++) {
        bat_text_format(output, "\n%4u", i + 1);
        for (uint32_t j = 0; j < comparing->count; j++)
            bat_text_format(output, " %7.3f", 100 * matrix[(size_t)i * comparing->count + j]);
    }
    bat_text_string(output, "\n");
}

static void print_json_matrix(const struct comparing *comparing, const double *matrix,
                              const double *medians, double limit)
{
    struct bat_text_writer *output = comparing->output;
    bat_text_format(output,
                    "{\"format\":\"batkit-comparison\",\"schema\":1,\"limit\":%.9g,\"profiles\":[",
                    limit);
    for (uint32_t i = 0; i < comparing->count; i++) {
        const struct bat_overlaps_size size = bat_overlaps_size(comparing->comparison, i);
        bat_text_member(output, i ? ",\n{\"file\":" : "\n{\"file\":", comparing->paths[i]);
        bat_text_format(output,
                        ",\"samples\":%lu,\"records\":%lu,\"functions\":%lu,\"median\":%.9g,\"is_"
                        "outlier\":%s,\"overlaps\":[",
                        size.samples, size.records, size.functions, medians[i],
                        medians[i] < limit ? "true" : "false");
        for (uint32_t j = 0; j < comparing->count; j++)
            bat_text_format(output, "%s%.9g", j ? "," : "",
                            matrix[(size_t)i * comparing->count + j]);
        bat_text_string(output, "]}");
    }
    bat_text_string(output, "\n]}\n");
}

static enum bat_code fill_matrix(struct comparing *comparing, double *matrix)
{
    uint32_t count = comparing->count;
    for (uint32_t i = 0; i < count; i++) {
        matrix[(size_t)i * count + i] = 1;
        for (uint32_t j = i + 1; j < count; j++) {
            struct bat_agreement agreement;
            BAT_TRY(bat_overlaps_pair(comparing->comparison, i, j, &agreement, comparing->error));
            matrix[(size_t)i * count + j] = matrix[(size_t)j * count + i] = agreement.overlap;
        }
    }
    return BAT_OK;
}

static enum bat_code compare_many(struct comparing *comparing)
{
    size_t count = comparing->count;
    double *matrix = bat_array_new(count * count + 2 * count, sizeof(*matrix));
    BAT_TRY_MEMORY(matrix, comparing->error, "for the overlaps");
    double *medians = matrix + count * count;
    double *scratch = medians + count;
    enum bat_code code = fill_matrix(comparing, matrix);
    if (code == BAT_OK) {
        find_medians(matrix, comparing->count, medians, scratch);
        double limit = outlier_limit(medians, comparing->count, scratch);
        for (uint32_t i = 0; i < comparing->count; i++)
            comparing->is_low |= medians[i] < comparing->request->min_overlap;
        if (!comparing->request->is_quiet)
            (comparing->request->as_json ? print_json_matrix : print_matrix)(comparing, matrix,
                                                                             medians, limit);
    }
    free(matrix);
    return code;
}

/* --- All of it ------------------------------------------------------------------------------- */

enum bat_code compare_profiles(const struct compared_profiles *request,
                               struct bat_text_writer *output, bool *is_low, const char **failed,
                               struct bat_error *error)
{
    struct comparing comparing = {.request = request,
                                  .paths = request->paths,
                                  .count = request->count,
                                  .output = output,
                                  .error = error};
    enum bat_code code = bat_overlaps_new(&comparing.comparison, error);
    code = code ? code : read_profiles(&comparing);
    if (code == BAT_OK)
        code = comparing.count == 2 ? compare_two(&comparing) : compare_many(&comparing);
    bat_overlaps_free(comparing.comparison);
    *is_low = comparing.is_low;
    *failed = comparing.failed;
    return code;
}
