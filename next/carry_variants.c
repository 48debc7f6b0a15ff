/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Variants: functions that only the new program has, and that it may call in place of one that the
 * old program has, too, and whose code they nearly have. Branches or a jump by a table choose.
 */
#include <stdlib.h>

#include "carrying.h"
#include "signature.h"
#include "spec/array.h"

#define LIKENESS_VARIANT 0.6f
#define SIZES_FACTOR 2u /* functions that are so alike have at most so many times the code */
#define CHOICES_MAX 48u /* of one place */
#define TESTS_MAX 16u   /* blocks that test one after the other */
#define PLACES_MAX 4u   /* where a new function is compared */

struct finding {
    struct next_carrying *carrying;
    uint8_t *places; /* for each new unit: in how many it was compared, or PLACES_MAX: no more */
    struct next_unit_pair *pairs;
    uint32_t count;
    /* What is chosen from at one place: units that are called first, and blocks that call none. */
    uint32_t choices[CHOICES_MAX];
    uint32_t choice_count;
    uint32_t tests[TESTS_MAX];
    uint32_t test_count;
};

/* The unit whose beginning a block calls first; BAT_NONE. *calls: it calls something. */
static uint32_t first_called(const struct next_program *program, const struct next_unit *unit,
                             uint32_t block, bool *calls)
{
    const struct next_block *at = &unit->blocks[block];
    const struct next_instruction *code = unit->instructions + at->first_instruction;
    uint32_t i = 0;
    while (i < at->instruction_count && !(code[i].flags & NEXT_IS_CALL) &&
           code[i].callee == BAT_NONE)
        i++;
    *calls = i < at->instruction_count;
    if (!*calls || code[i].callee == BAT_NONE)
        return BAT_NONE;
    uint32_t called = program->unit_of[code[i].callee];
    return called != BAT_NONE && program->first_part[called] == code[i].callee ? called : BAT_NONE;
}

/* True for a new unit that may be a variant. */
static bool is_candidate(const struct finding *finding, uint32_t unit)
{
    const struct next_carrying *carrying = finding->carrying;
    return unit != BAT_NONE && finding->places[unit] < PLACES_MAX && !carrying->counts[unit] &&
           carrying->pairs.old_of[unit] == BAT_NONE;
}

/* Collect what a block chooses from, also by the blocks behind it that call nothing. */
static void find_choices(struct finding *finding, const struct next_unit *unit, uint32_t block)
{
    finding->choice_count = 0;
    finding->tests[0] = block;
    finding->test_count = 1;
    for (uint32_t t = 0; t < finding->test_count; t++) {
        const struct next_block *at = &unit->blocks[finding->tests[t]];
        for (uint32_t i = 0; i < at->edge_count && finding->choice_count < CHOICES_MAX; i++) {
            uint32_t to = unit->edges[at->first_edge + i].to;
            bool calls;
            uint32_t called = first_called(&finding->carrying->news, unit, to, &calls);
            if (called != BAT_NONE)
                finding->choices[finding->choice_count++] = called;
            else if (!calls && to > block && finding->test_count < TESTS_MAX)
                finding->tests[finding->test_count++] = to;
        }
    }
}

/* The old unit that a called one is in the new program, if it ran; BAT_NONE. */
static uint32_t find_original(const struct next_carrying *carrying, uint32_t called)
{
    uint32_t old_unit = carrying->pairs.old_of[called];
    return old_unit != BAT_NONE && carrying->measured.units[old_unit] &&
                   carrying->measured.units[old_unit]->entry > 0
               ? old_unit
               : BAT_NONE;
}

static bool are_as_large(const struct next_unit *a, const struct next_unit *b)
{
    return a->is_read && a->instruction_count <= SIZES_FACTOR * b->instruction_count &&
           b->instruction_count <= SIZES_FACTOR * a->instruction_count;
}

/* Of what is chosen from, find the old unit that a new one is a variant of; BAT_NONE. */
static enum bat_code compare(const struct finding *finding, uint32_t new_unit, uint32_t *found)
{
    struct next_carrying *carrying = finding->carrying;
    struct next_signature code_of = {0};
    const struct next_unit *variant;
    float best = LIKENESS_VARIANT;
    *found = BAT_NONE;
    enum bat_code code = next_unit_get(&carrying->news, new_unit, &variant, carrying->error);
    for (uint32_t i = 0; i < finding->choice_count && code == BAT_OK; i++) {
        uint32_t old_unit = find_original(carrying, finding->choices[i]);
        const struct next_unit *original;
        if (old_unit == BAT_NONE)
            continue;
        code = next_unit_get(&carrying->olds, old_unit, &original, carrying->error);
        if (code != BAT_OK || !are_as_large(original, variant))
            continue;
        if (!code_of.tokens)
            code = next_signature_make(&carrying->news, new_unit, &code_of, carrying->error);
        if (code != BAT_OK)
            break;
        struct next_signature old;
        code = next_signature_make(&carrying->olds, old_unit, &old, carrying->error);
        float likeness = code == BAT_OK ? next_signature_compare(&old, &code_of) : 0;
        next_signature_free(&old);
        if (likeness <= best)
            continue;
        best = likeness;
        *found = old_unit;
    }
    next_signature_free(&code_of);
    return code;
}

/* Find the variants among what a block chooses from. They and the original share evenly. */
static enum bat_code find_at(struct finding *finding)
{
    uint32_t first = finding->count;
    for (uint32_t i = 0; i < finding->choice_count; i++) {
        uint32_t new_unit = finding->choices[i];
        uint32_t old_unit;
        if (!is_candidate(finding, new_unit))
            continue;
        finding->places[new_unit]++;
        BAT_TRY(compare(finding, new_unit, &old_unit));
        if (old_unit == BAT_NONE)
            continue;
        finding->places[new_unit] = PLACES_MAX;
        finding->pairs[finding->count++] =
            (struct next_unit_pair){.old_unit = old_unit, .new_unit = new_unit};
    }
    for (uint32_t i = first; i < finding->count; i++) {
        struct next_unit_pair *pair = &finding->pairs[i];
        uint32_t sharers = 1;
        for (uint32_t k = first; k < finding->count; k++)
            sharers += finding->pairs[k].old_unit == pair->old_unit;
        pair->scale = 1.0 / sharers;
        pair->entries =
            pair->scale * (double)finding->carrying->measured.units[pair->old_unit]->entry;
    }
    return BAT_OK;
}

/* Find the variants that a unit with counts calls. */
static enum bat_code find_in(struct finding *finding, uint32_t new_unit)
{
    const struct next_program *program = &finding->carrying->news;
    const struct next_unit *unit = program->units[new_unit];
    const uint64_t *counts = finding->carrying->counts[new_unit]->blocks;
    bool is_any = false;
    bool calls;
    for (uint32_t b = 0; b < unit->block_count && !is_any; b++)
        is_any = unit->blocks[b].has_callees &&
                 is_candidate(finding, first_called(program, unit, b, &calls));
    for (uint32_t b = 0; b < unit->block_count && is_any; b++) {
        if (counts[b] == 0 || unit->blocks[b].edge_count < 2)
            continue;
        find_choices(finding, unit, b);
        BAT_TRY(find_at(finding));
    }
    return BAT_OK;
}

enum bat_code next_find_variants(struct next_carrying *carrying, struct next_unit_pair *pairs,
                                 uint32_t *count)
{
    struct finding finding = {.carrying = carrying, .pairs = pairs};
    finding.places = calloc((size_t)carrying->news.unit_count + 1, 1);
    BAT_TRY_MEMORY(finding.places, carrying->error, "for calls");
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < carrying->news.unit_count && code == BAT_OK; i++)
        if (carrying->counts[i])
            code = find_in(&finding, i);
    free(finding.places);
    *count = finding.count;
    return code;
}
