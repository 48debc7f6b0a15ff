/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which function of the old program each function of the new one is. Internal to next/. */
#pragma once

#include "measured.h"

enum next_how {
    NEXT_GONE,          /* no match */
    NEXT_BY_NAME,       /* the same symbol */
    NEXT_BY_PLAIN_NAME, /* but for what compilers append, or parameters */
    NEXT_BY_CODE,
};

struct next_pairs {
    uint32_t *new_of; /* for each old unit; BAT_NONE */
    uint32_t *old_of; /* for each new unit; BAT_NONE */
    uint8_t *how;     /* for each old unit: enum next_how */
    float *likeness;  /* for each old unit that was matched by code; later for all with samples */
};

/*
 * Pair the units of two programs, and give new functions the names of old ones where these differ
 * (name_of; code that was read with other names is forgotten). Several functions of one name are
 * told apart by their code; old ones with samples and without a namesake are looked for by code.
 * The caller frees *pairs with next_pairs_free(), also after a failure. n log n in the functions;
 * for those by code linear in their sizes and in the candidates, a few for each.
 */
enum bat_code next_match_functions(const struct next_measured *measured,
                                   struct next_program *new_program, struct next_pairs *pairs,
                                   struct bat_error *error);
void next_pairs_free(struct next_pairs *pairs);

/* An old unit, and one of several new ones that have its names. */
struct next_member {
    uint32_t old_unit;
    uint32_t new_unit;
    double found; /* calls of the new one that are known: next_unfold() */
    double share; /* ... of those of all members */
    double end;   /* of its part of the old counts, which start at 0 and end at 1 */
};

/* Set, for each old unit of which places is BAT_NONE, the new one that has its name, if one alone
 * does. If other names of it have other places, these and the first one are appended to *members,
 * which the caller frees. n log n in the symbols. */
enum bat_code next_find_places(struct next_program *old_program, struct next_program *new_program,
                               uint32_t *places, struct next_member **members, size_t *member_count,
                               struct bat_error *error);

/* Pair functions by their code alone: for next_match_functions(). */
enum bat_code next_match_by_code(const struct next_measured *measured,
                                 struct next_program *new_program, struct next_pairs *pairs,
                                 struct bat_error *error);

/* Pair two units. */
static inline void next_pair(struct next_pairs *pairs, uint32_t old_unit, uint32_t new_unit,
                             enum next_how how)
{
    pairs->new_of[old_unit] = new_unit;
    pairs->old_of[new_unit] = old_unit;
    pairs->how[old_unit] = (uint8_t)how;
}
