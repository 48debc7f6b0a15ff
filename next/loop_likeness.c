/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A block of one compiler may be like several of the other's. A loop has more code, so that it is
 * known for sure where one block is not.
 */
#include "loops.h"

#include <math.h>
#include <stdlib.h>

#include "spec/array.h"

/* More than so many products of weights, or pairs of loops, are not worth their time and memory. */
#define WORK_MAX (UINT64_C(1) << 24)
#define PAIRS_MAX (UINT64_C(1) << 20)

/* Room for so many features is made at first. */
#define FEATURES_MIN 256u

/* The features of all that is in each loop. */
struct loop_features {
    uint32_t count; /* of loops, and the whole as the last */
    struct likeness_feature *all;
    size_t all_count;
    size_t all_capacity;
    size_t *first; /* of each loop in all; inner loops are before those around them */
    size_t *end;
};

static void loop_features_free(struct loop_features *features)
{
    BAT_FREE_ALL(features->all, features->first, features->end);
}

/* Make the weights of each loop a vector of length 1; what is there often counts less than the sum
 * of its weights. */
static void normalise(struct loop_features *features)
{
    for (uint32_t i = 0; i < features->count; i++) {
        float sum = 0;
        for (size_t k = features->first[i]; k < features->end[i]; k++)
            sum += features->all[k].weight;
        for (size_t k = features->first[i]; k < features->end[i]; k++)
            features->all[k].weight = sqrtf(features->all[k].weight / sum);
    }
}

/* What is directly in each loop, as lists: the first of each loop (the whole is the last), and the
 * next of each member. */
struct members {
    uint32_t *first_node;
    uint32_t *next_node;
    uint32_t *first_loop;
    uint32_t *next_loop;
};

static bool list_members(const struct next_loops *loops, uint32_t nodes, struct members *members)
{
    const size_t count = (size_t)loops->count + 1;
    uint32_t *all = malloc((3 * count + nodes) * sizeof(*all));
    if (!all)
        return false;
    *members = (struct members){all, all + 3 * count, all + count, all + 2 * count};
    for (size_t i = 0; i < count; i++)
        members->first_node[i] = members->first_loop[i] = BAT_NONE;
    for (uint32_t i = nodes; i-- > 0;) {
        uint32_t *first =
            &members->first_node[loops->inner[i] == BAT_NONE ? loops->count : loops->inner[i]];
        members->next_node[i] = *first;
        *first = i;
    }
    for (uint32_t i = loops->count; i-- > 0;) {
        uint32_t *first =
            &members->first_loop[loops->around[i] == BAT_NONE ? loops->count : loops->around[i]];
        members->next_loop[i] = *first;
        *first = i;
    }
    return true;
}

/* Add a feature to the loop that is being made, whose features begin at first. places is 1 + the
 * place of each of its features; what other loops left there is less. */
static bool add_feature(struct loop_features *features, size_t first, size_t *places,
                        struct likeness_feature feature)
{
    const size_t place = places[feature.id];
    if (place > first) {
        features->all[place - 1].weight += feature.weight;
        return true;
    }
    places[feature.id] = features->all_count + 1;
    return BAT_APPEND(features->all, features->all_count, features->all_capacity, feature);
}

/* Add what is directly in a loop, and what is in the loops in it, which are made. */
static bool add_members(struct loop_features *features, const struct members *members,
                        const struct likeness *likeness, uint32_t first_node, uint32_t loop,
                        size_t *places)
{
    const size_t first = features->first[loop] = features->all_count;
    bool is_fine = true;
    for (uint32_t i = members->first_node[loop]; i != BAT_NONE; i = members->next_node[i]) {
        const uint32_t *range = &likeness->first_feature[first_node + i];
        for (uint32_t k = range[0]; k < range[1] && is_fine; k++)
            is_fine = add_feature(features, first, places, likeness->features[k]);
    }
    for (uint32_t i = members->first_loop[loop]; i != BAT_NONE; i = members->next_loop[i])
        for (size_t k = features->first[i]; k < features->end[i] && is_fine; k++)
            is_fine = add_feature(features, first, places, features->all[k]);
    features->end[loop] = features->all_count;
    return is_fine;
}

static bool loop_features_make(const struct next_loops *loops, const struct likeness *likeness,
                               uint32_t first_node, uint32_t nodes, struct loop_features *features)
{
    const size_t count = (size_t)loops->count + 1;
    size_t *places = calloc((size_t)likeness->feature_count + 1, sizeof(*places));
    struct members members = {0};
    *features = (struct loop_features){.count = loops->count + 1,
                                       .all = malloc(FEATURES_MIN * sizeof(*features->all)),
                                       .all_capacity = FEATURES_MIN,
                                       .first = malloc(count * sizeof(size_t)),
                                       .end = malloc(count * sizeof(size_t))};
    bool is_fine = places && features->all && features->first && features->end &&
                   list_members(loops, nodes, &members);
    /* A loop around another has the lesser number. */
    for (uint32_t i = loops->count; i-- > 0 && is_fine;)
        is_fine = add_members(features, &members, likeness, first_node, i, places);
    is_fine =
        is_fine && add_members(features, &members, likeness, first_node, loops->count, places);
    if (is_fine)
        normalise(features);
    BAT_FREE_ALL(members.first_node, places);
    return is_fine;
}

/* Cosines of each old loop with each new one. False without memory. */
static bool compare(const struct loop_features sides[2], uint32_t feature_count, float *alike)
{
    float *weights = calloc((size_t)feature_count + 1, sizeof(*weights));
    for (uint32_t i = 0; i < sides[0].count && weights; i++) {
        for (size_t k = sides[0].first[i]; k < sides[0].end[i]; k++)
            weights[sides[0].all[k].id] = sides[0].all[k].weight;
        for (uint32_t j = 0; j < sides[1].count; j++) {
            float sum = 0;
            for (size_t k = sides[1].first[j]; k < sides[1].end[j]; k++)
                sum += weights[sides[1].all[k].id] * sides[1].all[k].weight;
            alike[(size_t)i * sides[1].count + j] = sum;
        }
        for (size_t k = sides[0].first[i]; k < sides[0].end[i]; k++)
            weights[sides[0].all[k].id] = 0;
    }
    free(weights);
    return weights;
}

/* What is less like than the mean of the best that both loops have is less likely by twice that. */
static bool make_relative(float *alike, uint32_t rows, uint32_t columns)
{
    float *best = calloc((size_t)rows + columns, sizeof(*best));
    for (uint32_t i = 0; i < rows && best; i++)
        for (uint32_t j = 0; j < columns; j++) {
            float value = alike[(size_t)i * columns + j];
            best[i] = fmaxf(best[i], value);
            best[rows + j] = fmaxf(best[rows + j], value);
        }
    for (uint32_t i = 0; i < rows && best; i++)
        for (uint32_t j = 0; j < columns; j++)
            alike[(size_t)i * columns + j] =
                fmaxf(0, 1 - (best[i] + best[rows + j] - 2 * alike[(size_t)i * columns + j]));
    free(best);
    return best;
}

bool next_compare_loops(const struct next_loops *olds, const struct next_loops *news,
                        const struct likeness *likeness, float **alike)
{
    struct loop_features sides[2];
    bool is_fine = loop_features_make(olds, likeness, 0, likeness->old_count, &sides[0]);
    is_fine &=
        loop_features_make(news, likeness, likeness->old_count, likeness->new_count, &sides[1]);
    *alike = NULL;
    if (is_fine && sides[0].count * (uint64_t)sides[1].all_count <= WORK_MAX &&
        sides[0].count * (uint64_t)sides[1].count <= PAIRS_MAX) {
        *alike = malloc((size_t)sides[0].count * sides[1].count * sizeof(**alike));
        is_fine = *alike && compare(sides, likeness->feature_count, *alike) &&
                  make_relative(*alike, sides[0].count, sides[1].count);
    }
    loop_features_free(&sides[0]);
    loop_features_free(&sides[1]);
    return is_fine;
}
