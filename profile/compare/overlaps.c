/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Collects the records of profiles under common numbers. */
#include "overlaps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binary/functions/functions.h"
#include "binary/functions/name_parts.h"
#include "profile/profile.h"

enum bat_code bat_overlaps_new(struct bat_overlaps **comparison, struct bat_error *error)
{
    *comparison = calloc(1, sizeof(**comparison));
    return *comparison ? BAT_OK : bat_fail_memory(error, "to compare profiles");
}

void bat_overlaps_free(struct bat_overlaps *comparison)
{
    if (!comparison)
        return;
    for (uint32_t i = 0; i < comparison->count; i++) {
        bat_counts_free(&comparison->all[i].records);
        bat_counts_free(&comparison->all[i].sums);
    }
    bat_strings_free(&comparison->functions);
    bat_strings_free(&comparison->records);
    sample_places_free(&comparison->places);
    free(comparison->all);
    free(comparison);
}

void bat_overlaps_use_plain_names(struct bat_overlaps *comparison)
{
    comparison->has_plain_names = true;
}

static size_t name_size(const struct bat_overlaps *comparison, const char *name)
{
    return comparison->has_plain_names ? unnumbered_name_length(name) : strlen(name);
}

/* Sort what the last profile has, which is complete. That leaves no more memory than its items
 * take. */
static void end_profile(struct bat_overlaps *comparison)
{
    if (comparison->count == 0)
        return;
    struct compared *last = &comparison->all[comparison->count - 1];
    bat_counts_sort(&last->records);
    bat_counts_sort(&last->sums);
}

enum bat_code bat_overlaps_begin(struct bat_overlaps *comparison, struct bat_error *error)
{
    struct compared *grown =
        reallocarray(comparison->all, (size_t)comparison->count + 1, sizeof(*grown));
    BAT_TRY_MEMORY(grown, error, "to compare profiles");
    comparison->all = grown;
    end_profile(comparison);
    comparison->is_finished = false;
    grown[comparison->count++] =
        (struct compared){.records = bat_counts_new(2), .sums = bat_counts_new(1)};
    return BAT_OK;
}

enum bat_code bat_overlaps_record(struct bat_overlaps *comparison, const char *function,
                                  const char *record, uint64_t count, struct bat_error *error)
{
    if (comparison->count == 0 || comparison->is_finished)
        return bat_fail(error, BAT_ERR_ARGUMENT, "expected a profile before its records");
    if (count == 0)
        return BAT_OK;
    struct compared *compared = &comparison->all[comparison->count - 1];
    if (count > BAT_COUNT_MAX || compared->samples > BAT_COUNT_MAX - count)
        return bat_fail(error, BAT_ERR_RANGE,
                        "expected counts that add up to less than 2^63, found more");
    uint32_t numbers[2];
    if (bat_strings_add(&comparison->functions, function, name_size(comparison, function),
                        &numbers[0]) != BAT_OK ||
        bat_strings_add(&comparison->records, record, strlen(record), &numbers[1]) != BAT_OK)
        return bat_fail_memory(error, "to compare profiles");
    const uint64_t key[2] = {numbers[0], numbers[1]};
    if (bat_counts_add(&compared->records, key, count, 0) != BAT_OK ||
        bat_counts_add(&compared->sums, key, count, 0) != BAT_OK)
        return bat_fail_memory(error, "to compare profiles");
    compared->samples += count;
    return BAT_OK;
}

enum bat_code bat_overlaps_finish(struct bat_overlaps *comparison, struct bat_error *error)
{
    (void)error;
    end_profile(comparison);
    comparison->is_finished = true;
    return BAT_OK;
}

struct bat_overlaps_size bat_overlaps_size(const struct bat_overlaps *comparison, uint32_t profile)
{
    if (profile >= comparison->count)
        return (struct bat_overlaps_size){0};
    const struct compared *compared = &comparison->all[profile];
    return (struct bat_overlaps_size){.samples = compared->samples,
                                      .records = compared->records.count,
                                      .functions = compared->sums.count};
}

/* --- Profiles -------------------------------------------------------------------------------- */

/* Text of a record of fdata: what its line has behind the source's name. */
static char *fdata_text(const struct bat_overlaps *comparison, const struct bat_fdata *fdata,
                        const uint64_t *item, bool is_branch)
{
    char *text = NULL;
    int size;
    const char *target = is_branch ? bat_strings_get(&fdata->names, (uint32_t)item[2]) : "";
    if (is_branch)
        size = asprintf(&text, "%u %lx %u %.*s %lx", (unsigned)(item[0] >> 32), item[1],
                        (unsigned)(item[2] >> 32), (int)name_size(comparison, target), target,
                        item[3]);
    else
        size = asprintf(&text, "%u %lx", (unsigned)(item[0] >> 32), item[1]);
    return size < 0 ? NULL : text;
}

static enum bat_code add_fdata(struct bat_overlaps *comparison, const struct bat_fdata *fdata,
                               const struct bat_counts *counts, struct bat_error *error)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < counts->count && code == BAT_OK; i++) {
        const uint64_t *item = bat_counts_item(counts, i);
        char *text = fdata_text(comparison, fdata, item, counts->words == 4);
        code = text ? bat_overlaps_record(comparison,
                                          bat_strings_get(&fdata->names, (uint32_t)item[0]), text,
                                          item[counts->words], error)
                    : bat_fail_memory(error, "to compare profiles");
        free(text);
    }
    return code;
}

/* The function of all addresses if no binary is given, and of those in none. */
#define NO_FUNCTION "[unknown]"

static const char *function_at(const struct bat_functions *functions, uint64_t address)
{
    uint32_t count;
    uint32_t found = functions ? bat_functions_find(functions, address) : BAT_NONE;
    return found == BAT_NONE ? NO_FUNCTION : bat_functions_all(functions, &count)[found].name;
}

static enum bat_code add_addresses(struct bat_overlaps *comparison,
                                   const struct bat_profile *profile,
                                   const struct bat_functions *functions, struct bat_error *error)
{
    char text[80];
    struct bat_trace trace;
    uint64_t address;
    uint64_t count;
    enum bat_code code = BAT_OK;
    for (uint64_t i = 0; code == BAT_OK && bat_profile_trace(profile, i, &trace); i++) {
        snprintf(text, sizeof(text), "%lx %lx %lx", trace.branch, trace.from, trace.to);
        code = bat_overlaps_record(comparison, function_at(functions, trace.from), text,
                                   trace.count, error);
    }
    for (uint64_t i = 0; code == BAT_OK && bat_profile_sample(profile, i, &address, &count); i++) {
        snprintf(text, sizeof(text), "%lx", address);
        code = bat_overlaps_record(comparison, function_at(functions, address), text, count, error);
    }
    return code;
}

enum bat_code bat_overlaps_add_profile(struct bat_overlaps *comparison,
                                       const struct bat_profile *profile, struct bat_elf *elf,
                                       struct bat_error *error)
{
    struct bat_functions *functions = NULL;
    enum bat_code code = elf ? bat_functions_create(elf, NULL, &functions, error) : BAT_OK;
    code = code ? code : bat_overlaps_begin(comparison, error);
    code = code ? code : add_fdata(comparison, &profile->fdata, &profile->fdata.branches, error);
    code = code ? code : add_fdata(comparison, &profile->fdata, &profile->fdata.samples, error);
    code = code ? code : add_addresses(comparison, profile, functions, error);
    bat_functions_free(functions);
    return code;
}

enum bat_code sample_places_record(struct bat_overlaps *comparison, const char *function,
                                   uint64_t call, struct sample_line line, uint64_t count,
                                   struct bat_error *error)
{
    char text[64];
    snprintf(text, sizeof(text), "%lu %u.%u", call, line.line, line.discriminator);
    return bat_overlaps_record(comparison, function, text, count, error);
}
