/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Makes blocks from a function's decoded instructions and labels (sweep.h). */
#include <stdlib.h>

#include "sweep.h"

bool code_ends_flow(const struct code_instruction *instruction)
{
    switch (instruction->kind) {
    case BAT_INSTRUCTION_JUMP:
    case BAT_INSTRUCTION_INDIRECT_JUMP:
    case BAT_INSTRUCTION_RETURN:
    case BAT_INSTRUCTION_TRAP:
        return true;
    default:
        return false;
    }
}

static bool ends_block(const struct code_instruction *instruction)
{
    return instruction->kind == BAT_INSTRUCTION_CONDITIONAL || code_ends_flow(instruction);
}

/*
 * True if an unconditional jump inside the function stays in the block of the instruction before,
 * although that one ends a block: a conditional branch, a tail call or a trap, but not a
 * conditional tail call.
 */
static bool shares_block(const struct code_instruction *jump, const struct code_instruction *before)
{
    if (jump->kind != BAT_INSTRUCTION_JUMP || jump->target == CODE_OUTSIDE)
        return false;
    switch (before->kind) {
    case BAT_INSTRUCTION_CONDITIONAL:
        return before->target != CODE_OUTSIDE;
    case BAT_INSTRUCTION_JUMP:
        return before->target == CODE_OUTSIDE;
    default:
        return before->kind == BAT_INSTRUCTION_TRAP;
    }
}

static bool starts_block(const struct code_sweep *sweep, uint32_t index)
{
    const struct code_instruction *instruction = &sweep->all[index];
    if (index == 0 || (sweep->marks[instruction->offset] & CODE_MARK_LABEL))
        return true;
    return ends_block(instruction - 1) && !shares_block(instruction, instruction - 1);
}

/* --- One block ---------------------------------------------------------------------------- */

/* True if the block of instructions first to last can lead to the next one, at offset next. */
static bool reaches(const struct code_sweep *sweep, uint32_t first, uint32_t last, uint32_t next)
{
    const struct code_instruction *end = &sweep->all[last];
    if (!ends_block(end) || end->kind == BAT_INSTRUCTION_CONDITIONAL || end->reaches_next)
        return true;
    if (end->kind == BAT_INSTRUCTION_JUMP && end->target == next)
        return true;
    /* The jump shares its block with a conditional branch, which goes to the next block. */
    return last > first && end[-1].kind == BAT_INSTRUCTION_CONDITIONAL && end[-1].target == next;
}

static uint32_t flags_of(const struct code_sweep *sweep, uint32_t first, uint32_t last)
{
    uint32_t flags = 0;
    uint8_t marks = sweep->marks[sweep->all[first].offset];
    if (first == 0 || (marks & CODE_MARK_ENTRY))
        flags |= BAT_BLOCK_ENTRY;
    if (marks & CODE_MARK_LANDING_PAD)
        flags |= BAT_BLOCK_LANDING_PAD;
    if (marks & CODE_MARK_REFERENCE)
        flags |= BAT_BLOCK_REFERENCED;
    const struct code_instruction *end = &sweep->all[last];
    if (bat_kind_is_call(end->kind) || code_is_tail_call(end, BAT_INSTRUCTION_CONDITIONAL))
        flags |= BAT_BLOCK_ENDS_IN_CALL;
    if (last + 1 < sweep->count && reaches(sweep, first, last, sweep->all[last + 1].offset))
        flags |= BAT_BLOCK_REACHES_NEXT;
    return flags;
}

/* --- All blocks --------------------------------------------------------------------------- */

static uint32_t count_blocks(const struct code_sweep *sweep)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < sweep->count; i++)
        count += starts_block(sweep, i);
    return count;
}

enum bat_code code_build_blocks(const struct code_sweep *sweep, struct bat_code_blocks *blocks,
                                struct bat_error *error)
{
    blocks->size = sweep->size;
    blocks->obstacle = sweep->obstacle;
    if (sweep->obstacle)
        return BAT_OK;
    uint32_t count = count_blocks(sweep);
    blocks->all = malloc((size_t)count * sizeof(*blocks->all) + 1);
    BAT_TRY_MEMORY(blocks->all, error, "for %u blocks", count);
    uint32_t entry_points = 0;
    uint32_t last;
    for (uint32_t first = 0; first < sweep->count; first = last + 1) {
        for (last = first; last + 1 < sweep->count && !starts_block(sweep, last + 1);)
            last++;
        uint32_t flags = flags_of(sweep, first, last);
        bool is_secondary = first != 0 && (flags & BAT_BLOCK_ENTRY);
        entry_points += is_secondary;
        blocks->all[blocks->count++] = (struct bat_code_block){
            .start = sweep->all[first].offset,
            .last = sweep->all[last].offset,
            .flags = flags,
            .entry_id = is_secondary ? entry_points : 0,
        };
    }
    for (uint32_t i = blocks->count; i-- > 0;) {
        bool goes_on = blocks->all[i].flags & BAT_BLOCK_REACHES_NEXT;
        blocks->all[i].reach = goes_on ? blocks->all[i + 1].reach : i;
    }
    return BAT_OK;
}
