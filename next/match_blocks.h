/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which block of the old graph each block of the new one is. Internal to next/. */
#pragma once

#include "flooding.h"

/* For each node of the new graph. */
struct next_matched {
    uint32_t old_of;    /* the old node, or BAT_NONE */
    uint32_t begins_as; /* the old node whose beginning it has: links to it are matched by that */
    uint32_t ends_as;   /* ... and whose end: for links from it */
    uint32_t piece_of;  /* if old_of is BAT_NONE: the old node that it is a piece of, or BAT_NONE */
    uint32_t copy_of;   /* ... whose copy it is, which is old_of of another node; or BAT_NONE */
    float confidence;   /* of old_of, or of piece_of: 0 to 1 */
    float margin;       /* by how much old_of is likelier than what else the two may be */
    float content;      /* likeness of the instructions with old_of's */
    bool is_copied;     /* others have old_of's or piece_of's code, too: they share its count */
    double extra;       /* counts of other old nodes whose code it has, too */
};

struct next_match {
    struct next_matched *all;
    uint32_t count;
    struct likeness *likeness; /* NULL after next_match_again() */
};

/*
 * Match the blocks of two graphs; brief: with less work, as for functions that hardly ran. The
 * caller frees *match with next_match_free(), also after a failure. Fails with BAT_ERR_MEMORY.
 */
enum bat_code next_match_blocks(const struct flooding_side *old_side,
                                const struct flooding_side *new_side, bool is_brief,
                                struct next_match *match, struct bat_error *error);
/*
 * Match them again, where the counts that were inferred from the first match are known: what ran
 * often is not what never ran. Once. Fails with BAT_ERR_MEMORY.
 */
enum bat_code next_match_again(const struct flooding_side *old_side,
                               const struct flooding_side *new_side, const uint64_t *counts,
                               double scale, struct next_match *match, struct bat_error *error);
void next_match_free(struct next_match *match);

/* Fill begins_as, ends_as, piece_of and extra: blocks that were split. */
enum bat_code next_match_ends(const struct flooding_side *old_side,
                              const struct flooding_side *new_side, struct next_match *match,
                              struct bat_error *error);
