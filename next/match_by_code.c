/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Functions of the old program that have samples and no namesake are looked for by their code:
 * candidates are those that share the most of what few functions have.
 */
#include <stdlib.h>

#include "match_functions.h"
#include "signature.h"
#include "spec/array.h"
#include "spec/order.h"
#include "support/key_sort.h"
#include "support/parallel.h"

#define CANDIDATES 8u
#define RARE_MAX 48u /* functions that may share what is called rare */
#define LIKENESS_MIN 0.35f
#define LIKENESS_SMALL 0.6f /* of small functions: many are alike by chance */
#define SIZE_SMALL 80u
#define SIZE_FACTOR 4u
#define SIZE_MORE 64u
#define STRETCH 64u /* functions that a thread reads at a time */

/* Functions of one side that are not paired. */
struct side {
    struct next_program *program;
    uint32_t *units;
    struct next_signature *signatures;
    uint32_t count;
};

struct code_matching {
    struct side olds;
    struct side news;
    struct bat_sort_key *postings; /* hash of the token; index of the new function */
    struct bat_sort_key *spare;
    const struct bat_sort_key *sorted;
    size_t posting_count;
    struct next_candidate *candidates;
    size_t candidate_count;
    size_t candidate_capacity;
    struct bat_error *error;
};

static enum bat_code fail_memory(const struct code_matching *matching)
{
    return bat_fail_memory(matching->error, "to compare functions");
}

static void side_free(struct side *side)
{
    for (uint32_t i = 0; side->signatures && i < side->count; i++)
        next_signature_free(&side->signatures[i]);
    BAT_FREE_ALL(side->signatures, side->units);
}

/* Signatures that are made in several threads. */
struct making {
    struct side *side;
    enum bat_code codes[BAT_PARALLEL_MAX];
    struct bat_error errors[BAT_PARALLEL_MAX];
};

static void make_some(void *context, size_t first, size_t end, unsigned thread)
{
    struct making *making = context;
    const struct side *side = making->side;
    for (size_t i = first; i < end && making->codes[thread] == BAT_OK; i++) {
        uint32_t unit = side->units[i];
        bool was_read = side->program->units[unit];
        making->codes[thread] =
            next_signature_make(side->program, unit, &side->signatures[i], &making->errors[thread]);
        if (!was_read) /* most of them are nobody's partner */
            next_unit_forget(side->program, unit);
    }
}

static enum bat_code make_signatures(struct side *side, struct bat_error *error)
{
    struct making making = {.side = side};
    unsigned threads = bat_parallel_threads(side->program->threads, side->count / STRETCH);
    bat_parallel_run(side->count, STRETCH, threads, make_some, &making);
    for (unsigned i = 0; i < threads; i++)
        if (making.codes[i] != BAT_OK) {
            *error = making.errors[i];
            return making.codes[i];
        }
    return BAT_OK;
}

static enum bat_code collect(struct code_matching *matching, struct side *side,
                             const uint32_t *partners, struct next_counts *const *wanted)
{
    const struct next_program *program = side->program;
    side->units = malloc(((size_t)program->unit_count + 1) * sizeof(*side->units));
    if (!side->units)
        return fail_memory(matching);
    uint32_t count = 0;
    for (uint32_t i = 0; i < program->unit_count; i++)
        if (partners[i] == BAT_NONE && (!wanted || (wanted[i] && wanted[i]->total > 0)))
            side->units[count++] = i;
    side->signatures = calloc((size_t)count + 1, sizeof(*side->signatures));
    if (!side->signatures)
        return fail_memory(matching);
    side->count = count;
    return make_signatures(side, matching->error);
}

static enum bat_code make_postings(struct code_matching *matching)
{
    size_t count = 0;
    for (uint32_t i = 0; i < matching->news.count; i++)
        count += matching->news.signatures[i].count;
    matching->postings = malloc((count + 1) * sizeof(*matching->postings));
    matching->spare = malloc((count + 1) * sizeof(*matching->spare));
    if (!matching->postings || !matching->spare)
        return fail_memory(matching);
    count = 0;
    for (uint32_t i = 0; i < matching->news.count; i++)
        for (uint32_t k = 0; k < matching->news.signatures[i].count; k++)
            matching->postings[count++] = (struct bat_sort_key){
                .key = matching->news.signatures[i].tokens[k].hash, .value = i};
    matching->posting_count = count;
    matching->sorted = bat_sort_keys(matching->postings, matching->spare, count);
    return BAT_OK;
}

static bool may_be(const struct code_matching *matching, uint32_t old_index, uint32_t new_index)
{
    uint64_t a = next_unit_size(matching->olds.program, matching->olds.units[old_index]);
    uint64_t b = next_unit_size(matching->news.program, matching->news.units[new_index]);
    uint64_t small = a < b ? a : b;
    return (a > b ? a : b) <= SIZE_FACTOR * small + SIZE_MORE;
}

static enum bat_code add_candidate(struct code_matching *matching, uint32_t old_index,
                                   uint32_t new_index)
{
    if (!may_be(matching, old_index, new_index))
        return BAT_OK;
    const struct next_candidate candidate = {
        next_signature_compare(&matching->olds.signatures[old_index],
                               &matching->news.signatures[new_index]),
        old_index, new_index};
    uint64_t size = next_unit_size(matching->olds.program, matching->olds.units[old_index]);
    if (candidate.likeness < (size > SIZE_SMALL ? LIKENESS_MIN : LIKENESS_SMALL))
        return BAT_OK;
    if (!BAT_APPEND(matching->candidates, matching->candidate_count, matching->candidate_capacity,
                    candidate))
        return fail_memory(matching);
    return BAT_OK;
}

/* The new functions that share the most that is rare with an old one. */
static enum bat_code find_candidates(struct code_matching *matching, uint32_t index, float *sums,
                                     uint32_t *touched)
{
    const struct next_signature *signature = &matching->olds.signatures[index];
    uint32_t count = 0;
    for (uint32_t i = 0; i < signature->count; i++) {
        size_t first = BAT_COUNT_BELOW(matching->sorted, matching->posting_count, key,
                                       signature->tokens[i].hash);
        size_t end = first;
        while (end < matching->posting_count && end - first <= RARE_MAX &&
               matching->sorted[end].key == signature->tokens[i].hash)
            end++;
        if (end - first > RARE_MAX)
            continue;
        for (size_t k = first; k < end; k++) {
            uint32_t found = (uint32_t)matching->sorted[k].value;
            if (sums[found] == 0)
                touched[count++] = found;
            sums[found] += signature->tokens[i].weight / (float)(end - first);
        }
    }
    enum bat_code code = BAT_OK;
    for (uint32_t n = 0; n < CANDIDATES && count > 0 && code == BAT_OK; n++) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < count; i++)
            if (sums[touched[i]] > sums[touched[best]])
                best = i;
        code = add_candidate(matching, index, touched[best]);
        sums[touched[best]] = 0;
        touched[best] = touched[--count];
    }
    while (count > 0)
        sums[touched[--count]] = 0;
    return code;
}

static enum bat_code find_all_candidates(struct code_matching *matching)
{
    float *sums = calloc((size_t)matching->news.count + 1, sizeof(*sums));
    uint32_t *touched = malloc(((size_t)matching->news.count + 1) * sizeof(*touched));
    enum bat_code code = sums && touched ? BAT_OK : fail_memory(matching);
    for (uint32_t i = 0; i < matching->olds.count && code == BAT_OK; i++)
        code = find_candidates(matching, i, sums, touched);
    BAT_FREE_ALL(sums, touched);
    return code;
}

static void pair_best(struct code_matching *matching, struct next_pairs *pairs)
{
    if (matching->candidate_count > 1)
        qsort(matching->candidates, matching->candidate_count, sizeof(*matching->candidates),
              next_by_likeness);
    for (size_t i = 0; i < matching->candidate_count; i++) {
        const struct next_candidate *all = &matching->candidates[i];
        uint32_t old_unit = matching->olds.units[all->old_index];
        uint32_t new_unit = matching->news.units[all->new_index];
        if (pairs->new_of[old_unit] != BAT_NONE || pairs->old_of[new_unit] != BAT_NONE)
            continue;
        next_pair(pairs, old_unit, new_unit, NEXT_BY_CODE);
        pairs->likeness[old_unit] = all->likeness;
    }
}

enum bat_code next_match_by_code(const struct next_measured *measured,
                                 struct next_program *new_program, struct next_pairs *pairs,
                                 struct bat_error *error)
{
    struct code_matching matching = {
        .olds.program = measured->program, .news.program = new_program, .error = error};
    enum bat_code code = collect(&matching, &matching.olds, pairs->new_of, measured->units);
    if (code == BAT_OK && matching.olds.count > 0)
        code = collect(&matching, &matching.news, pairs->old_of, NULL);
    if (code == BAT_OK && matching.olds.count > 0 && matching.news.count > 0) {
        code = make_postings(&matching);
        code = code ? code : find_all_candidates(&matching);
        if (code == BAT_OK)
            pair_best(&matching, pairs);
    }
    side_free(&matching.olds);
    side_free(&matching.news);
    BAT_FREE_ALL(matching.postings, matching.spare, matching.candidates);
    return code;
}
