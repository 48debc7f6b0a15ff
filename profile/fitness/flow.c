/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Whether as many samples leave a place as come to it (spec/fitness.md 2). A run of code that
 * passes a block's end adds the same to both sides, so it is enough to compare where runs and
 * branches end and begin: the runs that end at a branch with the branches from there, the branches
 * to a place with the runs that begin there, and calls with the returns behind them.
 */
#include "binary/original/original.h"
#include "measuring.h"

/* Both counters of each address. */
struct flows {
    struct bat_counts ends;    /* of a branch: runs that end there, branches from there */
    struct bat_counts starts;  /* of a target: branches to it, runs that begin there */
    struct bat_counts returns; /* of a place: returns to it, 0 */
};

/* Add two counts of samples that should be equal. */
static void compare(const struct measuring *measuring, uint32_t function,
                    enum bat_fitness_measure measure, uint64_t left, uint64_t right)
{
    measuring_add(measuring, function, measure, measuring_gap(left, right),
                  left > right ? left : right);
}

static enum bat_code add_trace(const struct measuring *measuring, struct flows *flows,
                               const struct bat_trace *trace)
{
    enum bat_code code = BAT_OK;
    bool has_run = trace->to != BAT_TRACE_BRANCH_ONLY && trace->to != BAT_ADDRESS_EXTERNAL;
    bool has_branch = trace->branch != BAT_TRACE_FALLTHROUGH_ONLY;
    if (measuring_function(measuring, trace->branch) != BAT_NONE)
        code = bat_counts_add(&flows->ends, &trace->branch, 0, trace->count);
    if (code == BAT_OK && has_run && measuring_function(measuring, trace->to) != BAT_NONE)
        code = bat_counts_add(&flows->ends, &trace->to, trace->count, 0);
    if (code != BAT_OK || measuring_function(measuring, trace->from) == BAT_NONE)
        return code;
    code = bat_counts_add(&flows->starts, &trace->from, has_branch ? trace->count : 0,
                          has_run ? trace->count : 0);
    if (code == BAT_OK && measuring_is_return(measuring, trace))
        code = bat_counts_add(&flows->returns, &trace->from, trace->count, 0);
    return code;
}

/* Compare the calls at an address with the returns behind it. */
static void compare_calls(const struct measuring *measuring, const struct flows *flows,
                          uint64_t call, uint64_t calls)
{
    struct bat_instruction instruction;
    if (!bat_original_decode(measuring->elf, call, &instruction) ||
        !bat_kind_is_call(instruction.kind))
        return;
    uint64_t behind = call + instruction.length;
    const uint64_t *returns = bat_counts_find(&flows->returns, &behind);
    compare(measuring, measuring_function(measuring, call), BAT_FITNESS_CALLS, calls,
            returns ? returns[1] : 0);
}

static void compare_all(const struct measuring *measuring, const struct flows *flows)
{
    for (uint32_t i = 0; i < flows->ends.count; i++) {
        const uint64_t *item = bat_counts_item(&flows->ends, i);
        compare(measuring, measuring_function(measuring, item[0]), BAT_FITNESS_FLOW, item[1],
                item[2]);
        compare_calls(measuring, flows, item[0], item[2]);
    }
    for (uint32_t i = 0; i < flows->starts.count; i++) {
        const uint64_t *item = bat_counts_item(&flows->starts, i);
        compare(measuring, measuring_function(measuring, item[0]),
                measuring_starts(measuring, item[0]) ? BAT_FITNESS_ENTRIES : BAT_FITNESS_FLOW,
                item[1], item[2]);
    }
}

enum bat_code measure_flow(const struct measuring *measuring)
{
    struct flows flows = {bat_counts_new(1), bat_counts_new(1), bat_counts_new(1)};
    enum bat_code code = BAT_OK;
    struct bat_trace trace;
    for (uint64_t i = 0; code == BAT_OK && bat_profile_trace(measuring->profile, i, &trace); i++)
        code = add_trace(measuring, &flows, &trace);
    if (code == BAT_OK)
        compare_all(measuring, &flows);
    bat_counts_free(&flows.ends);
    bat_counts_free(&flows.starts);
    bat_counts_free(&flows.returns);
    return bat_counts_fail(measuring->error, code, "the flow of a profile");
}
