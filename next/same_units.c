/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finds the units whose code did not change, and the functions that never ran. */
#include <stdlib.h>

#include "carrying.h"
#include "infer.h"
#include "signature.h"
#include "spec/array.h"
#include "spec/order.h"
#include "support/parallel.h"

static bool same_instructions(const struct next_unit *a, const struct next_unit *b, uint32_t i)
{
    const struct next_block *left = &a->blocks[i];
    const struct next_block *right = &b->blocks[i];
    if (left->instruction_count != right->instruction_count ||
        left->is_padding != right->is_padding || left->is_cold != right->is_cold)
        return false;
    for (uint32_t k = 0; k < left->instruction_count; k++) {
        const struct next_instruction *x = &a->instructions[left->first_instruction + k];
        const struct next_instruction *y = &b->instructions[right->first_instruction + k];
        if (x->exact != y->exact || ((x->flags ^ y->flags) & ~(uint32_t)NEXT_NAMES))
            return false;
    }
    return true;
}

/* The next edge of a block, from *at on, that leads to one of the first `count` blocks; NULL. */
static const struct next_edge *next_inner(const struct next_unit *unit, uint32_t block,
                                          uint32_t count, uint32_t *at)
{
    while (*at < unit->blocks[block].edge_count) {
        const struct next_edge *edge = &unit->edges[unit->blocks[block].first_edge + (*at)++];
        if (edge->to < count)
            return edge;
    }
    return NULL;
}

/* True if block i is the same in both, and leads to the same of the first `count` blocks. */
static bool same_block(const struct next_unit *a, const struct next_unit *b, uint32_t i,
                       uint32_t count)
{
    uint32_t at[2] = {0, 0};
    uint32_t inner = 0;
    const struct next_edge *left;
    const struct next_edge *right;
    while (left = next_inner(a, i, count, &at[0]), right = next_inner(b, i, count, &at[1]),
           left && right) {
        if (left->to != right->to || left->kind != right->kind || left->padding != right->padding)
            return false;
        inner++;
    }
    const bool leaves = a->blocks[i].edge_count > inner || b->blocks[i].edge_count > inner;
    return !left && !right && (leaves || a->blocks[i].end == b->blocks[i].end) &&
           same_instructions(a, b, i);
}

static bool same_blocks(const struct next_unit *a, const struct next_unit *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!same_block(a, b, i, count))
            return false;
    return true;
}

bool next_same_code(const struct next_unit *a, const struct next_unit *b)
{
    return a->is_read && b->is_read && a->block_count == b->block_count &&
           same_blocks(a, b, a->block_count);
}

/* Blocks of the first part. */
static uint32_t count_main(const struct next_unit *unit)
{
    uint32_t count = 0;
    while (count < unit->block_count && unit->blocks[count].function == unit->blocks[0].function)
        count++;
    return count;
}

bool next_same_that_ran(const struct next_unit *a, const struct next_unit *b,
                        const struct next_counts *counts)
{
    if (next_same_code(a, b))
        return true;
    const uint32_t count = a->is_read && b->is_read ? count_main(a) : 0;
    if (count == 0 || count != count_main(b))
        return false;
    for (uint32_t i = count; i < a->block_count; i++)
        if (counts->blocks[i] != 0)
            return false;
    return same_blocks(a, b, count);
}

bool next_same_place(const struct next_program *program, const struct next_unit *a,
                     const struct next_unit *b, uint32_t function, uint64_t offset,
                     struct next_place *place)
{
    uint32_t block = next_block_at(program, a, function, offset);
    if (block == BAT_NONE)
        return false;
    const struct next_block *from = &a->blocks[block];
    const struct next_instruction *all = a->instructions + from->first_instruction;
    uint32_t index = (uint32_t)BAT_COUNT_UP_TO(all, from->instruction_count, offset, offset);
    if (index == 0 || block >= b->block_count || index > b->blocks[block].instruction_count)
        return false;
    const struct next_instruction *other =
        &b->instructions[b->blocks[block].first_instruction + index - 1];
    *place = (struct next_place){.function = b->blocks[block].function,
                                 .offset = other->offset + (uint32_t)offset - all[index - 1].offset,
                                 .instruction = other};
    return true;
}

/* How alike the code of two units is. */
static enum bat_code compare_units(struct next_carrying *carrying, uint32_t old_unit,
                                   uint32_t new_unit, float *likeness, struct bat_error *error)
{
    struct next_signature a;
    struct next_signature b = {0};
    enum bat_code code = next_signature_make(&carrying->olds, old_unit, &a, error);
    code = code ? code : next_signature_make(&carrying->news, new_unit, &b, error);
    *likeness = code == BAT_OK ? next_signature_compare(&a, &b) : 0;
    next_signature_free(&a);
    next_signature_free(&b);
    return code;
}

#define STRETCH 16u /* functions that a thread reads at a time */

static enum bat_code compare_with_partner(void *context, size_t item, unsigned thread,
                                          struct bat_error *error)
{
    struct next_carrying *carrying = context;
    uint32_t unit = (uint32_t)item;
    uint32_t partner = carrying->pairs.new_of[unit];
    (void)thread;
    if (partner == BAT_NONE || !carrying->measured.units[unit])
        return BAT_OK;
    const struct next_unit *a;
    const struct next_unit *b;
    BAT_TRY(next_unit_get(&carrying->olds, unit, &a, error));
    BAT_TRY(next_unit_get(&carrying->news, partner, &b, error));
    carrying->is_same[unit] = next_same_that_ran(a, b, carrying->measured.units[unit]);
    return carrying->is_same[unit]
               ? BAT_OK
               : compare_units(carrying, unit, partner, &carrying->pairs.likeness[unit], error);
}

enum bat_code next_find_same(struct next_carrying *carrying)
{
    carrying->is_same = calloc((size_t)carrying->olds.unit_count + 1, 1);
    BAT_TRY_MEMORY(carrying->is_same, carrying->error, "to compare functions");
    return bat_parallel_try(carrying->olds.unit_count, STRETCH, carrying->options->threads,
                            compare_with_partner, carrying, carrying->error);
}

/* --- Functions that never ran --------------------------------------------------------------- */

/* Mark the functions that units with samples call. */
static void mark_called(const struct next_carrying *carrying, uint8_t *is_called)
{
    for (uint32_t i = 0; i < carrying->olds.unit_count; i++) {
        const struct next_unit *code = carrying->olds.units[i];
        if (!carrying->measured.units[i] || carrying->measured.units[i]->total == 0)
            continue;
        for (uint32_t k = 0; k < code->instruction_count; k++)
            if (code->instructions[k].callee != BAT_NONE)
                is_called[code->instructions[k].callee] = 1;
    }
}

/* A function that BOLT's tools do not see called although it was: the process ends there. */
static bool is_exit(const struct next_program *program, uint32_t function)
{
    return program->name_of[function] == next_hash("exit", 4, 0) ||
           program->name_of[function] == next_hash("_exit", 5, 0);
}

/* Hashes of the names of all units, ascending. The caller frees them; NULL without memory. */
static uint32_t *sort_names(const struct next_program *program)
{
    uint32_t *names = malloc(((size_t)program->unit_count + 1) * sizeof(*names));
    for (uint32_t i = 0; names && i < program->unit_count; i++)
        names[i] = program->name_of[program->first_part[i]];
    if (names && program->unit_count > 1)
        qsort(names, program->unit_count, sizeof(*names), bat_compare_u32);
    return names;
}

/* True if a function has copies or parts (f.part.0): its callers may have the rest of it inlined.
 */
static bool has_parts(const struct next_program *program, const uint32_t *names, uint32_t function)
{
    uint32_t low = BAT_NUMBERS_BELOW(names, program->unit_count, program->name_of[function]);
    return low + 1 < program->unit_count && names[low + 1] == program->name_of[function];
}

/* How often an old function was called, if it is called somewhere in code that ran; else
 * UINT64_MAX. */
static uint64_t count_calls(const struct next_carrying *carrying, const uint8_t *is_called,
                            const uint64_t *ran, uint32_t function)
{
    uint32_t unit = carrying->olds.unit_of[function];
    if (!is_called[function] || is_exit(&carrying->olds, function))
        return UINT64_MAX;
    if (unit == BAT_NONE)
        return ran[function];
    const struct next_counts *counts = carrying->measured.units[unit];
    /* Samples may miss all entries. */
    return !counts ? 0 : counts->entry > 0 ? counts->entry : UINT64_MAX;
}

/* The PLT entries of the old program; the caller frees them. NULL without memory. */
static uint32_t *find_plt(const struct next_program *program, uint32_t *count)
{
    uint32_t *found = malloc(((size_t)program->function_count + 1) * sizeof(*found));
    *count = 0;
    for (uint32_t i = 0; found && i < program->function_count; i++)
        if (program->all[i].flags & BAT_FUNCTION_PLT)
            found[(*count)++] = i;
    return found;
}

/* The old PLT entry of the same name as a new one; BAT_NONE. */
static uint32_t old_plt_entry(const struct next_carrying *carrying, const uint32_t *plt,
                              uint32_t count, uint32_t function)
{
    for (uint32_t i = 0; i < count; i++)
        if (carrying->olds.name_of[plt[i]] == carrying->news.name_of[function])
            return plt[i];
    return BAT_NONE;
}

enum bat_code next_find_calls(struct next_carrying *carrying)
{
    uint8_t *is_called = calloc((size_t)carrying->olds.function_count + 1, 1);
    uint64_t *ran = calloc((size_t)carrying->olds.function_count + 1, sizeof(*ran));
    carrying->most_calls =
        malloc(((size_t)carrying->news.function_count + 1) * sizeof(*carrying->most_calls));
    uint32_t plt_count;
    uint32_t *plt = find_plt(&carrying->olds, &plt_count);
    uint32_t *names = sort_names(&carrying->olds);
    bool is_fine = is_called && ran && carrying->most_calls && plt && names;
    if (is_fine) {
        mark_called(carrying, is_called);
        for (size_t i = 0; i < carrying->measured.call_count; i++)
            if (carrying->measured.calls[i].target != BAT_NONE)
                ran[carrying->measured.calls[i].target] += carrying->measured.calls[i].count;
    }
    /* A part of a function may never run where the whole one does: only exact names count. */
    for (uint32_t i = 0; i < carrying->news.function_count && is_fine; i++) {
        uint32_t unit = carrying->news.unit_of[i];
        uint32_t old_function = BAT_NONE;
        carrying->most_calls[i] = UINT64_MAX;
        if (unit == BAT_NONE)
            old_function = old_plt_entry(carrying, plt, plt_count, i);
        else if (carrying->news.first_part[unit] == i && carrying->pairs.old_of[unit] != BAT_NONE)
            old_function = carrying->olds.first_part[carrying->pairs.old_of[unit]];
        if (old_function != BAT_NONE && !has_parts(&carrying->olds, names, old_function))
            carrying->most_calls[i] = count_calls(carrying, is_called, ran, old_function);
        else if (unit == BAT_NONE && old_function == BAT_NONE &&
                 next_never_returns(&carrying->news, i))
            carrying->most_calls[i] = 0;
    }
    BAT_FREE_ALL(is_called, ran, plt, names);
    return is_fine ? BAT_OK : bat_fail_memory(carrying->error, "for functions");
}
