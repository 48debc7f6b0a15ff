/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A sample profile: one tree for each function that has code, with the calls inlined into it as
 * descendants. The tables are flat; they are sorted when the profile is written.
 */
#pragma once

#include "bat.h"
#include "bat_output.h"
#include "support/counts.h"
#include "support/string_table.h"

/* A line, as an offset from its function's first line, and a discriminator. */
static inline uint64_t forest_place(uint32_t line_offset, uint32_t discriminator)
{
    return (uint64_t)line_offset << 32 | discriminator;
}

struct forest_node {
    uint32_t name;
    uint32_t parent; /* less than its own number; BAT_NONE: a root */
    uint64_t total;  /* samples in it and below it */
    union {
        uint64_t head;  /* of a root: calls of it */
        uint64_t place; /* of another node: in its parent */
    };
};

/* A place's count. Of several for one place the largest counts, or their sum: see adds_up. */
struct forest_body {
    uint64_t place;
    uint64_t count;
    uint32_t node;
};

/* What a node is as a context (pseudo-probes.md 6). */
struct forest_context {
    uint64_t head;
    bool was_inlined; /* its code was inlined into its parent's */
};

/* As many arrays hold all counts that there can be. */
#define FOREST_BODIES 24u

/* Counts in the array of this number, if it is full. */
static inline size_t forest_bodies_in(unsigned array)
{
    return (size_t)256 << array;
}

struct forest {
    struct bat_strings names;
    struct forest_node *nodes;
    uint32_t node_count;
    size_t node_capacity;
    /* In the order of their addition: each array is twice as long as the one before. */
    struct forest_body *bodies[FOREST_BODIES];
    unsigned body_arrays;
    size_t body_room; /* in the last one */
    size_t body_count;
    /* The words of each table's key and, behind the colon, its two values. */
    struct bat_counts by_place; /* parent node + 1 (0: root), place, name: node, 0 */
    struct bat_counts targets;  /* node, place, name: count, 0 */
    /* By probes: the counts of a place's copies add up, and each node ends with its checksum. */
    bool adds_up;
    uint64_t *checksums; /* of each name; NULL: none are written */
    /* Of each node. Then every node with counts is written by itself, with the path that leads to
     * it. NULL: trees are written. */
    struct forest_context *contexts;
    size_t context_capacity;
};

struct forest forest_new(void);
void forest_free(struct forest *forest);

/*
 * Find, or else add, the root of a function's tree, or the node of a call that was inlined into
 * node parent at place. Fails with BAT_ERR_MEMORY.
 */
enum bat_code forest_root(struct forest *forest, uint32_t name, uint32_t *node);
enum bat_code forest_child(struct forest *forest, uint32_t parent, uint64_t place, uint32_t name,
                           uint32_t *node);

/* Add the totals of all nodes to those of the nodes around them, which had only samples of their
 * own. */
void forest_add_up(struct forest *forest);

/* Make room for so many nodes altogether: they need not be moved then. */
enum bat_code forest_reserve(struct forest *forest, size_t nodes);

/* Raise the count of a place, which is the largest count of its instructions; or add to it. */
enum bat_code forest_raise(struct forest *forest, uint32_t node, uint64_t place, uint64_t count);

/*
 * Give the places of a node, which ascend, the count 0. *first is set to the number of the first of
 * these counts.
 */
enum bat_code forest_begin(struct forest *forest, uint32_t node, const uint64_t *places,
                           size_t count, size_t *first);

/* Add to one of them, by its number, and to the total of its node. */
void forest_add_to(struct forest *forest, uint32_t node, size_t number, uint64_t count);

/* Count calls from a place to the function of that name. The place's count may stay 0. */
enum bat_code forest_call(struct forest *forest, uint32_t node, uint64_t place, uint32_t name,
                          uint64_t count);

/* a + b, at most 2^64 - 1. */
static inline uint64_t forest_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/*
 * Write the forest in LLVM's text format: trees by descending totals, then by name; by at most so
 * many threads, 0: one for each processor. Sorts the tables: afterwards the forest can only be
 * freed. *roots is set to the number of trees.
 */
enum bat_code forest_write(struct forest *forest, unsigned threads, struct bat_output *output,
                           uint64_t *roots, struct bat_error *error);
