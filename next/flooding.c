/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "flooding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "binary/code/conditions.h"
#include "dominators.h"
#include "spec/array.h"

#define ROUNDS 10u
#define ROUNDS_BRIEF 3u /* the last ones */

/* Shares of what is around, without the content. */
#define SHARE_BEFORE 0.38f
#define SHARE_BEHIND 0.38f
#define SHARE_DOMINATOR 0.12f
#define SHARE_POST_DOMINATOR 0.12f

#define UNKNOWN_DOMINATOR 0.3f
#define SHARE_ORDER 0.08f
#define OTHER_DEPTH 0.1f  /* less for each loop that is around one of two blocks only */
#define OTHER_LOOP 0.7f   /* less for loops that have nothing in common */
#define SURE 0.6f         /* a pair that tells the order */
#define BEGIN_SHARE 0.98f /* of the likeness of the code, at first */
#define OTHER_TEST 0.2f   /* ... if both branches test values that are known, but not the same */

/* What is around an old node: columns of rows. */
struct around {
    uint32_t taken;
    uint32_t on;
    uint32_t dominator;
    uint32_t post_dominator;
    uint32_t before;    /* the first predecessor */
    uint32_t before_at; /* where it is in flooding_side.before */
    uint32_t before_count;
    uint32_t kind; /* of its end */
};

/* A kind of ends of nodes. */
struct end {
    uint32_t condition;
    bool is_end;  /* it leads nowhere */
    bool is_jump; /* it is not taken elsewhere */
};

/* The kinds of ends that the nodes of a graph have: there are few. */
struct kinds {
    struct end *all;
    uint32_t *of; /* of each node */
    uint32_t count;
};

/* What of a pair does not change in the rounds. */
struct trust {
    float around; /* the share of what is around */
    float loops;  /* less than 1 if the loops around them are others */
};

/* Rows of values, in the order of what is around a new node. Behind the columns of the old nodes,
 * each has COLUMNS_NONE for where there is none: 0, and UNKNOWN_DOMINATOR for a dominator. */
enum row {
    ROW_TAKEN,
    ROW_ON,
    ROW_DOMINATOR,
    ROW_POST_DOMINATOR,
    ROW_BEFORE,
    ROW_ALL_BEFORE,   /* the best of all predecessors */
    ROW_NONE,         /* of no node: only none is like it */
    ROW_NO_DOMINATOR, /* ... and all else is, as a dominator, by UNKNOWN_DOMINATOR */
    ROW_COUNT
};
#define COLUMNS_NONE 2u

struct flooding {
    const struct flooding_side *a; /* old */
    const struct flooding_side *b; /* new */
    struct likeness *likeness;
    struct around *around; /* of each old node */
    float *now;            /* values before the round; if dense, in rows */
    size_t columns;
    float *rows[ROW_COUNT];
    float *before;         /* of each pair of a new node */
    struct trust *trust;   /* of each pair */
    struct kinds ends[2];  /* of the old nodes, of the new ones */
    struct behind *behind; /* by the kind of the new node's end, and of the old one's */
    float *order; /* for each new node: where in the old order it should be; NULL: not known */
};

void flooding_free(struct flooding_side *side)
{
    BAT_FREE_ALL(side->dominators, side->post_dominators);
    next_loops_free(&side->loops);
    BAT_FREE_ALL(side->before, side->conditions);
    *side = (struct flooding_side){0};
}

/* What an equality is tested of, by the instruction that sets the condition. */
static uint32_t tests_number(enum next_test test)
{
    return test == NEXT_TEST_ZERO || test == NEXT_TEST_NULL ? FLOODING_TESTS_ZERO
           : test == NEXT_TEST_CONSTANT                     ? FLOODING_TESTS_NUMBER
                                                            : 0;
}

/* The condition of a node's branch, with what it tests. */
static uint32_t condition_of(const struct next_program *program, const struct next_graph *graph,
                             uint32_t node)
{
    const struct next_segment *last = next_last_segment(graph, node);
    const struct next_instruction *code = graph->nodes[node].code;
    const uint32_t count = graph->nodes[node].code_count;
    uint32_t condition = last->ends ? next_segment_block(program, last)->condition : 0;
    if (condition == 0)
        return 0;
    uint32_t flags = 0;
    for (uint32_t i = count; i-- > 0 && flags == 0;)
        flags = code[i].flags & (NEXT_COMPARES_VALUES | NEXT_COMPARES_CONSTANT);
    uint32_t sets = count;
    while (sets > 0 && code[sets - 1].test == NEXT_TEST_NONE)
        sets--;
    if (sets > 0 && condition_order(condition) & CONDITION_IS_EQUALITY)
        condition |= tests_number(code[sets - 1].test);
    if (flags == NEXT_COMPARES_VALUES)
        return condition | FLOODING_TESTS_VALUES;
    return flags == NEXT_COMPARES_CONSTANT ? condition | FLOODING_TESTS_CONSTANT : condition;
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
                                   .post_dominators = next_dominators(graph, true)};
    side->conditions = calloc((size_t)graph->node_count + 1, sizeof(*side->conditions));
    side->before = malloc(((size_t)graph->link_count + 1) * sizeof(*side->before));
    if (!next_loops_find(graph, &side->loops) || !side->dominators || !side->post_dominators ||
        !side->conditions || !side->before)
        return bat_fail_memory(error, "for a graph");
    for (uint32_t i = 0; i < graph->link_count; i++)
        side->before[i] = graph->links[graph->by_target[i]].from;
    for (uint32_t i = 0; i < graph->node_count; i++)
        side->conditions[i] = condition_of(program, graph, i);
    return BAT_OK;
}

/* --- Rows ----------------------------------------------------------------------------------- */

/* Values of a new node with each old one. */
static const float *open_row(struct flooding *flooding, enum row which, uint32_t node)
{
    const struct likeness *likeness = flooding->likeness;
    if (node == BAT_NONE)
        return flooding
            ->rows[which == ROW_DOMINATOR || which == ROW_POST_DOMINATOR ? ROW_NO_DOMINATOR
                                                                         : ROW_NONE];
    if (likeness->is_dense)
        return flooding->now + node * flooding->columns;
    float *row = flooding->rows[which];
    for (uint32_t i = likeness->first[node]; i < likeness->first[node + 1]; i++)
        row[likeness->old_of[i]] = flooding->now[i];
    return row;
}

/* Set what open_row() set of a row to 0, or also what was set for several nodes. */
static void close_row(struct flooding *flooding, enum row which, uint32_t node)
{
    const struct likeness *likeness = flooding->likeness;
    if (node != BAT_NONE && !likeness->is_dense)
        for (uint32_t i = likeness->first[node]; i < likeness->first[node + 1]; i++)
            flooding->rows[which][likeness->old_of[i]] = 0;
}

/* --- Neighbours ----------------------------------------------------------------------------- */

/* Raise all that a row has to what the row of another new node has. */
static void raise_row(struct flooding *flooding, float *row, uint32_t node, const float *other)
{
    const struct likeness *likeness = flooding->likeness;
    if (likeness->is_dense) {
        for (uint32_t i = 0; i < likeness->old_count; i++)
            row[i] = larger(row[i], other[i]);
        return;
    }
    for (uint32_t i = likeness->first[node]; i < likeness->first[node + 1]; i++)
        row[likeness->old_of[i]] = larger(row[likeness->old_of[i]], flooding->now[i]);
}

/* Add how alike a new node is to the most alike of the predecessors of each of count old nodes. */
static void add_best_before(const struct flooding *flooding, const float *row, const uint32_t *olds,
                            uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        const struct around *a = &flooding->around[olds[k]];
        float best = row[a->before];
        const uint32_t *before = flooding->a->before + a->before_at;
        for (uint32_t x = 1; x < a->before_count; x++)
            best = larger(best, row[before[x]]);
        flooding->before[k] += best;
    }
}

/* The same as compare_before() where the new node has one predecessor, as most have. */
static void compare_only_before(struct flooding *flooding, uint32_t j)
{
    const struct likeness *likeness = flooding->likeness;
    uint32_t first = likeness->first[j];
    uint32_t pairs = likeness->first[j + 1] - first;
    uint32_t node = flooding->b->before[flooding->b->graph->into[j]];
    const float *row = open_row(flooding, ROW_BEFORE, node);
    for (uint32_t k = 0; k < pairs; k++) {
        const struct around *a = &flooding->around[likeness->old_of[first + k]];
        float best = row[a->before];
        float sum = best;
        for (uint32_t x = 1; x < a->before_count; x++) {
            float value = row[flooding->a->before[a->before_at + x]];
            best = larger(best, value);
            sum += value;
        }
        flooding->before[k] =
            a->before_count > 1 ? (sum / (float)a->before_count + best) / 2 : best;
    }
    close_row(flooding, ROW_BEFORE, node);
}

/*
 * For each pair of a new node: the mean of how alike each predecessor is to the most alike of the
 * other node's, both ways.
 */
static void compare_before(struct flooding *flooding, uint32_t j)
{
    const struct likeness *likeness = flooding->likeness;
    uint32_t first = likeness->first[j];
    uint32_t pairs = likeness->first[j + 1] - first;
    const uint32_t *olds = likeness->old_of + first;
    uint32_t count = next_compared_degree(flooding->b->graph, j, false);
    const uint32_t *news = flooding->b->before + flooding->b->graph->into[j];
    memset(flooding->before, 0, pairs * sizeof(*flooding->before));
    float *all = flooding->rows[ROW_ALL_BEFORE];
    if (likeness->is_dense)
        memset(all, 0, likeness->old_count * sizeof(*all));
    for (uint32_t y = 0; y < count; y++) {
        const float *row = open_row(flooding, ROW_BEFORE, news[y]);
        raise_row(flooding, all, news[y], row);
        add_best_before(flooding, row, olds, pairs);
        close_row(flooding, ROW_BEFORE, news[y]);
    }
    for (uint32_t k = 0; k < pairs; k++) {
        uint32_t old_count = flooding->around[olds[k]].before_count;
        if (count == 0 || old_count == 0) {
            flooding->before[k] = count == old_count ? likeness->base[first + k] : 0;
            continue;
        }
        const uint32_t *before = flooding->a->before + flooding->around[olds[k]].before_at;
        float other = all[before[0]];
        for (uint32_t x = 1; x < old_count; x++)
            other += all[before[x]];
        flooding->before[k] = (other / (float)old_count + flooding->before[k] / (float)count) / 2;
    }
    for (uint32_t y = 0; y < count; y++)
        close_row(flooding, ROW_ALL_BEFORE, news[y]);
}

static struct end end_of(const struct flooding_side *side, uint32_t node)
{
    bool is_taken = side->graph->taken[node] != BAT_NONE;
    bool is_on = side->graph->on[node] != BAT_NONE;
    return (struct end){side->conditions[node], !is_taken && !is_on, !is_taken};
}

/* How what is behind two nodes counts, by the kind of the old one's end. */
struct behind {
    float straight;
    float crossed;
    float all;
    float end;  /* less if only one of them leads anywhere */
    float on;   /* where both only go on: nothing else counts */
    float base; /* where both are ends: their own likeness */
};

static struct behind behind_of(const struct end *a, const struct end *b)
{
    if (a->is_end && b->is_end)
        return (struct behind){.base = 1};
    if (a->is_jump && b->is_jump)
        return (struct behind){.on = 1};
    float end = a->is_end == b->is_end ? 1 : 0.2f;
    switch (flooding_compare(a->condition, b->condition)) {
    case CONDITION_SAME:
        return (struct behind){.straight = 1, .crossed = 0.7f, .all = 1, .end = end};
    case CONDITION_INVERSE:
        return (struct behind){.straight = 0.7f, .crossed = 1, .all = 1, .end = end};
    default:
        return (struct behind){.straight = 1, .crossed = 1, .all = 0.9f, .end = end};
    }
}

/* Add to flooding->before of each pair of a new node how alike what is behind both is, and what
 * dominates them. */
static void add_others(struct flooding *flooding, uint32_t j)
{
    const struct likeness *likeness = flooding->likeness;
    const struct flooding_side *b = flooding->b;
    const uint32_t first = likeness->first[j];
    const uint32_t count = likeness->first[j + 1] - first;
    const uint32_t nodes[] = {b->graph->taken[j], b->graph->on[j], b->dominators[j],
                              b->post_dominators[j]};
    const float *rows[4];
    for (unsigned i = 0; i < 4; i++)
        rows[i] = open_row(flooding, i, nodes[i]);
    const float *taken = rows[ROW_TAKEN];
    const float *on = rows[ROW_ON];
    const float *dominator = rows[ROW_DOMINATOR];
    const float *post_dominator = rows[ROW_POST_DOMINATOR];
    const struct behind *behind =
        flooding->behind + (size_t)flooding->ends[1].of[j] * flooding->ends[0].count;
    const struct around *all = flooding->around;
    const uint32_t *olds = likeness->old_of + first;
    const float *base = likeness->base + first;
    float *restrict value = flooding->before;
    for (uint32_t k = 0; k < count; k++) {
        const struct around *a = &all[olds[k]];
        const struct behind *by = &behind[a->kind];
        const float straight = (taken[a->taken] + on[a->on]) / 2 * by->straight;
        const float crossed = (on[a->taken] + taken[a->on]) / 2 * by->crossed;
        /* One of the three is not 0: no branch, that would be taken or not by chance. */
        const float after =
            larger(straight, crossed) * by->all * by->end + on[a->on] * by->on + base[k] * by->base;
        value[k] = SHARE_BEFORE * value[k] + SHARE_BEHIND * after +
                   SHARE_DOMINATOR * dominator[a->dominator] +
                   SHARE_POST_DOMINATOR * post_dominator[a->post_dominator];
    }
    for (unsigned i = 0; i < 4; i++)
        close_row(flooding, i, nodes[i]);
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
        BAT_FREE_ALL(best_of_old, anchors, olds);
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
    BAT_FREE_ALL(best_of_old, anchors, olds);
    return count < 3 || flooding->order;
}

/* --- Rounds --------------------------------------------------------------------------------- */

/* Large blocks are known by their content, small ones by what is around them. */
static inline float trust_around(float sizes)
{
    return 0.75f - 0.35f * smaller(1, sizes / 8);
}

/* The entry is only like the entry. */
static void set_entries(struct flooding *flooding, uint32_t j)
{
    struct likeness *likeness = flooding->likeness;
    uint32_t entry = likeness_pair(likeness, flooding->a->graph->entry, j);
    bool is_entry = j == flooding->b->graph->entry;
    for (uint32_t i = likeness->first[j]; i < likeness->first[j + 1] && is_entry; i++)
        if (i != entry)
            likeness->value[i] /= 2;
    if (entry != BAT_NONE)
        likeness->value[entry] = is_entry ? 1 : likeness->value[entry] / 2;
}

/* Set the values of the pairs of a new node. */
static void run_row(struct flooding *flooding, uint32_t j)
{
    struct likeness *likeness = flooding->likeness;
    uint32_t first = likeness->first[j];
    uint32_t count = likeness->first[j + 1] - first;
    if (next_degree(flooding->b->graph, j, false) == 1)
        compare_only_before(flooding, j);
    else
        compare_before(flooding, j);
    add_others(flooding, j);
    float *restrict value = likeness->value + first;
    const float *restrict base = likeness->base + first;
    const float *restrict around = flooding->before;
    const struct trust *restrict trust = flooding->trust + first;
    for (uint32_t k = 0; k < count; k++)
        value[k] = ((1 - trust[k].around) * base[k] + trust[k].around * around[k]) * trust[k].loops;
    set_entries(flooding, j);
    const uint32_t *restrict olds = likeness->old_of + first;
    float order = flooding->order ? flooding->order[j] : 0;
    for (uint32_t k = 0; k < count && flooding->order; k++) {
        float distance = fabsf((float)(int32_t)olds[k] - order);
        value[k] *= 1 - SHARE_ORDER + SHARE_ORDER / (1 + distance / 4);
    }
}

static void run_round(struct flooding *flooding)
{
    struct likeness *likeness = flooding->likeness;
    uint32_t olds = likeness->old_count;
    if (!likeness->is_dense)
        memcpy(flooding->now, likeness->value, likeness->pair_count * sizeof(*flooding->now));
    for (uint32_t j = 0; likeness->is_dense && j < likeness->new_count; j++)
        memcpy(flooding->now + j * flooding->columns, likeness->value + (size_t)j * olds,
               olds * sizeof(*flooding->now));
    for (uint32_t j = 0; j < likeness->new_count; j++)
        run_row(flooding, j);
    float most = 1;
    for (uint32_t i = 0; i < likeness->pair_count; i++)
        most = larger(most, likeness->value[i]);
    for (uint32_t i = 0; i < likeness->pair_count && most > 1; i++)
        likeness->value[i] /= most;
}

static uint32_t column_of(uint32_t node, uint32_t none)
{
    return node == BAT_NONE ? none : node;
}

static uint32_t find_kind(struct kinds *kinds, const struct end *end)
{
    const struct end *all = kinds->all;
    uint32_t kind = 0;
    while (kind < kinds->count &&
           (all[kind].condition != end->condition || all[kind].is_end != end->is_end ||
            all[kind].is_jump != end->is_jump))
        kind++;
    if (kind == kinds->count)
        kinds->all[kinds->count++] = *end;
    return kind;
}

static bool find_kinds(const struct flooding_side *side, struct kinds *kinds)
{
    const uint32_t count = side->graph->node_count;
    kinds->all = malloc(((size_t)count + 1) * sizeof(*kinds->all));
    kinds->of = malloc(((size_t)count + 1) * sizeof(*kinds->of));
    for (uint32_t i = 0; i < count && kinds->all && kinds->of; i++) {
        const struct end end = end_of(side, i);
        kinds->of[i] = find_kind(kinds, &end);
    }
    return kinds->all && kinds->of;
}

static bool set_behind(struct flooding *flooding)
{
    struct kinds *a = &flooding->ends[0];
    struct kinds *b = &flooding->ends[1];
    if (!find_kinds(flooding->a, a) || !find_kinds(flooding->b, b))
        return false;
    flooding->behind = malloc(((size_t)a->count * b->count + 1) * sizeof(*flooding->behind));
    for (uint32_t j = 0; j < b->count && flooding->behind; j++)
        for (uint32_t i = 0; i < a->count; i++)
            flooding->behind[(size_t)j * a->count + i] = behind_of(&a->all[i], &b->all[j]);
    return flooding->behind != NULL;
}

static void set_around(struct flooding *flooding)
{
    const struct flooding_side *a = flooding->a;
    uint32_t none = flooding->likeness->old_count;
    for (uint32_t i = 0; i < none; i++) {
        uint32_t count = next_compared_degree(a->graph, i, false);
        flooding->around[i] = (struct around){
            .taken = column_of(a->graph->taken[i], none),
            .on = column_of(a->graph->on[i], none),
            .dominator = column_of(a->dominators[i], none + 1),
            .post_dominator = column_of(a->post_dominators[i], none + 1),
            .before = count > 0 ? a->before[a->graph->into[i]] : none,
            .before_at = a->graph->into[i],
            .before_count = count,
            .kind = flooding->ends[0].of[i],
        };
    }
}

static bool set_trust(struct flooding *flooding)
{
    const struct likeness *likeness = flooding->likeness;
    size_t nodes = (size_t)likeness->old_count + likeness->new_count;
    const struct next_loops *loops[2] = {&flooding->a->loops, &flooding->b->loops};
    float *sizes = malloc((nodes + 1) * sizeof(*sizes));
    float *alike;
    bool is_fine = next_compare_loops(loops[0], loops[1], likeness, &alike) && sizes;
    for (size_t i = 0; i < nodes && is_fine; i++)
        sizes[i] = log2f(1 + (float)likeness->sizes[i]);
    for (uint32_t j = 0; j < likeness->new_count && is_fine; j++)
        for (uint32_t pair = likeness->first[j]; pair < likeness->first[j + 1]; pair++) {
            uint32_t i = likeness->old_of[pair];
            float deeper = fabsf((float)loops[0]->depths[i] - (float)loops[1]->depths[j]);
            float other = alike ? 1 - alike[next_loop_pair(loops[0], i, loops[1], j)] : 0;
            flooding->trust[pair] =
                (struct trust){trust_around(sizes[i] + sizes[likeness->old_count + j]),
                               (1 - OTHER_DEPTH * smaller(2, deeper)) * (1 - OTHER_LOOP * other)};
        }
    BAT_FREE_ALL(sizes, alike);
    return is_fine;
}

/* Set what does not change in the rows: the columns of none, and the rows of no node. */
static void set_rows(struct flooding *flooding)
{
    const struct likeness *likeness = flooding->likeness;
    const uint32_t none = likeness->old_count;
    for (unsigned i = 0; i < ROW_COUNT; i++) {
        flooding->rows[i] = flooding->rows[0] + i * flooding->columns;
        flooding->rows[i][none + 1] = UNKNOWN_DOMINATOR;
    }
    for (uint32_t j = 0; likeness->is_dense && j < likeness->new_count; j++)
        flooding->now[j * flooding->columns + none + 1] = UNKNOWN_DOMINATOR;
    flooding->rows[ROW_NONE][none] = 1;
    for (uint32_t i = 0; i < none; i++)
        flooding->rows[ROW_NO_DOMINATOR][i] = UNKNOWN_DOMINATOR;
    flooding->rows[ROW_NO_DOMINATOR][none + 1] = 1;
}

static bool begin_flooding(struct flooding *flooding)
{
    const struct likeness *likeness = flooding->likeness;
    size_t olds = (size_t)likeness->old_count + 1;
    size_t pairs = (size_t)likeness->pair_count + 1;
    flooding->columns = (size_t)likeness->old_count + COLUMNS_NONE;
    flooding->now = calloc(likeness->is_dense ? likeness->new_count * flooding->columns + 1 : pairs,
                           sizeof(*flooding->now));
    flooding->trust = malloc(pairs * sizeof(*flooding->trust));
    flooding->before = malloc(olds * sizeof(*flooding->before));
    flooding->around = malloc(olds * sizeof(*flooding->around));
    flooding->rows[0] = calloc(ROW_COUNT * flooding->columns, sizeof(float));
    if (!flooding->now || !flooding->trust || !flooding->before || !flooding->around ||
        !flooding->rows[0] || !set_behind(flooding) || !set_trust(flooding))
        return false;
    set_rows(flooding);
    set_around(flooding);
    return true;
}

/* Begin with the likeness of the code. Blocks whose branches test different values that both
 * functions test are seldom the same. */
static void begin_likeness(const uint32_t *old_tested, const uint32_t *new_tested,
                           struct likeness *likeness)
{
    for (uint32_t j = 0; j < likeness->new_count; j++)
        for (uint32_t i = likeness->first[j]; i < likeness->first[j + 1]; i++) {
            const uint32_t tested = old_tested[likeness->old_of[i]];
            const bool is_other = tested && new_tested[j] && tested != new_tested[j];
            likeness->value[i] = likeness->base[i] =
                (is_other ? OTHER_TEST : 1) * BEGIN_SHARE * likeness->content[i];
        }
}

enum bat_code flooding_run(const struct flooding_side *old_side,
                           const struct flooding_side *new_side, bool is_brief,
                           struct likeness *likeness, struct bat_error *error)
{
    struct flooding flooding = {.a = old_side, .b = new_side, .likeness = likeness};
    enum bat_code code =
        begin_flooding(&flooding) ? BAT_OK : bat_fail_memory(error, "to compare blocks");
    begin_likeness(old_side->graph->tested, new_side->graph->tested, likeness);
    for (uint32_t round = is_brief ? ROUNDS - ROUNDS_BRIEF : 0; round < ROUNDS && code == BAT_OK;
         round++) {
        if (round == 3 || round == 5)
            code = flooding_align_tables(old_side, new_side, likeness, round == 3, error);
        if ((round == 4 || round == 7 || round == 9) && !find_order(&flooding))
            code = bat_fail_memory(error, "for the order of blocks");
        if (code == BAT_OK)
            run_round(&flooding);
    }
    for (unsigned i = 0; i < 2; i++)
        BAT_FREE_ALL(flooding.ends[i].all, flooding.ends[i].of);
    BAT_FREE_ALL(flooding.now, flooding.trust, flooding.behind, flooding.before, flooding.around,
                 flooding.rows[0], flooding.order);
    return code;
}
