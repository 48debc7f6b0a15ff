/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What two ways have in common is a longest common subsequence: pairs of blocks, each on both ways
 * and in the same order, with the largest sum of what they are worth. It is found for all pairs in
 * one walk through the new graph's tree of dominators: of what a pair on the way to a new node is
 * worth to those below its old node, a segment tree over the old graph's tree keeps the largest.
 */
#include "ways.h"

#include <stdlib.h>
#include <string.h>

#include "spec/array.h"
#include "support/key_sort.h"

#define ALIKE_MIN 0.6f    /* less common code tells nothing */
#define RIVAL_SHARE 0.95f /* of a pair's likeness: code that is about as alike */
#define MISSED 0.05f      /* less for each block of one way that the other one has not */
#define OTHER_WAY 0.2f    /* less for a way that has nothing in common */

/* A tree of dominators. */
struct tree {
    uint32_t count;
    uint32_t *nodes;  /* in preorder */
    uint32_t *number; /* of each node: where it is in that */
    uint32_t *end;    /* ... and where its subtree ends */
    uint32_t *depth;
};

/* The largest value of each old node, as one of the ranges that it is in. */
struct largest {
    float *all; /* range i's halves are 2 i and 2 i + 1; nodes are the last ones */
    uint32_t leaves;
    struct change *changes; /* on the way to the new node */
    size_t change_count;
    size_t change_capacity;
};

struct change {
    uint32_t range;
    float before;
};

struct ways {
    const struct likeness *likeness;
    struct tree trees[2]; /* old, new */
    struct largest largest;
    size_t *marks; /* for each depth: the changes before */
    float *way;    /* for each pair: what its ways have in common */
};

static void free_tree(struct tree *tree)
{
    BAT_FREE_ALL(tree->nodes, tree->number, tree->end, tree->depth);
}

static void add_to_tree(struct tree *tree, uint32_t node, uint32_t depth, uint32_t number)
{
    tree->depth[node] = depth;
    tree->number[node] = number;
    tree->nodes[number] = node;
}

/* Walk through a tree from what nothing dominates; children and siblings are lists. */
static void walk_tree(struct tree *tree, uint32_t *child, const uint32_t *sibling, uint32_t *stack)
{
    uint32_t depth = 0;
    uint32_t number = 0;
    for (uint32_t root = child[tree->count]; root != BAT_NONE; root = sibling[root]) {
        add_to_tree(tree, root, depth, number++);
        stack[depth++] = root;
        while (depth > 0) {
            const uint32_t node = stack[depth - 1];
            const uint32_t next = child[node];
            if (next == BAT_NONE) {
                tree->end[node] = number;
                depth--;
                continue;
            }
            child[node] = sibling[next];
            add_to_tree(tree, next, depth, number++);
            stack[depth++] = next;
        }
    }
}

static bool make_tree(const uint32_t *dominators, uint32_t count, struct tree *tree)
{
    const size_t size = ((size_t)count + 1) * sizeof(uint32_t);
    uint32_t *child = malloc(size);
    uint32_t *sibling = malloc(size);
    uint32_t *stack = malloc(size);
    *tree = (struct tree){count, malloc(size), malloc(size), malloc(size), malloc(size)};
    const bool is_fine =
        child && sibling && stack && tree->nodes && tree->number && tree->end && tree->depth;
    for (uint32_t i = 0; i <= count && is_fine; i++)
        child[i] = BAT_NONE;
    for (uint32_t i = count; i-- > 0 && is_fine;) {
        const uint32_t above = dominators[i] == BAT_NONE ? count : dominators[i];
        sibling[i] = child[above];
        child[above] = i;
    }
    if (is_fine)
        walk_tree(tree, child, sibling, stack);
    BAT_FREE_ALL(child, sibling, stack);
    return is_fine;
}

/* Let a range have at least a value. False without memory. */
static bool raise_range(struct largest *largest, uint32_t range, float value)
{
    float *now = &largest->all[range];
    if (*now >= value)
        return true;
    const struct change change = {range, *now};
    *now = value;
    return BAT_APPEND(largest->changes, largest->change_count, largest->change_capacity, change);
}

/* The same for the nodes from one number to another. */
static bool raise_nodes(struct largest *largest, uint32_t first, uint32_t end, float value)
{
    bool is_fine = true;
    first += largest->leaves;
    end += largest->leaves;
    for (; first < end && is_fine; first /= 2, end /= 2) {
        if (first % 2)
            is_fine = raise_range(largest, first++, value);
        if (end % 2 && is_fine)
            is_fine = raise_range(largest, --end, value);
    }
    return is_fine;
}

static float look_up(const struct largest *largest, uint32_t number)
{
    float value = 0;
    for (uint32_t range = number + largest->leaves; range > 0; range /= 2)
        value = largest->all[range] > value ? largest->all[range] : value;
    return value;
}

static void undo_changes(struct largest *largest, size_t count)
{
    while (largest->change_count > count) {
        const struct change *change = &largest->changes[--largest->change_count];
        largest->all[change->range] = change->before;
    }
}

/* What a pair is worth by itself: sure ones much more than unsure ones. */
static float worth(const struct likeness *likeness, uint32_t pair)
{
    return likeness->value[pair] * likeness->value[pair];
}

/* Set the ways of a new node's pairs, and let the nodes below have them. */
static bool compare_node(struct ways *ways, uint32_t j)
{
    const struct likeness *likeness = ways->likeness;
    const struct tree *olds = &ways->trees[0];
    const float depth = (float)ways->trees[1].depth[j];
    bool is_fine = true;
    for (uint32_t pair = likeness->first[j]; pair < likeness->first[j + 1]; pair++) {
        const uint32_t i = likeness->old_of[pair];
        const float above =
            look_up(&ways->largest, olds->number[i]) - MISSED * (depth + (float)olds->depth[i]);
        ways->way[pair] = worth(likeness, pair) + (above > 0 ? above : 0);
    }
    for (uint32_t pair = likeness->first[j]; pair < likeness->first[j + 1] && is_fine; pair++) {
        const uint32_t i = likeness->old_of[pair];
        is_fine = raise_nodes(&ways->largest, olds->number[i] + 1, olds->end[i],
                              ways->way[pair] + MISSED * (depth + (float)olds->depth[i] + 2));
    }
    return is_fine;
}

static bool compare_all(struct ways *ways)
{
    const struct tree *news = &ways->trees[1];
    uint32_t depth = 0;
    bool is_fine = true;
    for (uint32_t i = 0; i < news->count && is_fine; i++) {
        const uint32_t j = news->nodes[i];
        if (news->depth[j] < depth)
            undo_changes(&ways->largest, ways->marks[news->depth[j]]);
        depth = news->depth[j];
        ways->marks[depth++] = ways->largest.change_count;
        is_fine = compare_node(ways, j);
    }
    return is_fine;
}

/* Set what the ways to both nodes of each pair have in common. False without memory. */
static bool find_ways(const struct likeness *likeness, const uint32_t *olds, const uint32_t *news,
                      float *way)
{
    uint32_t leaves = 2;
    while (leaves < likeness->old_count + 1)
        leaves *= 2;
    struct ways ways = {
        .likeness = likeness,
        .largest = {.all = calloc(2 * (size_t)leaves, sizeof(float)), .leaves = leaves},
        .marks = malloc(((size_t)likeness->new_count + 1) * sizeof(*ways.marks)),
        .way = way};
    const bool is_fine = make_tree(olds, likeness->old_count, &ways.trees[0]) &&
                         make_tree(news, likeness->new_count, &ways.trees[1]) && ways.marks &&
                         ways.largest.all && compare_all(&ways);
    free_tree(&ways.trees[0]);
    free_tree(&ways.trees[1]);
    BAT_FREE_ALL(ways.marks, ways.largest.all, ways.largest.changes);
    return is_fine;
}

/* The pair, and its new node, that a key is of. */
static uint32_t pair_of(const struct bat_sort_key *key)
{
    return (uint32_t)key->value;
}

static uint32_t new_node_of(const struct bat_sort_key *key)
{
    return (uint32_t)(key->value >> 32);
}

/* The pairs with enough common code, the least first. keys has room for twice as many. */
static struct bat_sort_key *sort_by_content(const struct likeness *likeness,
                                            struct bat_sort_key *keys, uint32_t *count)
{
    *count = 0;
    for (uint32_t j = 0; j < likeness->new_count; j++)
        for (uint32_t pair = likeness->first[j]; pair < likeness->first[j + 1]; pair++)
            if (likeness->content[pair] >= ALIKE_MIN) {
                uint32_t key;
                memcpy(&key, &likeness->content[pair], sizeof(key));
                keys[(*count)++] = (struct bat_sort_key){key, (uint64_t)j << 32 | pair};
            }
    return bat_sort_keys(keys, keys + *count, *count);
}

/* Lower pairs, of count that are sorted, whose nodes both have a rival with a better way. False
 * without memory. */
static bool compare_rivals(struct likeness *likeness, const struct bat_sort_key *sorted,
                           uint32_t count, const float *way)
{
    float *olds = calloc((size_t)likeness->old_count + 1, sizeof(*olds)); /* the best way of each */
    float *news = calloc((size_t)likeness->new_count + 1, sizeof(*news));
    const bool is_fine = olds && news;
    for (uint32_t i = is_fine ? count : 0, at = i; i-- > 0;) {
        const uint32_t pair = pair_of(&sorted[i]);
        const float enough = RIVAL_SHARE * likeness->content[pair];
        for (; at > 0 && likeness->content[pair_of(&sorted[at - 1])] >= enough; at--) {
            const uint32_t other = pair_of(&sorted[at - 1]);
            float *best_old = &olds[likeness->old_of[other]];
            float *best_new = &news[new_node_of(&sorted[at - 1])];
            *best_old = larger(*best_old, way[other]);
            *best_new = larger(*best_new, way[other]);
        }
        const float best = smaller(olds[likeness->old_of[pair]], news[new_node_of(&sorted[i])]);
        if (best > 0)
            likeness->value[pair] *= 1 - OTHER_WAY + OTHER_WAY * way[pair] / best;
    }
    BAT_FREE_ALL(olds, news);
    return is_fine;
}

enum bat_code next_compare_ways(const struct flooding_side *old_side,
                                const struct flooding_side *new_side, struct likeness *likeness,
                                struct bat_error *error)
{
    const size_t size = ((size_t)likeness->pair_count + 1) * sizeof(float);
    float *there = malloc(size);
    float *back = malloc(size);
    struct bat_sort_key *keys = malloc((2 * (size_t)likeness->pair_count + 1) * sizeof(*keys));
    uint32_t count = 0;
    const struct bat_sort_key *sorted = keys ? sort_by_content(likeness, keys, &count) : NULL;
    const bool is_fine =
        there && back && keys &&
        find_ways(likeness, old_side->dominators, new_side->dominators, there) &&
        find_ways(likeness, old_side->post_dominators, new_side->post_dominators, back) &&
        compare_rivals(likeness, sorted, count, there) &&
        compare_rivals(likeness, sorted, count, back);
    BAT_FREE_ALL(there, back, keys);
    return is_fine ? BAT_OK : bat_fail_memory(error, "to compare blocks");
}
