/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "carrying.h"

/* The unit that starts at a function; BAT_NONE. */
static uint32_t unit_at(const struct next_program *program, uint32_t function)
{
    const uint32_t unit = function == BAT_NONE ? BAT_NONE : program->unit_of[function];
    return unit != BAT_NONE && program->first_part[unit] == function ? unit : BAT_NONE;
}

/* Add the calls of the old program that are in the same code. */
static void count_same_calls(const struct next_carrying *carrying, double *calls)
{
    for (size_t i = 0; i < carrying->measured.call_count; i++) {
        const struct next_call *call = &carrying->measured.calls[i];
        const uint32_t caller = carrying->olds.unit_of[call->function];
        const uint32_t called = unit_at(&carrying->olds, call->target);
        if (caller != BAT_NONE && carrying->is_same[caller] && called != BAT_NONE &&
            carrying->pairs.new_of[called] != BAT_NONE)
            calls[carrying->pairs.new_of[called]] += (double)call->count;
    }
}

void next_count_calls(const struct next_carrying *carrying, bool only_known, double *calls)
{
    count_same_calls(carrying, calls);
    for (uint32_t i = 0; i < carrying->news.unit_count; i++) {
        const struct next_new_counts *counts = carrying->counts[i];
        const struct next_unit *unit = carrying->news.units[i];
        for (uint32_t b = 0; counts && b < unit->block_count; b++) {
            if (counts->blocks[b] == 0 || !unit->blocks[b].has_callees ||
                (only_known && !counts->is_known[b]))
                continue;
            for (uint32_t k = 0; k < unit->blocks[b].instruction_count; k++) {
                const uint32_t callee =
                    unit->instructions[unit->blocks[b].first_instruction + k].callee;
                const uint32_t called = unit_at(&carrying->news, callee);
                if (called != BAT_NONE)
                    calls[called] += (double)counts->blocks[b];
            }
        }
    }
}
