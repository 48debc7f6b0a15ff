/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * New functions that are called: copies of an old function (f.constprop.0), or functions that are
 * called where another one was. The compiler's own layout of all others is better than a guess.
 */
#include <stdlib.h>

#include "carrying.h"

#define PASSES 6u
#define LIKENESS_COPY 0.2f        /* of functions with one name but for suffixes */
#define LIKENESS_REPLACEMENT 0.3f /* of functions that are called in one place */

/* How often each new unit without counts is called by those with counts. */
static void count_calls(const struct next_carrying *carrying, double *calls)
{
    for (uint32_t i = 0; i < carrying->news.unit_count; i++) {
        const struct next_new_counts *counts = carrying->counts[i];
        const struct next_unit *unit = carrying->news.units[i];
        for (uint32_t b = 0; counts && b < unit->block_count; b++)
            for (uint32_t k = 0; k < unit->blocks[b].instruction_count; k++) {
                uint32_t callee = unit->instructions[unit->blocks[b].first_instruction + k].callee;
                uint32_t other = callee == BAT_NONE ? BAT_NONE : carrying->news.unit_of[callee];
                if (other != BAT_NONE && !carrying->counts[other] &&
                    carrying->news.first_part[other] == callee)
                    calls[other] += (double)counts->blocks[b];
            }
    }
}

static bool has_samples(const struct next_carrying *carrying, uint32_t old_unit)
{
    const struct next_counts *counts = carrying->measured.units[old_unit];
    return counts && counts->entry > 0 && carrying->olds.units[old_unit]->is_read;
}

/* An old unit with the same name but for suffixes, of which the new one may be a copy. */
static enum bat_code find_original(struct next_carrying *carrying, uint32_t new_unit,
                                   uint32_t *found)
{
    float best = LIKENESS_COPY;
    uint32_t name = carrying->news.name_of[carrying->news.first_part[new_unit]];
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < carrying->olds.unit_count && code == BAT_OK; i++) {
        float likeness;
        if (carrying->olds.name_of[carrying->olds.first_part[i]] != name ||
            !has_samples(carrying, i))
            continue;
        code = next_compare_units(carrying, i, new_unit, &likeness, carrying->error);
        if (likeness > best) {
            best = likeness;
            *found = i;
        }
    }
    return code;
}

/* An old unit that was called where the new one is; those that were called most count more. */
static enum bat_code find_replaced(struct next_carrying *carrying, uint32_t new_unit,
                                   uint32_t *found)
{
    float best = LIKENESS_REPLACEMENT;
    uint64_t most = 0;
    enum bat_code code = BAT_OK;
    for (size_t i = 0; i < carrying->replacement_count; i++)
        if (carrying->replacements[i].new_unit == new_unit &&
            carrying->replacements[i].count > most)
            most = carrying->replacements[i].count;
    for (size_t i = 0; i < carrying->replacement_count && code == BAT_OK; i++) {
        const struct next_replacement *replacement = &carrying->replacements[i];
        float likeness;
        if (replacement->new_unit != new_unit || !has_samples(carrying, replacement->old_unit))
            continue;
        code = next_compare_units(carrying, replacement->old_unit, new_unit, &likeness,
                                  carrying->error);
        likeness *= 1 + (float)replacement->count / (1 + (float)most);
        if (likeness > best) {
            best = likeness;
            *found = replacement->old_unit;
        }
    }
    return code;
}

static enum bat_code infer_one(struct next_carrying *carrying, uint32_t unit, double entries)
{
    uint32_t source = BAT_NONE;
    enum bat_code code = find_original(carrying, unit, &source);
    if (code == BAT_OK && source == BAT_NONE)
        code = find_replaced(carrying, unit, &source);
    if (code != BAT_OK)
        return code;
    if (source == BAT_NONE) {
        carrying->report->unknown++;
        return BAT_OK;
    }
    carrying->report->copies++;
    return next_infer_pair(carrying, source, unit, entries,
                           entries / (double)carrying->measured.units[source]->entry);
}

/* True for a new unit that is not the partner of one with samples. */
static bool is_new(const struct next_carrying *carrying, uint32_t unit)
{
    return carrying->pairs.old_of[unit] == BAT_NONE;
}

enum bat_code next_infer_new(struct next_carrying *carrying)
{
    uint32_t count = carrying->news.unit_count;
    double *calls = malloc(((size_t)count + 1) * sizeof(*calls));
    uint8_t *is_done = calloc((size_t)count + 1, 1);
    enum bat_code code = calls && is_done ? BAT_OK : bat_fail_memory(carrying->error, "for calls");
    bool is_any = true;
    for (unsigned pass = 0; pass < PASSES && is_any && code == BAT_OK; pass++) {
        is_any = false;
        for (uint32_t i = 0; i < count; i++)
            calls[i] = 0;
        count_calls(carrying, calls);
        for (uint32_t i = 0; i < count && code == BAT_OK; i++) {
            if (calls[i] < 1 || is_done[i] || carrying->counts[i] || !is_new(carrying, i))
                continue;
            is_any = true;
            is_done[i] = 1;
            code = infer_one(carrying, i, calls[i]);
        }
    }
    free(calls);
    free(is_done);
    return code;
}
