/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the ways to two blocks have in common, compared with what the definition gives. */
#include <math.h>

#include "next/ways.h"
#include "unit_test.h"

#define NODES_MAX 24u
#define PAIRS_MAX (NODES_MAX * NODES_MAX)

static uint32_t random_state = 5;

/* Two forests of dominators, one for each way, and pairs of their nodes. */
struct made {
    uint32_t counts[2];
    uint32_t above[2][2][NODES_MAX]; /* by way and side */
    struct likeness likeness;
    uint32_t first[NODES_MAX + 1];
    uint32_t old_of[PAIRS_MAX];
    uint32_t new_of[PAIRS_MAX];
    float content[PAIRS_MAX];
    float value[PAIRS_MAX];
};

/* Nodes are dominated by any that come before in an order of their own. */
static void make_forest(uint32_t *above, uint32_t count)
{
    uint32_t order[NODES_MAX];
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t at = any_below(&random_state, i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (uint32_t i = 0; i < count; i++) {
        /* Long ways are likelier than in a tree where all are as likely. */
        const uint32_t least = i > 3 && any_below(&random_state, 2) ? i - 3 : 0;
        const uint32_t at = least + any_below(&random_state, i + 1 - least);
        above[order[i]] = at == i ? BAT_NONE : order[at];
    }
}

static void make(struct made *made)
{
    *made = (struct made){.likeness = {.first = made->first,
                                       .old_of = made->old_of,
                                       .content = made->content,
                                       .value = made->value}};
    for (unsigned side = 0; side < 2; side++) {
        made->counts[side] = 1 + any_below(&random_state, NODES_MAX);
        for (unsigned way = 0; way < 2; way++)
            make_forest(made->above[way][side], made->counts[side]);
    }
    struct likeness *likeness = &made->likeness;
    likeness->old_count = made->counts[0];
    likeness->new_count = made->counts[1];
    for (uint32_t j = 0; j < likeness->new_count; j++) {
        for (uint32_t i = 0; i < likeness->old_count; i++) {
            if (any_below(&random_state, 3) == 0)
                continue;
            made->old_of[likeness->pair_count] = i;
            made->new_of[likeness->pair_count] = j;
            made->content[likeness->pair_count] = (float)any_below(&random_state, 41) / 40;
            made->value[likeness->pair_count++] = (float)any_below(&random_state, 11) / 10;
        }
        made->first[j + 1] = likeness->pair_count;
    }
}

/* How many nodes a way passes from one to another that is on it; BAT_NONE if it is not. */
static uint32_t passed(const uint32_t *above, uint32_t from, uint32_t to)
{
    uint32_t count = 0;
    for (uint32_t at = above[from]; at != BAT_NONE; at = above[at], count++)
        if (at == to)
            return count;
    return BAT_NONE;
}

/* What the ways to both nodes of a pair have in common; those of pairs above are found first. */
static double way_of(const struct made *made, unsigned way, uint32_t pair, const double *values,
                     double *found)
{
    double best = 0;
    if (!isnan(found[pair]))
        return found[pair];
    for (uint32_t other = 0; other < made->likeness.pair_count; other++) {
        const uint32_t olds = passed(made->above[way][0], made->old_of[pair], made->old_of[other]);
        const uint32_t news = passed(made->above[way][1], made->new_of[pair], made->new_of[other]);
        if (olds == BAT_NONE || news == BAT_NONE)
            continue;
        best = fmax(best, way_of(made, way, other, values, found) - 0.05 * (olds + news));
    }
    return found[pair] = values[pair] * values[pair] + best;
}

/* The value of a pair, less if both its nodes have a rival with a better way. */
static double lowered(const struct made *made, uint32_t pair, double value, const double *ways)
{
    double best[2] = {0, 0};
    const float content = made->content[pair];
    for (uint32_t other = 0; other < made->likeness.pair_count && content >= 0.6f; other++) {
        if (made->content[other] < 0.95f * content || made->content[other] < 0.6f)
            continue;
        if (made->old_of[other] == made->old_of[pair])
            best[0] = fmax(best[0], ways[other]);
        if (made->new_of[other] == made->new_of[pair])
            best[1] = fmax(best[1], ways[other]);
    }
    const double least = fmin(best[0], best[1]);
    return least > 0 ? value * (0.8 + 0.2 * ways[pair] / least) : value;
}

TEST(test_ways)
{
    static struct made made;
    double before[PAIRS_MAX];
    double ways[2][PAIRS_MAX];
    uint32_t lowered_count = 0;
    for (unsigned round = 0; round < 200; round++) {
        make(&made);
        for (uint32_t pair = 0; pair < made.likeness.pair_count; pair++) {
            before[pair] = (double)made.value[pair];
            ways[0][pair] = ways[1][pair] = NAN;
        }
        for (uint32_t pair = 0; pair < made.likeness.pair_count; pair++)
            for (unsigned way = 0; way < 2; way++)
                way_of(&made, way, pair, before, ways[way]);
        const struct flooding_side sides[2] = {
            {.dominators = made.above[0][0], .post_dominators = made.above[1][0]},
            {.dominators = made.above[0][1], .post_dominators = made.above[1][1]}};
        assert_ok(next_compare_ways(&sides[0], &sides[1], &made.likeness, NULL));
        for (uint32_t pair = 0; pair < made.likeness.pair_count; pair++) {
            const double once = lowered(&made, pair, before[pair], ways[0]);
            const double expected = lowered(&made, pair, once, ways[1]);
            assert_true(fabs((double)made.value[pair] - expected) < 1e-5);
            lowered_count += expected < before[pair];
        }
    }
    assert_true(lowered_count > 1000);
}
