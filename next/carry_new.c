/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * New functions that are called: copies of an old function (f.constprop.0), functions that are
 * called where another one was, and those that may be called in place of one. The counts of all
 * others follow from their calls and code: BOLT moves the rest of a function that has only calls.
 */
#include <stdlib.h>

#include "carrying.h"
#include "signature.h"
#include "spec/array.h"
#include "spec/order.h"
#include "support/key_sort.h"
#include "support/parallel.h"

#define PASSES 6u
#define LIKENESS_COPY 0.2f        /* of functions with one name but for suffixes */
#define LIKENESS_REPLACEMENT 0.3f /* of functions that are called in one place */
#define GUESS_MIN 10u             /* counts below tell no shares */

struct new_units {
    struct next_carrying *carrying;
    double *calls;                      /* for each new unit */
    uint8_t *is_done;                   /* ... */
    const struct bat_sort_key *by_name; /* old units with samples: name, unit */
    uint32_t by_name_count;
    struct next_unit_pair *pairs; /* of this pass */
    uint32_t pair_count;
};

static bool has_samples(const struct next_carrying *carrying, uint32_t old_unit)
{
    const struct next_counts *counts = carrying->measured.units[old_unit];
    return counts && counts->entry > 0 && carrying->olds.units[old_unit]->is_read;
}

/* Take an old unit for the source of a new one if it is more alike than the best so far. The new
 * one's signature is made for the first. */
static enum bat_code take_better(const struct new_units *news, struct next_signature *code_of,
                                 uint32_t old_unit, float factor, float *best,
                                 struct next_unit_pair *pair, struct bat_error *error)
{
    struct next_signature old;
    if (!code_of->tokens)
        BAT_TRY(next_signature_make(&news->carrying->news, pair->new_unit, code_of, error));
    BAT_TRY(next_signature_make(&news->carrying->olds, old_unit, &old, error));
    float likeness = next_signature_compare(&old, code_of) * factor;
    next_signature_free(&old);
    if (likeness > *best) {
        *best = likeness;
        pair->old_unit = old_unit;
    }
    return BAT_OK;
}

/* An old unit with the same name but for suffixes, of which the new one may be a copy. */
static enum bat_code find_original(const struct new_units *news, struct next_signature *code_of,
                                   struct next_unit_pair *pair, struct bat_error *error)
{
    const struct next_program *program = &news->carrying->news;
    float best = LIKENESS_COPY;
    uint32_t name = program->name_of[program->first_part[pair->new_unit]];
    uint32_t i = BAT_COUNT_BELOW(news->by_name, news->by_name_count, key, name);
    for (; i < news->by_name_count && news->by_name[i].key == name; i++)
        BAT_TRY(
            take_better(news, code_of, (uint32_t)news->by_name[i].value, 1, &best, pair, error));
    return BAT_OK;
}

/* An old unit that was called where the new one is; those that were called most count more. */
static enum bat_code find_replaced(const struct new_units *news, struct next_signature *code_of,
                                   struct next_unit_pair *pair, struct bat_error *error)
{
    const struct next_replacement *all = news->carrying->replacements;
    size_t count = news->carrying->replacement_count;
    size_t first = BAT_COUNT_BELOW(all, count, new_unit, pair->new_unit);
    size_t end = first;
    float best = LIKENESS_REPLACEMENT;
    uint64_t most = 0;
    for (; end < count && all[end].new_unit == pair->new_unit; end++)
        most = all[end].count > most ? all[end].count : most;
    for (size_t i = first; i < end; i++) {
        /* The first of several with one old unit has the largest count. */
        if ((i > first && all[i].old_unit == all[i - 1].old_unit) ||
            !has_samples(news->carrying, all[i].old_unit))
            continue;
        float factor = 1 + (float)all[i].count / (1 + (float)most);
        BAT_TRY(take_better(news, code_of, all[i].old_unit, factor, &best, pair, error));
    }
    return BAT_OK;
}

/* Find the old unit whose counts the new one of a pair gets, if there is one. */
static enum bat_code find_source(void *context, size_t item, unsigned thread,
                                 struct bat_error *error)
{
    const struct new_units *news = context;
    struct next_unit_pair *pair = &news->pairs[item];
    struct next_signature code_of = {0};
    const struct next_unit *read; /* here, as one thread alone reads for next_infer_pairs() */
    (void)thread;
    enum bat_code code = next_unit_get(&news->carrying->news, pair->new_unit, &read, error);
    code = code ? code : find_original(news, &code_of, pair, error);
    if (code == BAT_OK && pair->old_unit == BAT_NONE)
        code = find_replaced(news, &code_of, pair, error);
    next_signature_free(&code_of);
    return code;
}

/* Infer what the pass finds a source for. For others a later one may: more calls are known then. */
static enum bat_code infer_pass(struct new_units *news)
{
    struct next_carrying *carrying = news->carrying;
    uint32_t kept = 0;
    BAT_SORT(carrying->replacements, carrying->replacement_count,
             BAT_ASCENDING(struct next_replacement, new_unit),
             BAT_ASCENDING(struct next_replacement, old_unit),
             BAT_DESCENDING(struct next_replacement, count));
    BAT_TRY(bat_parallel_try(news->pair_count, 1, carrying->options->threads, find_source, news,
                             carrying->error));
    for (uint32_t i = 0; i < news->pair_count; i++) {
        struct next_unit_pair pair = news->pairs[i];
        if (pair.old_unit == BAT_NONE)
            continue;
        pair.scale = pair.entries / (double)carrying->measured.units[pair.old_unit]->entry;
        news->is_done[pair.new_unit] = 1;
        news->pairs[kept++] = pair;
    }
    carrying->report->copies += kept;
    carrying->report->unknown = news->pair_count - kept;
    news->pair_count = kept;
    return next_infer_pairs(carrying, news->pairs, kept);
}

/* True if no block of a new unit has a match, and none runs GUESS_MIN times: rounding made such
 * counts, which say less than none. */
static bool is_noise(const struct next_carrying *carrying, uint32_t new_unit)
{
    const struct next_new_counts *counts = carrying->counts[new_unit];
    if (!counts || counts->known > 0 || carrying->pairs.old_of[new_unit] != BAT_NONE)
        return false;
    for (uint32_t i = 0; i < carrying->news.units[new_unit]->block_count; i++)
        if (counts->blocks[i] >= GUESS_MIN)
            return false;
    return true;
}

/* Forget what noise says of units that stood in place of calls. Linear in their blocks. */
static void forget_noise(struct next_carrying *carrying)
{
    for (uint32_t i = 0; i < carrying->news.unit_count; i++)
        if (is_noise(carrying, i)) {
            next_new_counts_free(carrying->counts[i]);
            carrying->counts[i] = NULL;
        }
}

/* Collect the new units without counts that are called; is_last: by what is known, and also those
 * whose partner never ran. */
static void begin_pass(struct new_units *news, bool is_last)
{
    const struct next_carrying *carrying = news->carrying;
    for (uint32_t i = 0; i < carrying->news.unit_count; i++)
        news->calls[i] = 0;
    next_count_calls(carrying, is_last, news->calls);
    news->pair_count = 0;
    for (uint32_t i = 0; i < carrying->news.unit_count; i++) {
        const uint32_t old_unit = carrying->pairs.old_of[i];
        if (news->calls[i] < 1 || news->is_done[i] || carrying->counts[i] ||
            (old_unit != BAT_NONE && (!is_last || has_samples(carrying, old_unit))))
            continue;
        news->pairs[news->pair_count++] =
            (struct next_unit_pair){.old_unit = BAT_NONE, .new_unit = i, .entries = news->calls[i]};
    }
}

/* Sort the old units with samples by their names. */
static void sort_by_name(struct new_units *news, struct bat_sort_key *keys)
{
    const struct next_program *program = &news->carrying->olds;
    for (uint32_t i = 0; i < program->unit_count; i++)
        if (has_samples(news->carrying, i))
            keys[news->by_name_count++] =
                (struct bat_sort_key){.key = program->name_of[program->first_part[i]], .value = i};
    news->by_name = bat_sort_keys(keys, keys + news->by_name_count, news->by_name_count);
}

/* Infer the pairs of units of the next pass: copies, and when there are no more, variants once. */
static enum bat_code infer_next(struct new_units *news, bool *has_variants)
{
    forget_noise(news->carrying);
    begin_pass(news, false);
    BAT_TRY(infer_pass(news));
    if (news->pair_count > 0 || *has_variants)
        return BAT_OK;
    *has_variants = true;
    BAT_TRY(next_find_variants(news->carrying, news->pairs, &news->pair_count));
    news->carrying->report->copies += news->pair_count;
    return next_infer_pairs(news->carrying, news->pairs, news->pair_count);
}

/* Infer what is still without counts by its calls and code, and then what that calls. */
static enum bat_code infer_others(struct new_units *news)
{
    news->carrying->report->unknown = 0;
    forget_noise(news->carrying);
    for (unsigned pass = 0; pass < PASSES; pass++) {
        begin_pass(news, true);
        if (news->pair_count == 0)
            break;
        for (uint32_t i = 0; i < news->pair_count; i++)
            news->is_done[news->pairs[i].new_unit] = 1;
        news->carrying->report->unknown += news->pair_count;
        BAT_TRY(next_infer_pairs(news->carrying, news->pairs, news->pair_count));
    }
    return BAT_OK;
}

enum bat_code next_infer_new(struct next_carrying *carrying)
{
    struct new_units news = {.carrying = carrying};
    size_t count = (size_t)carrying->news.unit_count + 1;
    struct bat_sort_key *keys = malloc(2 * ((size_t)carrying->olds.unit_count + 1) * sizeof(*keys));
    news.calls = malloc(count * sizeof(*news.calls));
    news.is_done = calloc(count, 1);
    news.pairs = malloc(count * sizeof(*news.pairs));
    enum bat_code code = keys && news.calls && news.is_done && news.pairs
                             ? BAT_OK
                             : bat_fail_memory(carrying->error, "for calls");
    if (code == BAT_OK)
        sort_by_name(&news, keys);
    bool is_any = true;
    bool has_variants = false;
    for (unsigned pass = 0; pass < PASSES && is_any && code == BAT_OK; pass++) {
        code = infer_next(&news, &has_variants);
        is_any = news.pair_count > 0;
    }
    code = code ? code : infer_others(&news);
    BAT_FREE_ALL(keys, news.calls, news.is_done, news.pairs);
    return code;
}
