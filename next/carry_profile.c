/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "carry.h"

#include <stdlib.h>

#include "carrying.h"
#include "signature.h"

/* Functions of one name whose code has less in common are not the same. */
#define LIKENESS_MIN 0.05f

static void add_share(struct next_share *share, uint64_t count)
{
    share->functions++;
    share->count += count;
}

static void fill_report(const struct next_carrying *carrying)
{
    struct next_report *report = carrying->report;
    for (uint32_t i = 0; i < carrying->olds.unit_count; i++) {
        const struct next_counts *counts = carrying->measured.units[i];
        if (!counts)
            continue;
        struct next_share *shares[] = {
            [NEXT_GONE] = &report->gone,
            [NEXT_BY_NAME] = &report->by_name,
            [NEXT_BY_PLAIN_NAME] = &report->by_plain_name,
            [NEXT_BY_CODE] = &report->by_code,
        };
        add_share(&report->all, counts->total);
        add_share(carrying->is_same[i] ? &report->same : shares[carrying->pairs.how[i]],
                  counts->total);
    }
}

/* True if the code of a changed unit and of its partner has something in common. */
static enum bat_code is_alike(struct next_carrying *carrying, uint32_t unit, bool *is_alike)
{
    struct next_signature a;
    struct next_signature b = {0};
    enum bat_code code = next_signature_make(&carrying->olds, unit, &a, carrying->error);
    if (code == BAT_OK)
        code =
            next_signature_make(&carrying->news, carrying->pairs.new_of[unit], &b, carrying->error);
    *is_alike = code == BAT_OK && next_signature_compare(&a, &b) >= LIKENESS_MIN;
    next_signature_free(&a);
    next_signature_free(&b);
    return code;
}

/* A program without the functions of the profile is no other build of this one. */
static enum bat_code check_foreign(struct next_carrying *carrying)
{
    const struct next_report *report = carrying->report;
    if (report->all.count == 0)
        return bat_fail(carrying->error, BAT_ERR_MISMATCH,
                        "expected samples in functions of the old program, found none");
    uint64_t alike = 0;
    for (uint32_t i = 0; i < carrying->olds.unit_count; i++) {
        bool is_same = carrying->is_same[i];
        if (!carrying->measured.units[i] || carrying->pairs.new_of[i] == BAT_NONE)
            continue;
        enum bat_code code = is_same ? BAT_OK : is_alike(carrying, i, &is_same);
        if (code != BAT_OK)
            return code;
        alike += is_same ? carrying->measured.units[i]->total : 0;
    }
    double found = (double)alike / (double)report->all.count;
    if (found >= carrying->options->found_min)
        return BAT_OK;
    return bat_fail(carrying->error, BAT_ERR_MISMATCH,
                    "expected another build of the same program, found one with functions of "
                    "%.1f%% of the profile: it is another program",
                    100 * found);
}

static enum bat_code carry(struct next_carrying *carrying, const struct bat_records *records,
                           struct bat_profile *profile)
{
    enum bat_code code =
        next_measure(&carrying->olds, records, &carrying->measured, carrying->error);
    if (code == BAT_OK)
        code = next_match_functions(&carrying->measured, &carrying->news, &carrying->pairs,
                                    carrying->error);
    if (code == BAT_OK)
        code = next_find_same(carrying);
    if (code == BAT_OK) {
        fill_report(carrying);
        code = check_foreign(carrying);
    }
    if (code == BAT_OK)
        code = next_find_cold(carrying);
    carrying->counts = calloc((size_t)carrying->news.unit_count + 1, sizeof(*carrying->counts));
    if (code == BAT_OK && !carrying->counts)
        code = bat_fail_memory(carrying->error, "for counts");
    if (code == BAT_OK)
        code = next_infer_changed(carrying);
    if (code == BAT_OK)
        code = next_infer_new(carrying);
    return code ? code : next_write_records(carrying, profile);
}

static void carrying_free(struct next_carrying *carrying)
{
    for (uint32_t i = 0; carrying->counts && i < carrying->news.unit_count; i++) {
        struct next_new_counts *counts = carrying->counts[i];
        if (!counts)
            continue;
        free(counts->blocks);
        free(counts->edges);
        free(counts->entered);
        free(counts);
    }
    free(carrying->counts);
    free(carrying->is_same);
    free(carrying->cold_functions);
    free(carrying->origins);
    free(carrying->replacements);
    next_inlining_sets_free(carrying->inlining);
    next_pairs_free(&carrying->pairs);
    if (carrying->measured.program)
        next_measured_free(&carrying->measured);
    next_program_free(&carrying->news);
    next_program_free(&carrying->olds);
}

enum bat_code next_carry(const struct bat_records *old_records, const struct bat_elf *old_elf,
                         const struct bat_elf *new_elf, const struct next_carry_options *options,
                         struct bat_profile *profile, struct next_report *report,
                         struct bat_error *error)
{
    *report = (struct next_report){0};
    if (old_records->kind != BAT_PROFILE_BRANCHES)
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "expected a profile of branches to carry to another build, found basic "
                        "samples");
    struct next_carrying carrying = {.options = options, .report = report, .error = error};
    enum bat_code code =
        next_program_open(old_elf, options->old_symbols, options->threads, &carrying.olds, error);
    if (code == BAT_OK && carrying.olds.function_count != old_records->function_count)
        code = bat_fail(error, BAT_ERR_ARGUMENT, "expected records of the old program");
    if (code == BAT_OK)
        code = next_program_open(new_elf, options->new_symbols, options->threads, &carrying.news,
                                 error);
    if (code == BAT_OK)
        code = carry(&carrying, old_records, profile);
    carrying_free(&carrying);
    return code;
}
