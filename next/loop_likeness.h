/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which loops of two graphs are the same. Internal to next/. */
#pragma once

#include "likeness.h"
#include "loops.h"

/* Of a loop of the new graph: the old one, if each is more like the other than all else is. */
struct next_loop_partner {
    uint32_t loop; /* or BAT_NONE */
    float alike;   /* 0 to 1 */
};

/*
 * How alike the loops of two graphs are by all that is in them: for each old one, and then for what
 * is in no loop (all of the graph), a row of the new ones. 1 for two that nothing else is more
 * like; NULL if there are too many, and so is *partners. The caller frees both. False without
 * memory.
 */
bool next_compare_loops(const struct next_loops *olds, const struct next_loops *news,
                        const struct likeness *likeness, float **alike,
                        struct next_loop_partner **partners);

/* Where the innermost loops around two nodes are in that. */
static inline size_t next_loop_pair(const struct next_loops *olds, uint32_t old_node,
                                    const struct next_loops *news, uint32_t new_node)
{
    uint32_t row = olds->inner[old_node] == BAT_NONE ? olds->count : olds->inner[old_node];
    uint32_t column = news->inner[new_node] == BAT_NONE ? news->count : news->inner[new_node];
    return (size_t)row * (news->count + 1) + column;
}
