/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Jumps that BOLT patches over the entries of functions that it has moved (f.org.0), for calls that
 * it does not know of: those of functions that it skips, and by pointers that it does not see. The
 * input calls f itself, so a call of the entry becomes one of f, and the jump is dropped.
 */
#include "to_input.h"

/*
 * The jump of BOLT's at an address: where it begins, ends and leads to. False if no function was
 * moved from there.
 */
static bool find_patch(const struct bat_original *original, uint64_t address, uint64_t *entry,
                       uint64_t *jump, uint64_t *moved)
{
    const uint32_t output = bat_functions_find(original->output_functions, address);
    if (output == BAT_NONE || !(original->outputs[output].flags & BAT_FUNCTION_PATCHED))
        return false;
    *entry = original->outputs[output].address;
    *moved = bat_original_patch(original->binary->elf, *entry, jump);
    return *moved != 0;
}

bool input_has_patches(const struct bat_original *original)
{
    for (uint32_t i = 0; i < original->output_count; i++)
        if (original->outputs[i].flags & BAT_FUNCTION_PATCHED)
            return true;
    return false;
}

static enum bat_code pass_trace(const struct bat_original *original, const uint64_t *trace,
                                struct bat_counts *passed, struct bat_balances *balances)
{
    uint64_t key[3] = {trace[0], trace[1], trace[2]};
    uint64_t mispredictions = trace[4];
    uint64_t entry;
    uint64_t jump;
    uint64_t moved;
    if (find_patch(original, trace[1], &entry, &jump, &moved) && trace[1] == entry) {
        key[1] = moved;
        balances->runs.joined += key[2] == BAT_TRACE_BRANCH_ONLY ? 0 : trace[3];
        key[2] = BAT_TRACE_BRANCH_ONLY;
    }
    if (trace[0] < BAT_TRACE_EXTERNAL_RETURN &&
        find_patch(original, trace[0], &entry, &jump, &moved) && trace[0] == jump) {
        balances->branches.joined += trace[3];
        balances->mispredictions.left_out += mispredictions;
        key[0] = BAT_TRACE_FALLTHROUGH_ONLY;
        mispredictions = 0;
    }
    if (key[0] != BAT_TRACE_FALLTHROUGH_ONLY || key[2] != BAT_TRACE_BRANCH_ONLY)
        return bat_counts_add(passed, key, trace[3], mispredictions);
    balances->mispredictions.left_out += mispredictions;
    return BAT_OK;
}

enum bat_code input_pass_patches(const struct bat_original *original,
                                 const struct bat_counts *traces, struct bat_counts *passed,
                                 struct bat_balances *balances)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < traces->count && code == BAT_OK; i++)
        code = pass_trace(original, bat_counts_item(traces, i), passed, balances);
    return code;
}
