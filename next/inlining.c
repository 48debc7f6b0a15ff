/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Chooses what is put in place of its calls before two functions are compared: callees that one
 * build calls and the other does not, because its compiler has inlined them.
 */
#include <stdlib.h>

#include "carrying.h"
#include "signature.h"
#include "spec/array.h"

#define INSTRUCTIONS_MAX 400u        /* of a callee */
#define INSTRUCTIONS_MAX_NESTED 200u /* ... that is called from one */
#define INSTRUCTIONS_MAX_GONE 4000u  /* ... of which the other program lacks all, or a part */
#define SPLIT_SHARE_MIN 0.5f /* of a callee's rest, or of what is new in the caller, if less */
#define SPLIT_MIN 40.0f      /* ... in weight of code: less is alike by chance */
#define SPLIT 0x80u          /* of depth: a callee that is also called still */
#define GRAPH_MAX 6000u      /* blocks of a graph with what was put in place */
#define PLACED_MAX 256u  /* blocks in place of calls, and for each block of the other function: */
#define PLACED_FACTOR 8u /* it cannot have inlined more than it has */
#define CALLEE_MIN 512u  /* instructions of one callee; the same factor for more */

/* Units, each once: a list, and for each unit of the program how deep in calls it is; 0: not. */
struct unit_set {
    uint8_t *depth;
    uint32_t *all;
    uint32_t count;
};

/* Kept from one pair of functions to the next, so that each takes only the time for its own. */
struct next_inlining_sets {
    struct unit_set calls[2];   /* for both programs: what the function itself calls */
    struct unit_set inlined[2]; /* the result */
    /* For each old unit: what its partner does not have, made at the first use, as all callers
     * need it. */
    struct next_signature *rests;
    uint32_t rest_count;
};

struct choosing {
    struct next_carrying *carrying;
    struct next_inlining_sets *sets;
    struct next_program *programs[2];
    uint32_t units[2];
    uint32_t blocks[2];
    uint32_t own_blocks[2]; /* without what is put in place */
    uint32_t own_instructions[2];
    struct next_signature more; /* what the new function has that the old one does not have */
    bool has_more;
};

static bool set_open(struct unit_set *set, uint32_t count)
{
    set->depth = calloc((size_t)count + 1, 1);
    set->all = malloc(((size_t)count + 1) * sizeof(*set->all));
    return set->depth && set->all;
}

static void set_close(struct unit_set *set)
{
    BAT_FREE_ALL(set->depth, set->all);
}

static void set_add(struct unit_set *set, uint32_t unit, uint8_t depth)
{
    if (set->depth[unit])
        return;
    set->all[set->count++] = unit;
    set->depth[unit] = depth;
}

static void set_clear(struct unit_set *set)
{
    while (set->count > 0)
        set->depth[set->all[--set->count]] = 0;
}

void next_inlining_sets_free(struct next_inlining_sets *sets)
{
    if (!sets)
        return;
    for (unsigned side = 0; side < 2; side++) {
        set_close(&sets->calls[side]);
        set_close(&sets->inlined[side]);
    }
    for (uint32_t i = 0; sets->rests && i < sets->rest_count; i++)
        next_signature_free(&sets->rests[i]);
    BAT_FREE_ALL(sets->rests, sets);
}

static enum bat_code open_sets(struct next_carrying *carrying)
{
    if (carrying->inlining)
        return BAT_OK;
    struct next_inlining_sets *sets = calloc(1, sizeof(*sets));
    carrying->inlining = sets;
    if (!sets)
        return bat_fail_memory(carrying->error, "for functions");
    sets->rest_count = carrying->olds.unit_count;
    sets->rests = calloc((size_t)sets->rest_count + 1, sizeof(*sets->rests));
    if (sets->rests && set_open(&sets->calls[0], carrying->olds.unit_count) &&
        set_open(&sets->inlined[0], carrying->olds.unit_count) &&
        set_open(&sets->calls[1], carrying->news.unit_count) &&
        set_open(&sets->inlined[1], carrying->news.unit_count))
        return BAT_OK;
    return bat_fail_memory(carrying->error, "for functions");
}

static const uint32_t *partners(const struct choosing *choosing, unsigned side)
{
    const struct next_pairs *pairs = &choosing->carrying->pairs;
    return side ? pairs->old_of : pairs->new_of;
}

/* The unit that an instruction calls; BAT_NONE. */
static uint32_t called_unit(const struct next_program *program,
                            const struct next_instruction *instruction)
{
    if (instruction->callee == BAT_NONE)
        return BAT_NONE;
    uint32_t unit = program->unit_of[instruction->callee];
    return unit != BAT_NONE && program->first_part[unit] == instruction->callee ? unit : BAT_NONE;
}

/* True if the other function does not call the partner of a callee. */
static bool is_only_here(const struct choosing *choosing, unsigned side, uint32_t callee)
{
    uint32_t partner = partners(choosing, side)[callee];
    return partner == BAT_NONE || !choosing->sets->calls[!side].depth[partner];
}

static bool has_samples(const struct choosing *choosing, uint32_t old_unit)
{
    const struct next_counts *counts = choosing->carrying->measured.units[old_unit];
    return counts && counts->entry > 0;
}

/* True for a function of the new program whose own counts are known from the old one. */
static bool is_known(const struct choosing *choosing, uint32_t new_unit)
{
    uint32_t old_unit = choosing->carrying->pairs.old_of[new_unit];
    return old_unit != BAT_NONE && has_samples(choosing, old_unit);
}

/* Add what a unit calls to what its side calls, so deep in callees. */
static void add_calls(struct choosing *choosing, unsigned side, const struct next_unit *unit,
                      uint8_t depth)
{
    const struct next_program *program = choosing->programs[side];
    for (uint32_t i = 0; i < unit->instruction_count; i++) {
        uint32_t callee = called_unit(program, &unit->instructions[i]);
        if (callee != BAT_NONE && callee != choosing->units[side])
            set_add(&choosing->sets->calls[side], callee, depth);
    }
}

/* What a unit has that another one of the other program does not have. */
static enum bat_code open_rest(struct choosing *choosing, unsigned side, uint32_t unit,
                               uint32_t other, struct next_signature *rest)
{
    struct bat_error *error = choosing->carrying->error;
    struct next_signature common = {0};
    enum bat_code code = next_signature_make(choosing->programs[side], unit, rest, error);
    code = code ? code : next_signature_make(choosing->programs[!side], other, &common, error);
    if (code == BAT_OK)
        next_signature_take_out(rest, &common);
    next_signature_free(&common);
    return code;
}

/*
 * A callee of the old program of which a part is now in the function itself: it was matched by its
 * code with what else was left of it.
 */
static enum bat_code find_split(struct choosing *choosing, unsigned side, uint32_t callee,
                                bool *is_split)
{
    const struct next_pairs *pairs = &choosing->carrying->pairs;
    *is_split = false;
    if (side != 0 || pairs->how[callee] != NEXT_BY_CODE ||
        choosing->sets->calls[0].depth[callee] > 1)
        return BAT_OK;
    struct next_signature *rest = &choosing->sets->rests[callee];
    enum bat_code code = BAT_OK;
    if (!rest->tokens)
        code = open_rest(choosing, 0, callee, pairs->new_of[callee], rest);
    if (code == BAT_OK && !choosing->has_more)
        code = open_rest(choosing, 1, choosing->units[1], choosing->units[0], &choosing->more);
    choosing->has_more = true;
    float common = next_signature_common(rest, &choosing->more);
    float less = rest->weight < choosing->more.weight ? rest->weight : choosing->more.weight;
    *is_split = common > SPLIT_MIN && common > SPLIT_SHARE_MIN * less;
    return code;
}

/* True if a callee's code is small enough to be put in place of its calls. */
static bool is_small(const struct choosing *choosing, unsigned side, const struct next_unit *unit,
                     bool is_nested, bool is_much)
{
    uint32_t most = is_nested ? INSTRUCTIONS_MAX_NESTED
                    : is_much ? INSTRUCTIONS_MAX_GONE
                              : INSTRUCTIONS_MAX;
    uint32_t others = choosing->own_instructions[!side];
    if (most > CALLEE_MIN && others < (most - CALLEE_MIN) / PLACED_FACTOR)
        most = CALLEE_MIN + PLACED_FACTOR * others;
    return unit->is_read && unit->instruction_count < most &&
           choosing->blocks[side] + unit->block_count <= GRAPH_MAX;
}

/* Put a callee in place of its calls if the other function does not call it. */
static enum bat_code choose(struct choosing *choosing, unsigned side, uint32_t callee)
{
    uint8_t depth = choosing->sets->calls[side].depth[callee];
    bool is_nested = depth > 1;
    bool is_split = false;
    if (choosing->sets->inlined[side].depth[callee] ||
        (side == 1 && is_nested && is_known(choosing, callee)))
        return BAT_OK;
    enum bat_code code = BAT_OK;
    if (!is_only_here(choosing, side, callee)) {
        code = find_split(choosing, side, callee, &is_split);
        if (code != BAT_OK || !is_split)
            return code;
    }
    const struct next_unit *unit;
    code = next_unit_get(choosing->programs[side], callee, &unit, choosing->carrying->error);
    bool is_much = is_split || partners(choosing, side)[callee] == BAT_NONE;
    if (code != BAT_OK || !is_small(choosing, side, unit, is_nested, is_much))
        return code;
    if (depth < NEXT_INLINE_DEPTH)
        add_calls(choosing, side, unit, (uint8_t)(depth + 1));
    if (side == 0 && !has_samples(choosing, callee))
        return BAT_OK;
    choosing->blocks[side] += unit->block_count;
    set_add(&choosing->sets->inlined[side], callee, is_split ? (uint8_t)(depth | SPLIT) : depth);
    return BAT_OK;
}

/* Choose among all callees, or among those only that the other program does not have. */
static enum bat_code choose_all(struct choosing *choosing, unsigned side, bool is_gone)
{
    const struct unit_set *calls = &choosing->sets->calls[side];
    for (uint32_t i = 0; i < calls->count; i++)
        if (!is_gone || partners(choosing, side)[calls->all[i]] == BAT_NONE)
            BAT_TRY(choose(choosing, side, calls->all[i]));
    return BAT_OK;
}

/* What the other function turned out to call from a callee stays a call in both. */
static void drop_common(struct choosing *choosing, unsigned side)
{
    struct unit_set *inlined = &choosing->sets->inlined[side];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < inlined->count; i++) {
        uint32_t callee = inlined->all[i];
        if ((inlined->depth[callee] & SPLIT) || is_only_here(choosing, side, callee))
            inlined->all[kept++] = callee;
        else
            inlined->depth[callee] = 0;
    }
    inlined->count = kept;
}

enum bat_code next_choose_inlining(struct next_carrying *carrying, uint32_t old_unit,
                                   uint32_t new_unit, struct next_inlining inlining[2])
{
    BAT_TRY(open_sets(carrying));
    enum bat_code code = BAT_OK;
    struct choosing choosing = {.carrying = carrying,
                                .sets = carrying->inlining,
                                .programs = {&carrying->olds, &carrying->news},
                                .units = {old_unit, new_unit}};
    for (unsigned side = 0; side < 2; side++) {
        set_clear(&choosing.sets->calls[side]);
        set_clear(&choosing.sets->inlined[side]);
    }
    for (unsigned side = 0; side < 2 && code == BAT_OK; side++) {
        const struct next_unit *unit;
        BAT_TRY(
            next_unit_get(choosing.programs[side], choosing.units[side], &unit, carrying->error));
        choosing.blocks[side] = choosing.own_blocks[side] = unit->block_count;
        choosing.own_instructions[side] = unit->instruction_count;
        add_calls(&choosing, side, unit, 1);
    }
    for (unsigned step = 0; step < 4 && code == BAT_OK; step++)
        code = choose_all(&choosing, step % 2, step < 2);
    next_signature_free(&choosing.more);
    for (unsigned side = 0; side < 2; side++)
        drop_common(&choosing, side);
    for (unsigned side = 0; side < 2; side++) {
        const struct unit_set *inlined = &choosing.sets->inlined[side];
        inlining[side].units = inlined->count > 0 ? inlined->depth : NULL;
        uint32_t others = choosing.own_blocks[!side];
        inlining[side].segments_max =
            others < GRAPH_MAX ? PLACED_MAX + PLACED_FACTOR * others : PLACED_FACTOR * GRAPH_MAX;
        carrying->report->inlined_functions += inlined->count;
    }
    return code;
}
