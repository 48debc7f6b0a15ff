/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How alike the blocks of two graphs are: for each node of the new one some nodes of the old one
 * that it may be ("pairs"), with the likeness of their instructions and, after flooding
 * (flooding.h), of all that is around them. Internal to next/.
 */
#pragma once

#include "unit_graph.h"

/* Up to so many pairs, all nodes are paired with all; above that each new one with a few. */
#define LIKENESS_DENSE_MAX (UINT64_C(1) << 15)

/* What a block has in common with others, and how much it tells. */
struct likeness_feature {
    uint32_t id;
    float weight;
};

struct likeness {
    uint32_t old_count; /* nodes */
    uint32_t new_count;
    bool is_dense;
    uint32_t *first;  /* new node j's pairs are [first[j], first[j + 1]) */
    uint32_t *old_of; /* for each pair its old node; ascending for one new node */
    float *content;   /* of each pair, 0 to 1: of the instructions alone */
    float *base;      /* the same with what else is known, such as jump tables */
    float *value;     /* with all around, too */
    uint32_t pair_count;

    /* For each node, old ones first: its features, each with its weight. */
    struct likeness_feature *features; /* ascending */
    uint32_t *first_feature;
    uint32_t feature_count; /* different ones: their numbers are less */
    uint32_t *sizes;        /* instructions but no-operations */
};

/* Find the pairs and their content; brief: fewer pairs. Free it also after a failure. */
enum bat_code likeness_open(const struct next_program *old_program,
                            const struct next_graph *old_graph,
                            const struct next_program *new_program,
                            const struct next_graph *new_graph, bool is_brief,
                            struct likeness *likeness, struct bat_error *error);
void likeness_free(struct likeness *likeness);

/* The pair of two nodes, or BAT_NONE. Constant if dense, else logarithmic. */
static inline uint32_t likeness_pair(const struct likeness *likeness, uint32_t old_node,
                                     uint32_t new_node)
{
    uint32_t low = likeness->first[new_node];
    if (likeness->is_dense)
        return low + old_node;
    uint32_t high = likeness->first[new_node + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (likeness->old_of[middle] < old_node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < likeness->first[new_node + 1] && likeness->old_of[low] == old_node ? low
                                                                                    : BAT_NONE;
}

/* Likeness of the instructions of two nodes of either graph, 0 to 1; new ones have the numbers from
 * old_count on. */
float likeness_of_content(const struct likeness *likeness, uint32_t one, uint32_t other);

/* fmaxf() and fminf() are calls, for what they do with numbers that are none. */
static inline float larger(float a, float b)
{
    return a > b ? a : b;
}

static inline float smaller(float a, float b)
{
    return a < b ? a : b;
}
