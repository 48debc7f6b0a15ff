/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Chooses what is put in place of its calls before two functions are compared: callees that one
 * build calls and the other does not, because its compiler has inlined them.
 */
#include <stdlib.h>

#include "carrying.h"

#define INSTRUCTIONS_MAX 400u        /* of a callee */
#define INSTRUCTIONS_MAX_NESTED 200u /* ... that is called from one */
#define INSTRUCTIONS_MAX_GONE 4000u  /* ... that the other program does not have at all */
#define NESTED_PASSES 2u
#define GRAPH_MAX 6000u /* blocks of a graph with what was put in place */

/* Units, each once: a list, and a byte for each unit of the program. */
struct unit_set {
    uint8_t *is_in;
    uint32_t *all;
    uint32_t count;
};

/* Kept from one pair of functions to the next, so that each takes only the time for its own. */
struct next_inlining_sets {
    struct unit_set calls[2];   /* for both programs: what the function itself calls */
    struct unit_set inlined[2]; /* the result */
};

struct choosing {
    struct next_carrying *carrying;
    struct next_inlining_sets *sets;
    struct next_program *programs[2];
    uint32_t units[2];
    uint32_t blocks[2];
};

static bool set_open(struct unit_set *set, uint32_t count)
{
    set->is_in = calloc((size_t)count + 1, 1);
    set->all = malloc(((size_t)count + 1) * sizeof(*set->all));
    return set->is_in && set->all;
}

static void set_close(struct unit_set *set)
{
    free(set->is_in);
    free(set->all);
}

static void set_add(struct unit_set *set, uint32_t unit)
{
    if (!set->is_in[unit])
        set->all[set->count++] = unit;
    set->is_in[unit] = 1;
}

static void set_clear(struct unit_set *set)
{
    while (set->count > 0)
        set->is_in[set->all[--set->count]] = 0;
}

void next_inlining_sets_free(struct next_inlining_sets *sets)
{
    for (unsigned side = 0; sets && side < 2; side++) {
        set_close(&sets->calls[side]);
        set_close(&sets->inlined[side]);
    }
    free(sets);
}

static enum bat_code open_sets(struct next_carrying *carrying)
{
    if (carrying->inlining)
        return BAT_OK;
    struct next_inlining_sets *sets = calloc(1, sizeof(*sets));
    carrying->inlining = sets;
    if (sets && set_open(&sets->calls[0], carrying->olds.unit_count) &&
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

static enum bat_code mark_calls(struct choosing *choosing, unsigned side)
{
    const struct next_unit *unit;
    enum bat_code code = next_unit_get(choosing->programs[side], choosing->units[side], &unit,
                                       choosing->carrying->error);
    for (uint32_t i = 0; code == BAT_OK && i < unit->instruction_count; i++) {
        uint32_t callee = called_unit(choosing->programs[side], &unit->instructions[i]);
        if (callee != BAT_NONE && callee != choosing->units[side])
            set_add(&choosing->sets->calls[side], callee);
    }
    if (code == BAT_OK)
        choosing->blocks[side] += unit->block_count;
    return code;
}

/* True if the other function does not call the partner of a callee. */
static bool is_only_here(const struct choosing *choosing, unsigned side, uint32_t callee)
{
    uint32_t partner = partners(choosing, side)[callee];
    return partner == BAT_NONE || !choosing->sets->calls[!side].is_in[partner];
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

static enum bat_code choose(struct choosing *choosing, unsigned side, uint32_t callee,
                            bool is_nested)
{
    if (choosing->sets->inlined[side].is_in[callee] || callee == choosing->units[side] ||
        !is_only_here(choosing, side, callee) || (side == 0 && !has_samples(choosing, callee)) ||
        (side == 1 && is_nested && is_known(choosing, callee)))
        return BAT_OK;
    const struct next_unit *unit;
    enum bat_code code =
        next_unit_get(choosing->programs[side], callee, &unit, choosing->carrying->error);
    bool is_gone = partners(choosing, side)[callee] == BAT_NONE;
    uint32_t most = is_nested ? INSTRUCTIONS_MAX_NESTED
                    : is_gone ? INSTRUCTIONS_MAX_GONE
                              : INSTRUCTIONS_MAX;
    if (code != BAT_OK || !unit->is_read || unit->instruction_count >= most ||
        choosing->blocks[side] + unit->block_count > GRAPH_MAX)
        return code;
    choosing->blocks[side] += unit->block_count;
    set_add(&choosing->sets->inlined[side], callee);
    return BAT_OK;
}

static enum bat_code choose_all(struct choosing *choosing, unsigned side)
{
    const struct next_program *program = choosing->programs[side];
    const struct unit_set *calls = &choosing->sets->calls[side];
    const struct unit_set *inlined = &choosing->sets->inlined[side];
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < calls->count && code == BAT_OK; i++)
        code = choose(choosing, side, calls->all[i], false);
    uint32_t first = 0;
    for (unsigned pass = 0; pass < NESTED_PASSES; pass++) {
        uint32_t end = inlined->count;
        for (; first < end && code == BAT_OK; first++) {
            const struct next_unit *unit = program->units[inlined->all[first]];
            for (uint32_t k = 0; k < unit->instruction_count && code == BAT_OK; k++) {
                uint32_t callee = called_unit(program, &unit->instructions[k]);
                if (callee != BAT_NONE)
                    code = choose(choosing, side, callee, true);
            }
        }
    }
    return code;
}

enum bat_code next_choose_inlining(struct next_carrying *carrying, uint32_t old_unit,
                                   uint32_t new_unit, struct next_inlining inlining[2])
{
    enum bat_code code = open_sets(carrying);
    if (code != BAT_OK)
        return code;
    struct choosing choosing = {.carrying = carrying,
                                .sets = carrying->inlining,
                                .programs = {&carrying->olds, &carrying->news},
                                .units = {old_unit, new_unit}};
    for (unsigned side = 0; side < 2; side++) {
        set_clear(&choosing.sets->calls[side]);
        set_clear(&choosing.sets->inlined[side]);
    }
    for (unsigned side = 0; side < 2 && code == BAT_OK; side++)
        code = mark_calls(&choosing, side);
    for (unsigned side = 0; side < 2 && code == BAT_OK; side++) {
        const struct unit_set *inlined = &choosing.sets->inlined[side];
        code = choose_all(&choosing, side);
        inlining[side].units = inlined->count > 0 ? inlined->is_in : NULL;
        carrying->report->inlined_functions += inlined->count;
    }
    return code;
}
