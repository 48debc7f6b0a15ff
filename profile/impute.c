/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Ends for runs of code whose end was not sampled: spec/profiles.md 1. */
#include <stdlib.h>

#include "binary/original/original.h"
#include "profile.h"

/* False if the instruction is a call, a return or a jump, or is not known: no run begins there. */
static bool may_fall_through(const struct bat_elf *elf, uint64_t address)
{
    struct bat_instruction instruction;
    if (!bat_original_decode(elf, address, &instruction))
        return false;
    switch (instruction.kind) {
    case BAT_INSTRUCTION_JUMP:
    case BAT_INSTRUCTION_INDIRECT_JUMP:
    case BAT_INSTRUCTION_CALL:
    case BAT_INSTRUCTION_INDIRECT_CALL:
    case BAT_INSTRUCTION_RETURN:
        return false;
    default:
        return true;
    }
}

/* What is known of the runs behind one branch to one place: the sum of their sizes and counts. */
struct runs {
    uint64_t branch;
    uint64_t from;
    uint64_t bytes;
    uint64_t count;
};

/* The end of a run that was not sampled: the mean of the runs, or else the first instruction. */
static uint64_t find_end(const struct bat_elf *elf, const struct runs *runs, uint64_t from)
{
    uint64_t size = runs->bytes ? runs->bytes / runs->count : may_fall_through(elf, from);
    return from + size;
}

/* Copy a trace to result, with an end. Traces of one branch to one place follow each other. */
static enum bat_code copy_trace(const struct bat_elf *elf, const uint64_t *item, struct runs *runs,
                                struct bat_counts *result)
{
    uint64_t trace[3] = {item[0], item[1], item[2]};
    if (trace[1] == BAT_ADDRESS_EXTERNAL)
        return bat_counts_add(result, trace, item[3], item[4]);
    if (runs->branch != trace[0] || runs->from != trace[1])
        *runs = (struct runs){.branch = trace[0], .from = trace[1]};
    if (trace[2] == BAT_TRACE_BRANCH_ONLY) {
        trace[2] = find_end(elf, runs, trace[1]);
    } else {
        if (trace[2] != BAT_ADDRESS_EXTERNAL)
            runs->bytes += (trace[2] - trace[1]) * item[3];
        runs->count += item[3];
    }
    return bat_counts_add(result, trace, item[3], item[4]);
}

enum bat_code bat_profile_impute_runs(struct bat_profile *profile, struct bat_error *error)
{
    if (!profile->elf)
        return bat_fail(error, BAT_ERR_ARGUMENT,
                        "expected a profile whose target has an ELF file, found one without");
    uint32_t *order = bat_counts_order(&profile->traces); /* by branch, then start, then end */
    struct bat_counts result = bat_counts_new(3);
    struct runs runs = {0};
    enum bat_code code = order ? BAT_OK : BAT_ERR_MEMORY;
    for (uint32_t i = 0; i < profile->traces.count && code == BAT_OK; i++)
        code =
            copy_trace(profile->elf, bat_counts_item(&profile->traces, order[i]), &runs, &result);
    free(order);
    if (code != BAT_OK) {
        bat_counts_free(&result);
        return bat_counts_fail(error, code, "the profile");
    }
    bat_counts_free(&profile->traces);
    profile->traces = result;
    return BAT_OK;
}
