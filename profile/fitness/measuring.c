/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the measures share. */
#include "measuring.h"

#include "binary/original/original.h"

/* The shortest and longest call: AArch64's has 4 bytes, RISC-V's at least 2. */
#define CALL_MIN 2u
#define CALL_MAX 9u

static uint64_t square_root(uint64_t number)
{
    uint64_t root = 0;
    for (uint64_t bit = (uint64_t)1 << 31; bit != 0; bit >>= 1)
        if ((root | bit) * (root | bit) <= number)
            root |= bit;
    return root;
}

uint64_t measuring_gap(uint64_t left, uint64_t right)
{
    uint64_t gap = left > right ? left - right : right - left;
    uint64_t chance = 3 * square_root(left + right);
    return gap > chance ? gap - chance : 0;
}

unsigned measuring_next_call(const struct measuring *measuring, uint64_t address, unsigned size,
                             uint64_t *call)
{
    struct bat_instruction instruction;
    for (size = size < CALL_MIN ? CALL_MIN : size + 1; size <= CALL_MAX && size < address; size++) {
        *call = address - size;
        if (bat_original_decode(measuring->elf, *call, &instruction) &&
            instruction.length == size && bat_kind_is_call(instruction.kind))
            return size;
    }
    return 0;
}

bool measuring_is_behind_call(const struct measuring *measuring, uint64_t address)
{
    uint64_t call;
    return measuring_next_call(measuring, address, 0, &call) != 0;
}

bool measuring_is_return(const struct measuring *measuring, const struct bat_trace *trace)
{
    struct bat_instruction instruction;
    if (trace->branch == BAT_TRACE_FALLTHROUGH_ONLY)
        return false;
    if (trace->is_return)
        return true;
    if (measuring_function(measuring, trace->branch) == BAT_NONE)
        return !measuring_starts(measuring, trace->from) &&
               measuring_is_behind_call(measuring, trace->from);
    return bat_original_decode(measuring->elf, trace->branch, &instruction) &&
           instruction.kind == BAT_INSTRUCTION_RETURN;
}
