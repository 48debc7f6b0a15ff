/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "match_blocks.h"

#include <math.h>
#include <stdlib.h>

#include "assignment.h"
#include "spec/array.h"

/* A pair below these is no match. */
#define VALUE_MIN 0.1f
#define BASE_MIN 0.05f
#define VALUE_SURE 0.5f

/* ... and no copy of an old block that is matched with another one. */
#define COPY_VALUE_MIN 0.4f
#define COPY_CONTENT_MIN 0.6f

/* How much of a pair's likeness depends on whether its counts agree. */
#define AGREE_SHARE 0.3f
#define AGREE_MORE 20.0 /* added to both: small ones differ by chance */

void next_match_free(struct next_match *match)
{
    BAT_FREE_ALL(match->all, match->partners);
    if (match->likeness)
        likeness_free(match->likeness);
    free(match->likeness);
    *match = (struct next_match){0};
}

/* What an offer of the assignment is worth: sure pairs count more than several unsure ones. */
static float worth(const struct likeness *likeness, uint32_t pair)
{
    float value = likeness->value[pair];
    bool is_match = value > VALUE_MIN && (likeness->base[pair] > BASE_MIN || value > VALUE_SURE);
    return is_match ? value * sqrtf(value) : 0;
}

/* The most alike pair of an unmatched node, if the compiler may have copied the old one, which is
 * matched with another; BAT_NONE. */
static uint32_t find_copied(const struct likeness *likeness, uint32_t node)
{
    float best = COPY_VALUE_MIN;
    uint32_t found = BAT_NONE;
    for (uint32_t i = likeness->first[node]; i < likeness->first[node + 1]; i++)
        if (likeness->value[i] > best && likeness->content[i] > COPY_CONTENT_MIN) {
            best = likeness->value[i];
            found = i;
        }
    return found;
}

/* Find the old blocks that unmatched ones are copies of. */
static enum bat_code find_copies(const struct likeness *likeness, struct next_match *match,
                                 struct bat_error *error)
{
    uint32_t *new_of = malloc(((size_t)likeness->old_count + 1) * sizeof(*new_of));
    if (!new_of)
        return bat_fail_memory(error, "to match blocks");
    for (uint32_t i = 0; i < likeness->old_count; i++)
        new_of[i] = BAT_NONE;
    for (uint32_t j = 0; j < match->count; j++)
        if (match->all[j].old_of != BAT_NONE)
            new_of[match->all[j].old_of] = j;
    for (uint32_t j = 0; j < match->count; j++) {
        struct next_matched *matched = &match->all[j];
        uint32_t pair = matched->old_of == BAT_NONE ? find_copied(likeness, j) : BAT_NONE;
        if (pair == BAT_NONE)
            continue;
        matched->copy_of = likeness->old_of[pair];
        matched->confidence = likeness->value[pair];
        matched->content = likeness->content[pair];
        if (new_of[matched->copy_of] != BAT_NONE)
            match->all[new_of[matched->copy_of]].is_copied = true;
    }
    free(new_of);
    return BAT_OK;
}

/* The likeliest pairs of an old node. */
struct best_two {
    uint32_t pair; /* the best, or BAT_NONE */
    float first;   /* its likeness */
    float second;  /* of the best but for that */
};

static void take_pair(struct best_two *best, uint32_t pair, float value)
{
    if (best->pair == BAT_NONE || value > best->first) {
        best->second = best->first;
        best->first = value;
        best->pair = pair;
    } else if (value > best->second) {
        best->second = value;
    }
}

/* The likeness of the best pair but for one. */
static float best_other(const struct best_two *best, uint32_t pair)
{
    return best->pair == pair ? best->second : best->first;
}

/* Set by how much each match is likelier than other pairs of its nodes: the mean of both. */
static enum bat_code set_margins(const struct likeness *likeness, const uint32_t *taken,
                                 struct next_match *match, struct bat_error *error)
{
    struct best_two *olds = malloc(((size_t)likeness->old_count + 1) * sizeof(*olds));
    if (!olds)
        return bat_fail_memory(error, "to match blocks");
    for (uint32_t i = 0; i < likeness->old_count; i++)
        olds[i] = (struct best_two){.pair = BAT_NONE};
    for (uint32_t i = 0; i < likeness->pair_count; i++)
        take_pair(&olds[likeness->old_of[i]], i, likeness->value[i]);
    for (uint32_t j = 0; j < match->count; j++) {
        struct best_two here = {.pair = BAT_NONE};
        if (taken[j] == BAT_NONE)
            continue;
        for (uint32_t i = likeness->first[j]; i < likeness->first[j + 1]; i++)
            take_pair(&here, i, likeness->value[i]);
        const struct best_two *there = &olds[likeness->old_of[taken[j]]];
        match->all[j].margin = likeness->value[taken[j]] -
                               (best_other(&here, taken[j]) + best_other(there, taken[j])) / 2;
    }
    free(olds);
    return BAT_OK;
}

static enum bat_code assign(const struct likeness *likeness, struct next_match *match,
                            struct bat_error *error)
{
    float *values = malloc(((size_t)likeness->pair_count + 1) * sizeof(*values));
    uint32_t *taken = malloc(((size_t)match->count + 1) * sizeof(*taken));
    enum bat_code code = values && taken ? BAT_OK : bat_fail_memory(error, "to match blocks");
    for (uint32_t i = 0; i < likeness->pair_count && code == BAT_OK; i++)
        values[i] = worth(likeness, i);
    const struct assignment_offers offers = {.bidder_count = likeness->new_count,
                                             .object_count = likeness->old_count,
                                             .first = likeness->first,
                                             .objects = likeness->old_of,
                                             .values = values};
    code = code ? code : assignment_find(&offers, taken, error);
    for (uint32_t j = 0; j < match->count && code == BAT_OK; j++) {
        struct next_matched *matched = &match->all[j];
        *matched =
            (struct next_matched){.old_of = BAT_NONE, .piece_of = BAT_NONE, .copy_of = BAT_NONE};
        if (taken[j] == BAT_NONE)
            continue;
        matched->old_of = likeness->old_of[taken[j]];
        matched->confidence = likeness->value[taken[j]];
        matched->content = likeness->content[taken[j]];
    }
    code = code ? code : set_margins(likeness, taken, match, error);
    BAT_FREE_ALL(values, taken);
    return code;
}

static void forget(struct next_matched *matched)
{
    matched->old_of = BAT_NONE;
    matched->confidence = matched->content = 0;
}

/* Forget matches that say that a branch goes the other way than the one it is matched with. */
static void drop_crossed(const struct flooding_side *a, const struct flooding_side *b,
                         struct next_match *match)
{
    const float known = 0.6f;
    const float alike = 0.3f;
    for (uint32_t j = 0; j < match->count; j++) {
        uint32_t i = match->all[j].old_of;
        if (i == BAT_NONE || match->all[j].content <= alike)
            continue;
        uint32_t taken = a->graph->taken[i];
        uint32_t on = a->graph->on[i];
        uint32_t new_taken = b->graph->taken[j];
        uint32_t new_on = b->graph->on[j];
        if (taken == BAT_NONE || on == BAT_NONE || new_taken == BAT_NONE || new_on == BAT_NONE ||
            taken == on)
            continue;
        enum flooding_condition condition = flooding_compare(a->conditions[i], b->conditions[j]);
        if (condition == CONDITION_OTHER)
            continue;
        bool is_inverse = condition == CONDITION_INVERSE;
        struct next_matched *to = &match->all[new_taken];
        if (to->old_of == (is_inverse ? taken : on) && to->content < known)
            forget(to);
        to = &match->all[new_on];
        if (to->old_of == (is_inverse ? on : taken) && to->content < known)
            forget(to);
    }
}

/* Match by the likeness as it is now. */
static enum bat_code match_by_likeness(const struct flooding_side *old_side,
                                       const struct flooding_side *new_side,
                                       struct next_match *match, struct bat_error *error)
{
    const struct likeness *likeness = match->likeness;
    BAT_TRY(assign(likeness, match, error));
    BAT_TRY(find_copies(likeness, match, error));
    drop_crossed(old_side, new_side, match);
    return next_match_ends(old_side, new_side, match, error);
}

enum bat_code next_match_blocks(const struct flooding_side *old_side,
                                const struct flooding_side *new_side, struct next_match *match,
                                struct bat_error *error)
{
    *match = (struct next_match){.count = new_side->graph->node_count};
    match->all = calloc((size_t)match->count + 1, sizeof(*match->all));
    match->likeness = calloc(1, sizeof(*match->likeness));
    enum bat_code code =
        match->all && match->likeness ? BAT_OK : bat_fail_memory(error, "to match blocks");
    if (code == BAT_OK)
        code = likeness_open(old_side->program, old_side->graph, new_side->program, new_side->graph,
                             match->likeness, error);
    code = code ? code : flooding_run(old_side, new_side, match->likeness, &match->partners, error);
    return code ? code : match_by_likeness(old_side, new_side, match, error);
}

/* How well two counts agree: 1 if they are the same, less the larger their ratio. */
static float agreement(double a, double b)
{
    double ratio = (a + AGREE_MORE) / (b + AGREE_MORE);
    return 1 - AGREE_SHARE * (1 - sqrtf((float)(ratio < 1 ? ratio : 1 / ratio)));
}

enum bat_code next_match_again(const struct flooding_side *old_side,
                               const struct flooding_side *new_side, const uint64_t *counts,
                               double scale, struct next_match *match, struct bat_error *error)
{
    struct likeness *likeness = match->likeness;
    for (uint32_t j = 0; j < match->count; j++)
        for (uint32_t i = likeness->first[j]; i < likeness->first[j + 1]; i++)
            likeness->value[i] *= agreement(
                old_side->graph->nodes[likeness->old_of[i]].count * scale, (double)counts[j]);
    enum bat_code code = match_by_likeness(old_side, new_side, match, error);
    likeness_free(likeness);
    free(likeness);
    match->likeness = NULL;
    return code;
}
