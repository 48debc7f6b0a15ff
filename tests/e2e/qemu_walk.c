/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The walk of qemu_trace.py's Paths along the edges that it knows. In Python this was most of what
 * a recording takes.
 *
 * An edge leads from a node to the next one when a block is entered. Edges have numbers, from 0, in
 * the order in which they were added.
 */
#include <stdint.h>
#include <stdlib.h>

struct slot {
    uint32_t node, block; /* of the edge */
    uint32_t edge;        /* its number + 1; 0: this slot is empty */
};

struct walk {
    struct slot *slots; /* a hash table of twice as many slots as there are edges, and more */
    uint64_t *counts;   /* how often each edge was taken */
    uint32_t *nexts;    /* the node that each edge leads to */
    uint32_t slot_count;
    uint32_t edge_count;
    uint32_t node; /* where the walk is */
};

/* The slot of an edge, or the empty one where it belongs. */
static struct slot *find(const struct walk *walk, uint32_t node, uint32_t block)
{
    uint64_t hash = ((uint64_t)node << 32 | block) * 0x9e3779b97f4a7c15u;
    for (uint32_t i = (uint32_t)(hash >> 32);; i++) {
        struct slot *slot = &walk->slots[i & (walk->slot_count - 1)];
        if (slot->edge == 0 || (slot->node == node && slot->block == block))
            return slot;
    }
}

static void *grown(void *array, size_t count, size_t size)
{
    void *larger = reallocarray(array, count, size);
    if (!larger)
        abort();
    return larger;
}

static void grow(struct walk *walk)
{
    struct slot *old = walk->slots;
    uint32_t old_count = walk->slot_count;
    walk->slot_count = old_count ? old_count * 2 : 1024;
    walk->slots = calloc(walk->slot_count, sizeof(*walk->slots));
    if (!walk->slots)
        abort();
    for (uint32_t i = 0; i < old_count; i++)
        if (old[i].edge != 0)
            *find(walk, old[i].node, old[i].block) = old[i];
    free(old);
    walk->counts = grown(walk->counts, walk->slot_count / 2, sizeof(*walk->counts));
    walk->nexts = grown(walk->nexts, walk->slot_count / 2, sizeof(*walk->nexts));
}

/* At node 0, without an edge. */
struct walk *walk_new(void)
{
    struct walk *walk = grown(NULL, 1, sizeof(*walk));
    *walk = (struct walk){0};
    grow(walk);
    return walk;
}

void walk_free(struct walk *walk)
{
    free(walk->slots);
    free(walk->counts);
    free(walk->nexts);
    free(walk);
}

uint32_t walk_node(const struct walk *walk)
{
    return walk->node;
}

const uint64_t *walk_counts(const struct walk *walk)
{
    return walk->counts;
}

/* A new edge from the node where the walk is. */
void walk_add(struct walk *walk, uint32_t block, uint32_t next)
{
    if (walk->edge_count == walk->slot_count / 2)
        grow(walk);
    struct slot *slot = find(walk, walk->node, block);
    walk->counts[walk->edge_count] = 0;
    walk->nexts[walk->edge_count] = next;
    *slot = (struct slot){walk->node, block, ++walk->edge_count};
}

/* Enter blocks; returns how many were entered before one to which no edge leads. */
size_t walk_along(struct walk *walk, const uint32_t *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t edge = find(walk, walk->node, blocks[i])->edge;
        if (edge == 0)
            return i;
        walk->counts[edge - 1]++;
        walk->node = walk->nexts[edge - 1];
    }
    return count;
}
