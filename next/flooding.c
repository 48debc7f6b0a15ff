/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "flooding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "binary/code/conditions.h"
#include "dominators.h"
#include "loops.h"

#define ROUNDS 10u

/* Predecessors of a block that are looked at: interpreters have blocks with hundreds. */
#define NEIGHBOURS_MAX 48u

/* Shares of what is around, without the content. */
#define SHARE_BEFORE 0.38f
#define SHARE_BEHIND 0.38f
#define SHARE_DOMINATOR 0.12f
#define SHARE_POST_DOMINATOR 0.12f

#define UNKNOWN_DOMINATOR 0.3f
#define SHARE_ORDER 0.08f
#define OTHER_DEPTH 0.1f /* less for each loop that is around one of two blocks only */
#define SURE 0.6f        /* a pair that tells the order */

struct flooding {
    const struct flooding_side *a; /* old */
    const struct flooding_side *b; /* new */
    struct likeness *likeness;
    float *next;
    float *sizes; /* of each node, old ones first: a logarithm */
    float *order; /* for each new node: where in the old order it should be; NULL: not known */
};

void flooding_free(struct flooding_side *side)
{
    free(side->dominators);
    free(side->post_dominators);
    free(side->depths);
    free(side->before);
    free(side->conditions);
    *side = (struct flooding_side){0};
}

/* The condition of a node's branch, with what it tests. */
static uint32_t condition_of(const struct next_program *program, const struct next_node *node)
{
    uint32_t condition = next_node_block(program, node)->condition;
    uint32_t count;
    const struct next_instruction *code = next_node_code(program, node, &count);
    uint32_t tests = 0;
    while (condition != 0 && tests == 0 && count-- > 0)
        tests = code[count].flags & (NEXT_COMPARES_VALUES | NEXT_COMPARES_CONSTANT);
    if (tests == NEXT_COMPARES_VALUES)
        return condition | FLOODING_TESTS_VALUES;
    return tests == NEXT_COMPARES_CONSTANT ? condition | FLOODING_TESTS_CONSTANT : condition;
}

enum flooding_condition flooding_compare_orders(uint32_t a, uint32_t b)
{
    uint32_t left = condition_order(a & ~FLOODING_TESTS);
    uint32_t right = condition_order(b & ~FLOODING_TESTS);
    uint32_t difference = left ^ right;
    if (!(left & right & CONDITION_IS_ORDER) || difference & CONDITION_IS_SIGNED)
        return CONDITION_OTHER;
    bool is_other_way = difference & CONDITION_IS_LOWER;
    /* a < b is b > a; a < 5 is a <= 4. */
    return is_other_way == (bool)(a & FLOODING_TESTS_VALUES) ? CONDITION_SAME : CONDITION_INVERSE;
}

enum bat_code flooding_open(struct next_program *program, const struct next_graph *graph,
                            struct flooding_side *side, struct bat_error *error)
{
    *side = (struct flooding_side){.program = program,
                                   .graph = graph,
                                   .dominators = next_dominators(graph, false),
                                   .post_dominators = next_dominators(graph, true),
                                   .depths = next_loop_depths(graph)};
    side->conditions = calloc((size_t)graph->node_count + 1, sizeof(*side->conditions));
    side->before = malloc(((size_t)graph->link_count + 1) * sizeof(*side->before));
    if (!side->dominators || !side->post_dominators || !side->depths || !side->conditions ||
        !side->before)
        return bat_fail_memory(error, "for a graph");
    for (uint32_t i = 0; i < graph->link_count; i++)
        side->before[i] = graph->links[graph->by_target[i]].from;
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].ends)
            side->conditions[i] = condition_of(program, &graph->nodes[i]);
    return BAT_OK;
}

/* fmaxf() and fminf() are calls, for what they do with numbers that are none. */
static inline float larger(float a, float b)
{
    return a > b ? a : b;
}

static inline float smaller(float a, float b)
{
    return a < b ? a : b;
}

static inline float value_of(const struct likeness *likeness, uint32_t old_node, uint32_t new_node)
{
    uint32_t pair = likeness_pair(likeness, old_node, new_node);
    return pair == BAT_NONE ? 0 : likeness->value[pair];
}

/* Both missing are alike, one missing is not. */
static inline float value_or_none(const struct likeness *likeness, uint32_t old_node,
                                  uint32_t new_node, float missing)
{
    if (old_node == BAT_NONE || new_node == BAT_NONE)
        return old_node == new_node ? 1 : missing;
    return value_of(likeness, old_node, new_node);
}

/* --- Neighbours ----------------------------------------------------------------------------- */

static uint32_t count_before(const struct next_graph *graph, uint32_t node)
{
    uint32_t count = graph->into[node + 1] - graph->into[node];
    return count < NEIGHBOURS_MAX ? count : NEIGHBOURS_MAX;
}

/* The mean of how alike each predecessor is to the most alike of the other node's, both ways. */
static float compare_before(const struct flooding *flooding, uint32_t i, uint32_t j, float without)
{
    const struct likeness *likeness = flooding->likeness;
    uint32_t old_count = count_before(flooding->a->graph, i);
    uint32_t new_count = count_before(flooding->b->graph, j);
    if (old_count == 0 || new_count == 0)
        return old_count == new_count ? without : 0;
    const uint32_t *olds = flooding->a->before + flooding->a->graph->into[i];
    const uint32_t *news = flooding->b->before + flooding->b->graph->into[j];
    if (old_count == 1 && new_count == 1)
        return value_of(likeness, olds[0], news[0]);
    float best_of_old[NEIGHBOURS_MAX];
    memset(best_of_old, 0, old_count * sizeof(*best_of_old));
    float sum = 0;
    for (uint32_t y = 0; y < new_count; y++) {
        float best = 0;
        for (uint32_t x = 0; x < old_count; x++) {
            float value = value_of(likeness, olds[x], news[y]);
            best = larger(best, value);
            best_of_old[x] = larger(best_of_old[x], value);
        }
        sum += best;
    }
    float other = 0;
    for (uint32_t x = 0; x < old_count; x++)
        other += best_of_old[x];
    return (other / (float)old_count + sum / (float)new_count) / 2;
}

static float compare_behind(const struct flooding *flooding, uint32_t i, uint32_t j, float without)
{
    const struct next_graph *a = flooding->a->graph;
    const struct next_graph *b = flooding->b->graph;
    const struct likeness *likeness = flooding->likeness;
    bool old_ends = a->taken[i] == BAT_NONE && a->on[i] == BAT_NONE;
    bool new_ends = b->taken[j] == BAT_NONE && b->on[j] == BAT_NONE;
    if (old_ends && new_ends)
        return without;
    if (a->taken[i] == BAT_NONE && b->taken[j] == BAT_NONE)
        return value_or_none(likeness, a->on[i], b->on[j], 0);
    float straight = (value_or_none(likeness, a->taken[i], b->taken[j], 0) +
                      value_or_none(likeness, a->on[i], b->on[j], 0)) /
                     2;
    float crossed = (value_or_none(likeness, a->taken[i], b->on[j], 0) +
                     value_or_none(likeness, a->on[i], b->taken[j], 0)) /
                    2;
    float value;
    switch (flooding_compare(flooding->a->conditions[i], flooding->b->conditions[j])) {
    case CONDITION_SAME:
        value = larger(straight, crossed * 0.7f);
        break;
    case CONDITION_INVERSE:
        value = larger(crossed, straight * 0.7f);
        break;
    default:
        value = larger(straight, crossed) * 0.9f;
        break;
    }
    return old_ends != new_ends ? value * 0.2f : value;
}

/* --- Order ---------------------------------------------------------------------------------- */

/* The new node's most alike pair; BAT_NONE if there is none. */
static uint32_t best_pair(const struct likeness *likeness, uint32_t node)
{
    uint32_t best = BAT_NONE;
    for (uint32_t i = likeness->first[node]; i < likeness->first[node + 1]; i++)
        if (best == BAT_NONE || likeness->value[i] > likeness->value[best])
            best = i;
    return best;
}

static uint32_t median_of_five(const uint32_t *all, uint32_t count)
{
    uint32_t sorted[5];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;
        for (; at > 0 && sorted[at - 1] > all[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = all[i];
    }
    return sorted[count / 2];
}

/* Where each new node should be in the old order, between pairs that are each other's best. */
static bool find_order(struct flooding *flooding)
{
    const struct likeness *likeness = flooding->likeness;
    uint32_t news = likeness->new_count;
    float *best_of_old = calloc((size_t)likeness->old_count + 1, sizeof(*best_of_old));
    uint32_t *anchors = malloc(((size_t)news + 1) * sizeof(*anchors));
    uint32_t *olds = malloc(((size_t)news + 1) * sizeof(*olds));
    if (!best_of_old || !anchors || !olds) {
        free(best_of_old);
        free(anchors);
        free(olds);
        return false;
    }
    for (uint32_t i = 0; i < likeness->pair_count; i++) {
        float *best = &best_of_old[likeness->old_of[i]];
        *best = likeness->value[i] > *best ? likeness->value[i] : *best;
    }
    uint32_t count = 0;
    for (uint32_t j = 0; j < news; j++) {
        uint32_t pair = best_pair(likeness, j);
        if (pair == BAT_NONE || likeness->value[pair] <= SURE ||
            likeness->value[pair] < best_of_old[likeness->old_of[pair]])
            continue;
        olds[count] = likeness->old_of[pair];
        anchors[count++] = j;
    }
    if (count >= 3) {
        if (!flooding->order)
            flooding->order = malloc(((size_t)news + 1) * sizeof(*flooding->order));
        uint32_t at = 0;
        for (uint32_t j = 0; j < news && flooding->order; j++) {
            while (at + 1 < count && anchors[at + 1] <= j)
                at++;
            uint32_t low = at < 2 ? 0 : at - 2;
            uint32_t high = at + 3 > count ? count : at + 3;
            float here = (float)median_of_five(olds + low, high - low);
            flooding->order[j] = here + (float)j - (float)anchors[at];
        }
    }
    free(best_of_old);
    free(anchors);
    free(olds);
    return count < 3 || flooding->order;
}

/* --- Rounds --------------------------------------------------------------------------------- */

/* Large blocks are known by their content, small ones by what is around them. */
static float trust_around(const struct flooding *flooding, uint32_t i, uint32_t j)
{
    float sizes = flooding->sizes[i] + flooding->sizes[flooding->likeness->old_count + j];
    return 0.75f - 0.35f * smaller(1, sizes / 8);
}

static float new_value(const struct flooding *flooding, uint32_t pair, uint32_t j)
{
    const struct likeness *likeness = flooding->likeness;
    uint32_t i = likeness->old_of[pair];
    float base = likeness->base[pair];
    const struct flooding_side *a = flooding->a;
    const struct flooding_side *b = flooding->b;
    float around = SHARE_BEFORE * compare_before(flooding, i, j, base) +
                   SHARE_BEHIND * compare_behind(flooding, i, j, base) +
                   SHARE_DOMINATOR * value_or_none(likeness, a->dominators[i], b->dominators[j],
                                                   UNKNOWN_DOMINATOR) +
                   SHARE_POST_DOMINATOR * value_or_none(likeness, a->post_dominators[i],
                                                        b->post_dominators[j], UNKNOWN_DOMINATOR);
    float trust = trust_around(flooding, i, j);
    float value = (1 - trust) * base + trust * around;
    value *= 1 - OTHER_DEPTH * smaller(2, fabsf((float)a->depths[i] - (float)b->depths[j]));
    bool is_old_entry = i == a->graph->entry;
    bool is_new_entry = j == b->graph->entry;
    if (is_old_entry || is_new_entry)
        value = is_old_entry && is_new_entry ? 1 : value / 2;
    if (flooding->order) {
        float distance = fabsf((float)i - flooding->order[j]);
        value = value * (1 - SHARE_ORDER) + SHARE_ORDER / (1 + distance / 4);
    }
    return value;
}

static void run_round(struct flooding *flooding)
{
    struct likeness *likeness = flooding->likeness;
    float most = 1;
    for (uint32_t j = 0; j < likeness->new_count; j++)
        for (uint32_t i = likeness->first[j]; i < likeness->first[j + 1]; i++) {
            flooding->next[i] = new_value(flooding, i, j);
            most = larger(most, flooding->next[i]);
        }
    for (uint32_t i = 0; i < likeness->pair_count; i++)
        likeness->value[i] = flooding->next[i] / most;
}

enum bat_code flooding_run(const struct flooding_side *old_side,
                           const struct flooding_side *new_side, struct likeness *likeness,
                           struct bat_error *error)
{
    struct flooding flooding = {.a = old_side, .b = new_side, .likeness = likeness};
    flooding.next = malloc(((size_t)likeness->pair_count + 1) * sizeof(*flooding.next));
    uint32_t nodes = likeness->old_count + likeness->new_count;
    flooding.sizes = malloc(((size_t)nodes + 1) * sizeof(*flooding.sizes));
    if (!flooding.next || !flooding.sizes) {
        free(flooding.next);
        free(flooding.sizes);
        return bat_fail_memory(error, "to compare blocks");
    }
    for (uint32_t i = 0; i < nodes; i++)
        flooding.sizes[i] = log2f(1 + (float)likeness->sizes[i]);
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < likeness->pair_count; i++)
        likeness->value[i] = likeness->base[i] = 0.98f * likeness->content[i];
    for (uint32_t round = 0; round < ROUNDS && code == BAT_OK; round++) {
        if (round == 3 || round == 5)
            code = flooding_align_tables(old_side, new_side, likeness, round == 3, error);
        if ((round == 4 || round == 7 || round == 9) && !find_order(&flooding))
            code = bat_fail_memory(error, "for the order of blocks");
        if (code == BAT_OK)
            run_round(&flooding);
    }
    free(flooding.next);
    free(flooding.sizes);
    free(flooding.order);
    return code;
}
