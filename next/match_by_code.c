/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Functions of the old program that have samples and no namesake are looked for by their code:
 * candidates are those that share the most of what few functions have.
 */
#include <stdlib.h>

#include "match_functions.h"
#include "signature.h"
#include "spec/array.h"
#include "support/parallel.h"

#define CANDIDATES 8u
#define RARE_MAX 48u /* functions that may share what is called rare */
#define LIKENESS_MIN 0.35f
#define LIKENESS_SMALL 0.6f /* of small functions: many are alike by chance */
#define SIZE_SMALL 80u
#define SIZE_FACTOR 4u
#define SIZE_MORE 64u
#define STRETCH 64u /* functions that a thread reads at a time */

/* A token of the old functions, and the new ones that have it. */
struct wanted {
    uint32_t hash;
    bool is_used;
    uint32_t count;
    uint32_t first; /* in postings, if they are RARE_MAX at most */
};

/* All of them: a hash table, less than half full. */
struct wanted_set {
    struct wanted *slots;
    uint32_t mask;
};

/* Functions of one side that are not paired. */
struct side {
    struct next_program *program;
    uint32_t *units;
    struct next_signature *signatures;
    uint32_t count;
    const struct wanted_set *wanted; /* no other tokens are kept; NULL: all are */
};

/* What one thread finds. */
struct found {
    float *sums; /* for each new function */
    uint32_t *touched;
    struct next_candidate *candidates;
    size_t candidate_count;
    size_t candidate_capacity;
};

struct code_matching {
    struct side olds;
    struct side news;
    struct wanted_set wanted;
    uint32_t *postings; /* indices of new functions */
    struct found found[BAT_PARALLEL_MAX];
};

static enum bat_code fail_memory(struct bat_error *error)
{
    return bat_fail_memory(error, "to compare functions");
}

static void side_free(struct side *side)
{
    for (uint32_t i = 0; side->signatures && i < side->count; i++)
        next_signature_free(&side->signatures[i]);
    BAT_FREE_ALL(side->signatures, side->units);
}

/* The slot of a token, or the unused one where it would be. */
static struct wanted *find_wanted(const struct wanted_set *set, uint32_t hash)
{
    uint32_t at = hash & set->mask;
    while (set->slots[at].is_used && set->slots[at].hash != hash)
        at = (at + 1) & set->mask;
    return &set->slots[at];
}

/* The tokens of all functions of a side. False without memory. */
static bool wanted_make(struct wanted_set *set, const struct side *side)
{
    uint64_t tokens = 0;
    for (uint32_t i = 0; i < side->count; i++)
        tokens += side->signatures[i].count;
    uint64_t slots = 2;
    while (slots <= 2 * tokens)
        slots *= 2;
    if (slots > UINT32_MAX)
        return false;
    set->mask = (uint32_t)(slots - 1);
    set->slots = calloc(slots, sizeof(*set->slots));
    for (uint32_t i = 0; i < side->count && set->slots; i++)
        for (uint32_t k = 0; k < side->signatures[i].count; k++) {
            uint32_t hash = side->signatures[i].tokens[k].hash;
            *find_wanted(set, hash) = (struct wanted){.hash = hash, .is_used = true};
        }
    return set->slots;
}

/* Drop the tokens of a signature that no function of the other side has. It is compared with none
 * else, and its weight stays. */
static void keep_wanted(const struct wanted_set *set, struct next_signature *signature)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < signature->count; i++)
        if (find_wanted(set, signature->tokens[i].hash)->is_used)
            signature->tokens[kept++] = signature->tokens[i];
    signature->count = kept;
    BAT_SHRINK(signature->tokens, kept);
}

static enum bat_code make_signature(void *context, size_t item, unsigned thread,
                                    struct bat_error *error)
{
    const struct side *side = context;
    struct next_signature *signature = &side->signatures[item];
    uint32_t unit = side->units[item];
    (void)thread;
    if (side->program->units[unit]) {
        BAT_TRY(next_signature_make(side->program, unit, signature, error));
    } else { /* most of them are nobody's partner */
        struct next_unit *code_of;
        BAT_TRY(next_unit_read_code(side->program, unit, &code_of, error));
        enum bat_code code = next_signature_of_code(side->program, unit, code_of, signature, error);
        next_unit_free(code_of);
        BAT_TRY(code);
    }
    if (side->wanted)
        keep_wanted(side->wanted, signature);
    return BAT_OK;
}

/* Find the functions of a side that have no partner; measured: those with samples, or NULL: all. */
static enum bat_code collect(struct side *side, const uint32_t *partners,
                             struct next_counts *const *measured, struct bat_error *error)
{
    const struct next_program *program = side->program;
    side->units = malloc(((size_t)program->unit_count + 1) * sizeof(*side->units));
    if (!side->units)
        return fail_memory(error);
    uint32_t count = 0;
    for (uint32_t i = 0; i < program->unit_count; i++)
        if (partners[i] == BAT_NONE && (!measured || (measured[i] && measured[i]->total > 0)))
            side->units[count++] = i;
    side->signatures = calloc((size_t)count + 1, sizeof(*side->signatures));
    if (!side->signatures)
        return fail_memory(error);
    side->count = count;
    return bat_parallel_try(count, STRETCH, program->threads, make_signature, side, error);
}

static bool make_postings(struct code_matching *matching)
{
    const struct side *news = &matching->news;
    const struct wanted_set *set = &matching->wanted;
    for (uint32_t i = 0; i < news->count; i++)
        for (uint32_t k = 0; k < news->signatures[i].count; k++)
            find_wanted(set, news->signatures[i].tokens[k].hash)->count++;
    uint32_t end = 0;
    for (uint64_t at = 0; at <= set->mask; at++) {
        end += set->slots[at].count <= RARE_MAX ? set->slots[at].count : 0;
        set->slots[at].first = end;
    }
    matching->postings = malloc(((size_t)end + 1) * sizeof(*matching->postings));
    /* From behind, so that each token's ascend. */
    for (uint32_t i = news->count; i-- > 0 && matching->postings;)
        for (uint32_t k = 0; k < news->signatures[i].count; k++) {
            struct wanted *wanted = find_wanted(set, news->signatures[i].tokens[k].hash);
            if (wanted->count <= RARE_MAX)
                matching->postings[--wanted->first] = i;
        }
    return matching->postings;
}

static bool may_be(const struct code_matching *matching, uint32_t old_index, uint32_t new_index)
{
    uint64_t a = next_unit_size(matching->olds.program, matching->olds.units[old_index]);
    uint64_t b = next_unit_size(matching->news.program, matching->news.units[new_index]);
    uint64_t small = a < b ? a : b;
    return (a > b ? a : b) <= SIZE_FACTOR * small + SIZE_MORE;
}

static enum bat_code add_candidate(const struct code_matching *matching, struct found *found,
                                   uint32_t old_index, uint32_t new_index, struct bat_error *error)
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
    if (!BAT_APPEND(found->candidates, found->candidate_count, found->candidate_capacity,
                    candidate))
        return fail_memory(error);
    return BAT_OK;
}

/* The new functions that share the most that is rare with an old one. */
static enum bat_code find_candidates(void *context, size_t item, unsigned thread,
                                     struct bat_error *error)
{
    struct code_matching *matching = context;
    struct found *found = &matching->found[thread];
    uint32_t index = (uint32_t)item;
    const struct next_signature *signature = &matching->olds.signatures[index];
    uint32_t count = 0;
    size_t news = (size_t)matching->news.count + 1;
    found->sums = found->sums ? found->sums : calloc(news, sizeof(*found->sums));
    found->touched = found->touched ? found->touched : malloc(news * sizeof(*found->touched));
    float *sums = found->sums;
    uint32_t *touched = found->touched;
    if (!sums || !touched)
        return fail_memory(error);
    for (uint32_t i = 0; i < signature->count; i++) {
        const struct wanted *wanted = find_wanted(&matching->wanted, signature->tokens[i].hash);
        for (uint32_t k = 0; k < wanted->count && wanted->count <= RARE_MAX; k++) {
            uint32_t other = matching->postings[wanted->first + k];
            if (sums[other] == 0)
                touched[count++] = other;
            sums[other] += signature->tokens[i].weight / (float)wanted->count;
        }
    }
    enum bat_code code = BAT_OK;
    for (uint32_t n = 0; n < CANDIDATES && count > 0 && code == BAT_OK; n++) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < count; i++)
            if (sums[touched[i]] > sums[touched[best]])
                best = i;
        code = add_candidate(matching, found, index, touched[best], error);
        sums[touched[best]] = 0;
        touched[best] = touched[--count];
    }
    while (count > 0)
        sums[touched[--count]] = 0;
    return code;
}

/* Pair the most alike first. False without memory. */
static bool pair_best(struct code_matching *matching, struct next_pairs *pairs)
{
    struct found *all = &matching->found[0];
    for (unsigned i = 1; i < BAT_PARALLEL_MAX; i++) {
        const struct found *found = &matching->found[i];
        for (size_t k = 0; k < found->candidate_count; k++)
            if (!BAT_APPEND(all->candidates, all->candidate_count, all->candidate_capacity,
                            found->candidates[k]))
                return false;
    }
    if (all->candidate_count > 1)
        qsort(all->candidates, all->candidate_count, sizeof(*all->candidates), next_by_likeness);
    for (size_t i = 0; i < all->candidate_count; i++) {
        const struct next_candidate *candidate = &all->candidates[i];
        uint32_t old_unit = matching->olds.units[candidate->old_index];
        uint32_t new_unit = matching->news.units[candidate->new_index];
        if (pairs->new_of[old_unit] != BAT_NONE || pairs->old_of[new_unit] != BAT_NONE)
            continue;
        next_pair(pairs, old_unit, new_unit, NEXT_BY_CODE);
        pairs->likeness[old_unit] = candidate->likeness;
    }
    return true;
}

/* Pair the functions of both sides by their code. */
static enum bat_code match_sides(struct code_matching *matching, struct next_pairs *pairs,
                                 struct bat_error *error)
{
    BAT_TRY_MEMORY(make_postings(matching), error, "to compare functions");
    BAT_TRY(bat_parallel_try(matching->olds.count, STRETCH, matching->olds.program->threads,
                             find_candidates, matching, error));
    BAT_TRY_MEMORY(pair_best(matching, pairs), error, "to compare functions");
    return BAT_OK;
}

enum bat_code next_match_by_code(const struct next_measured *measured,
                                 struct next_program *new_program, struct next_pairs *pairs,
                                 struct bat_error *error)
{
    struct code_matching matching = {.olds.program = measured->program,
                                     .news.program = new_program};
    enum bat_code code = collect(&matching.olds, pairs->new_of, measured->units, error);
    if (code == BAT_OK && matching.olds.count > 0) {
        matching.news.wanted = &matching.wanted;
        code = wanted_make(&matching.wanted, &matching.olds) ? BAT_OK : fail_memory(error);
        code = code ? code : collect(&matching.news, pairs->old_of, NULL, error);
    }
    if (code == BAT_OK && matching.olds.count > 0 && matching.news.count > 0)
        code = match_sides(&matching, pairs, error);
    side_free(&matching.olds);
    side_free(&matching.news);
    for (unsigned i = 0; i < BAT_PARALLEL_MAX; i++)
        BAT_FREE_ALL(matching.found[i].sums, matching.found[i].touched,
                     matching.found[i].candidates);
    BAT_FREE_ALL(matching.postings, matching.wanted.slots);
    return code;
}
