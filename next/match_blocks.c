/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "match_blocks.h"

#include <math.h>
#include <stdlib.h>

#include "assignment.h"
#include "spec/array.h"
#include "ways.h"

/* A pair below these is no match. */
#define VALUE_MIN 0.1f
#define BASE_MIN 0.05f
#define VALUE_SURE 0.5f

/* ... and no copy of an old block that is matched with another one. */
#define COPY_VALUE_MIN 0.4f
#define COPY_CONTENT_MIN 0.6f

/* Blocks without a match, which a matched pair leads to, are a pair if they are so much alike. */
#define FOLLOW_CONTENT_MIN 0.02f
#define FOLLOW_MOST 0.5f /* of that pair's confidence: it may be sure, and still lead elsewhere */
#define FOLLOW_ROUNDS 8u

/* How much of a pair's likeness depends on whether its counts agree. */
#define AGREE_SHARE 0.3f
#define AGREE_MORE 20.0 /* added to both: small ones differ by chance */

/* What a pair's likeness is multiplied by where it is compared with others: if no link of it is one
 * of both, and if all are. */
#define PLACE_OTHER 0.8f
#define PLACE_SAME 1.4f

void next_match_free(struct next_match *match)
{
    if (match->likeness)
        likeness_free(match->likeness);
    BAT_FREE_ALL(match->all, match->likeness);
    *match = (struct next_match){0};
}

/* What an offer of the assignment is worth: sure pairs count more than several unsure ones. */
static float worth(const struct likeness *likeness, const float *places, uint32_t pair)
{
    float value = likeness->value[pair] * (places ? places[pair] : 1);
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

/* For each old node the new one that is matched with it, or BAT_NONE. NULL without memory. */
static uint32_t *list_new_of(const struct likeness *likeness, const struct next_match *match)
{
    uint32_t *new_of = malloc(((size_t)likeness->old_count + 1) * sizeof(*new_of));
    for (uint32_t i = 0; i < likeness->old_count && new_of; i++)
        new_of[i] = BAT_NONE;
    for (uint32_t j = 0; j < match->count && new_of; j++)
        if (match->all[j].old_of != BAT_NONE)
            new_of[match->all[j].old_of] = j;
    return new_of;
}

/* Find the old blocks that unmatched ones are copies of. */
static enum bat_code find_copies(const struct likeness *likeness, struct next_match *match,
                                 struct bat_error *error)
{
    uint32_t *new_of = list_new_of(likeness, match);
    if (!new_of)
        return bat_fail_memory(error, "to match blocks");
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

/* Of pairs that compete, places tells which are likelier: a factor for each, or NULL. How sure
 * the match is, it does not tell. */
static enum bat_code assign(const struct likeness *likeness, const float *places,
                            struct next_match *match, struct bat_error *error)
{
    float *values = malloc(((size_t)likeness->pair_count + 1) * sizeof(*values));
    uint32_t *taken = malloc(((size_t)match->count + 1) * sizeof(*taken));
    enum bat_code code = values && taken ? BAT_OK : bat_fail_memory(error, "to match blocks");
    for (uint32_t i = 0; i < likeness->pair_count && code == BAT_OK; i++)
        values[i] = worth(likeness, places, i);
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

/* --- What is behind matches ----------------------------------------------------------------- */

struct following {
    const struct flooding_side *a;
    const struct flooding_side *b;
    struct next_match *match;
    uint32_t *new_of; /* for each old node */
};

/* Match two nodes that are where a matched pair leads to, if neither has a match. */
static bool follow(const struct following *following, float confidence, uint32_t old_node,
                   uint32_t new_node)
{
    const struct likeness *likeness = following->match->likeness;
    struct next_matched *matched = &following->match->all[new_node];
    if (matched->old_of != BAT_NONE || matched->copy_of != BAT_NONE ||
        following->new_of[old_node] != BAT_NONE)
        return false;
    float content = likeness_of_content(likeness, old_node, likeness->old_count + new_node);
    confidence = (fminf(confidence, FOLLOW_MOST) + content) / 2;
    if (content < FOLLOW_CONTENT_MIN || confidence < VALUE_MIN)
        return false;
    matched->old_of = old_node;
    matched->confidence = confidence;
    matched->content = content;
    matched->margin = 0;
    following->new_of[old_node] = new_node;
    return true;
}

/* True if two branches go the opposite ways: by what they test, or by a match of what they lead to.
 * *is_known is false if that does not tell it, or contradicts itself. */
static bool is_inverse(const struct following *following, uint32_t i, uint32_t j, bool *is_known)
{
    const uint32_t olds[2] = {following->a->graph->taken[i], following->a->graph->on[i]};
    const uint32_t news[2] = {following->b->graph->taken[j], following->b->graph->on[j]};
    enum flooding_condition condition =
        flooding_compare(following->a->conditions[i], following->b->conditions[j]);
    bool may_be[2] = {condition != CONDITION_INVERSE, condition != CONDITION_SAME};
    for (unsigned k = 0; k < 2; k++) {
        uint32_t old_node = following->match->all[news[k]].old_of;
        may_be[0] &= old_node != olds[!k];
        may_be[1] &= old_node != olds[k];
    }
    *is_known = may_be[0] != may_be[1];
    return may_be[1];
}

/* Match what directly follows a matched pair. True if something was. */
static bool follow_pair(const struct following *following, uint32_t i, uint32_t j)
{
    const struct next_graph *a = following->a->graph;
    const struct next_graph *b = following->b->graph;
    float confidence = following->match->all[j].confidence;
    uint32_t ways = b->out[j + 1] - b->out[j];
    if (a->out[i + 1] - a->out[i] != ways)
        return false;
    if (ways == 1)
        return follow(following, confidence, a->links[a->out[i]].to, b->links[b->out[j]].to);
    if (ways != 2 || a->taken[i] == BAT_NONE || a->on[i] == BAT_NONE || b->taken[j] == BAT_NONE ||
        b->on[j] == BAT_NONE)
        return false;
    bool is_known;
    bool is_crossed = is_inverse(following, i, j, &is_known);
    if (!is_known)
        return false;
    bool is_found = follow(following, confidence, is_crossed ? a->on[i] : a->taken[i], b->taken[j]);
    return follow(following, confidence, is_crossed ? a->taken[i] : a->on[i], b->on[j]) || is_found;
}

/*
 * Match what is left by where the branches of matched blocks lead: it may have got other code. What
 * was matched leads on.
 */
static enum bat_code follow_all(const struct flooding_side *a, const struct flooding_side *b,
                                struct next_match *match, struct bat_error *error)
{
    struct following following = {a, b, match, list_new_of(match->likeness, match)};
    if (!following.new_of)
        return bat_fail_memory(error, "to match blocks");
    bool is_found = true;
    for (unsigned round = 0; round < FOLLOW_ROUNDS && is_found; round++) {
        is_found = false;
        for (uint32_t j = 0; j < match->count; j++)
            if (match->all[j].old_of != BAT_NONE)
                is_found |= follow_pair(&following, match->all[j].old_of, j);
    }
    free(following.new_of);
    return BAT_OK;
}

/* Match by the likeness as it is now. */
static enum bat_code match_by_likeness(const struct flooding_side *old_side,
                                       const struct flooding_side *new_side, const float *places,
                                       struct next_match *match, struct bat_error *error)
{
    const struct likeness *likeness = match->likeness;
    BAT_TRY(assign(likeness, places, match, error));
    BAT_TRY(find_copies(likeness, match, error));
    drop_crossed(old_side, new_side, match);
    BAT_TRY(follow_all(old_side, new_side, match, error));
    return next_match_ends(old_side, new_side, match, error);
}

enum bat_code next_match_blocks(const struct flooding_side *old_side,
                                const struct flooding_side *new_side, bool is_brief,
                                struct next_match *match, struct bat_error *error)
{
    *match = (struct next_match){.count = new_side->graph->node_count};
    match->all = calloc((size_t)match->count + 1, sizeof(*match->all));
    match->likeness = calloc(1, sizeof(*match->likeness));
    enum bat_code code =
        match->all && match->likeness ? BAT_OK : bat_fail_memory(error, "to match blocks");
    if (code == BAT_OK)
        code = likeness_open(old_side->program, old_side->graph, new_side->program, new_side->graph,
                             is_brief, match->likeness, error);
    code = code ? code : flooding_run(old_side, new_side, is_brief, match->likeness, error);
    if (code == BAT_OK && !is_brief)
        code = next_compare_ways(old_side, new_side, match->likeness, error);
    return code ? code : match_by_likeness(old_side, new_side, NULL, match, error);
}

/* --- What is around ------------------------------------------------------------------------- */

struct around {
    const struct next_graph *a;
    const struct next_graph *b;
    uint32_t *new_of; /* for each old node */
    uint32_t *beside; /* for each new node: the last one that was seen to have a link with it */
};

/* How many of the links of a new node in a direction an old one has, too, if the two are a pair. */
static float share_links(const struct around *around, uint32_t i, uint32_t j, bool is_out)
{
    uint32_t most = next_compared_degree(around->b, j, is_out);
    const uint32_t count = next_compared_degree(around->a, i, is_out);
    uint32_t common = 0;
    for (uint32_t k = 0; k < count && most > 0; k++) {
        const uint32_t other = next_neighbour(around->a, i, k, is_out);
        const uint32_t found = other == i ? j : around->new_of[other];
        common += found != BAT_NONE && (found == j) == (other == i) && around->beside[found] == j;
    }
    most = most < count ? count : most;
    return common < most ? (float)common / (float)most : (float)(most > 0);
}

/* Add to the places of a new node's pairs what their links in a direction tell. */
static void compare_links(const struct around *around, const struct likeness *likeness, uint32_t j,
                          bool is_out, float *places)
{
    const uint32_t count = next_degree(around->b, j, is_out);
    for (uint32_t k = 0; k < count; k++)
        around->beside[next_neighbour(around->b, j, k, is_out)] = j;
    for (uint32_t pair = likeness->first[j]; pair < likeness->first[j + 1]; pair++)
        places[pair] +=
            (PLACE_SAME - PLACE_OTHER) / 2 * share_links(around, likeness->old_of[pair], j, is_out);
    for (uint32_t k = 0; k < count; k++)
        around->beside[next_neighbour(around->b, j, k, is_out)] = BAT_NONE;
}

/*
 * Pairs are the likelier the more of the links to and from both are of matched pairs: a factor for
 * each, or NULL without memory. Those to a block tell as much as those from it, however many there
 * are: where one of two blocks was divided, a piece has only one kind. Linear in the
 * pairs and in the links of the new nodes.
 */
static float *compare_places(const struct next_graph *a, const struct next_graph *b,
                             const struct next_match *match)
{
    const struct likeness *likeness = match->likeness;
    const struct around around = {a, b, list_new_of(likeness, match),
                                  malloc(((size_t)match->count + 1) * sizeof(*around.beside))};
    float *places = malloc(((size_t)likeness->pair_count + 1) * sizeof(*places));
    bool is_fine = around.new_of && around.beside && places;
    for (uint32_t i = 0; i < likeness->pair_count && is_fine; i++)
        places[i] = PLACE_OTHER;
    for (uint32_t j = 0; j < match->count && is_fine; j++)
        around.beside[j] = BAT_NONE;
    for (uint32_t j = 0; j < match->count && is_fine; j++) {
        compare_links(&around, likeness, j, false, places);
        compare_links(&around, likeness, j, true, places);
    }
    BAT_FREE_ALL(around.new_of, around.beside);
    if (is_fine)
        return places;
    free(places);
    return NULL;
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
    float *places = compare_places(old_side->graph, new_side->graph, match);
    enum bat_code code = places ? match_by_likeness(old_side, new_side, places, match, error)
                                : bat_fail_memory(error, "to match blocks");
    likeness_free(likeness);
    BAT_FREE_ALL(places, likeness);
    match->likeness = NULL;
    return code;
}
