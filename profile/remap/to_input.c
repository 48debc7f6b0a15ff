/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Remaps a whole profile of the BOLTed binary to the input binary: its traces, returns, basic and
 * memory samples. The library function bat_profile_to_input() is here.
 */
#include "to_input.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "spec/order.h"

/* --- Traces --------------------------------------------------------------------------------- */

static int compare_traces(const void *left_pointer, const void *right_pointer, void *context)
{
    const struct bat_counts *traces = context;
    const uint64_t *left = bat_counts_item(traces, *(const uint32_t *)left_pointer);
    const uint64_t *right = bat_counts_item(traces, *(const uint32_t *)right_pointer);
    /* Branches alone come first: see input_move_trace(). */
    bool left_is_alone = left[2] == BAT_TRACE_BRANCH_ONLY;
    bool right_is_alone = right[2] == BAT_TRACE_BRANCH_ONLY;
    if (left_is_alone != right_is_alone)
        return left_is_alone ? -1 : 1;
    return bat_compare_words(left, right, 3);
}

static struct input_piece trace_at(const struct bat_counts *traces, uint32_t i)
{
    const uint64_t *item = bat_counts_item(traces, i);
    return (struct input_piece){.branch = item[0],
                                .from = item[1],
                                .to = item[2],
                                .count = item[3],
                                .mispredictions = item[4],
                                .start_join = BAT_NONE,
                                .end_join = BAT_NONE};
}

/* The nodes of long runs: so many for each trace on average, and so many together in any case. */
#define MEAN_NODES 64u
#define LEAST_NODES (UINT64_C(1) << 16)

/* In sorted order, not in the order of reading, so that the result does not depend on that. */
static enum bat_code follow_sorted(struct input_move *move, struct bat_counts traces)
{
    uint32_t *order = bat_sorted_order(traces.count, compare_traces, &traces);
    if (!order)
        return BAT_ERR_MEMORY;
    enum bat_code code = BAT_OK;
    move->nodes_left = LEAST_NODES + MEAN_NODES * (uint64_t)traces.count;
    for (uint32_t i = 0; i < traces.count && code == BAT_OK; i++) {
        const struct input_piece trace = trace_at(&traces, order[i]);
        move->counters.samples += trace.count;
        code = input_move_trace(move, &trace);
    }
    free(order);
    return code;
}

static enum bat_code follow_traces(struct input_move *move)
{
    if (!input_has_patches(move->original))
        return follow_sorted(move, move->profile->traces);
    struct bat_counts passed = bat_counts_new(3);
    enum bat_code code = input_pass_patches(move->original, &move->profile->traces, &passed,
                                            &move->counters.balances);
    code = code ? code : follow_sorted(move, passed);
    bat_counts_free(&passed);
    return code;
}

/* Follow all traces once more, but for what is moved by the note alone. */
static enum bat_code follow_again(struct input_move *move, struct bat_profile *result)
{
    const uint64_t misfits = move->counters.misfits;
    bat_counts_clear(&result->traces);
    input_joins_free(&move->joins);
    input_starts_free(&move->starts);
    move->joins = input_joins_new(result, &move->counters);
    move->starts = input_starts_new();
    move->counters = (struct bat_to_input_counters){.balances = bat_profile_sums(move->profile)};
    enum bat_code code = follow_traces(move);
    move->counters.misfits = misfits; /* a warning counts them, however they were moved */
    return code;
}

static enum bat_code move_traces(struct input_move *move, struct bat_profile *result)
{
    enum bat_code code = follow_traces(move);
    code = code ? code : input_by_note_choose(move);
    if (code == BAT_OK && move->by_note)
        code = follow_again(move, result);
    return code ? code : input_joins_finish(&move->joins);
}

/* Remap the branches that R records declare to be returns. */
static enum bat_code move_returns(struct input_move *move, struct bat_profile *result)
{
    const struct bat_counts *returns = &move->profile->returns;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < returns->count && code == BAT_OK; i++) {
        const uint64_t *item = bat_counts_item(returns, i);
        uint64_t source;
        code = input_move_source(move, item[0], &source);
        if (code == BAT_OK && source != BAT_ADDRESS_EXTERNAL)
            code = bat_counts_add(&result->returns, &source, 0, 0);
    }
    return code;
}

/* --- Samples -------------------------------------------------------------------------------- */

static enum bat_code move_samples(struct input_move *move, struct bat_profile *result)
{
    const struct bat_counts *samples = &move->profile->samples;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < samples->count && code == BAT_OK; i++) {
        const uint64_t *item = bat_counts_item(samples, i);
        uint64_t input;
        move->counters.samples += item[1];
        if (bat_original_input_address_of_again(move->original, move->walks, item[0], &input)) {
            move->counters.moved += item[1];
            code = bat_counts_add(&result->samples, &input, item[1], 0);
        } else {
            move->counters.external += item[1];
            move->counters.balances.samples.outside += item[1];
        }
    }
    return code;
}

/* Only the address of the load is remapped: BOLT does not move data. */
static enum bat_code move_mem_samples(struct input_move *move, struct bat_profile *result)
{
    const struct bat_counts *samples = &move->profile->mem_samples;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < samples->count && code == BAT_OK; i++) {
        const uint64_t *item = bat_counts_item(samples, i);
        uint64_t key[2] = {0, item[1]};
        if (bat_original_input_address_of_again(move->original, move->walks, item[0], &key[0]))
            code = bat_counts_add(&result->mem_samples, key, item[2], item[3]);
        else
            move->counters.balances.loads.outside += item[2];
    }
    return code;
}

/* --- The profile ---------------------------------------------------------------------------- */

static enum bat_code copy_events(const struct bat_profile *profile, struct bat_profile *result)
{
    enum bat_code code = BAT_OK;
    result->names_events = profile->names_events;
    for (uint32_t i = 0; i < profile->events.count && code == BAT_OK; i++) {
        const char *event = bat_strings_get(&profile->events, i);
        uint32_t ignored;
        code = bat_strings_add(&result->events, event, strlen(event), &ignored);
    }
    return code;
}

static struct bat_profile *new_result(const struct bat_elf *input)
{
    struct bat_profile_target target = {.size = sizeof(target)};
    target.build_id = bat_elf_build_id(input, &target.build_id_size);
    struct bat_profile *result;
    bat_profile_new(&target, &result, NULL);
    return result;
}

/* Sum up what is in the result. */
static void weigh(const struct bat_profile *result, struct bat_balances *balances)
{
    const struct bat_balances sums = bat_profile_sums(result);
    balances->branches.out = sums.branches.in;
    balances->runs.out = sums.runs.in;
    balances->mispredictions.out = sums.mispredictions.in;
    balances->samples.out = sums.samples.in;
    balances->loads.out = sums.loads.in;
}

static enum bat_code move_all(struct input_move *move, struct bat_profile *result)
{
    enum bat_code code = copy_events(move->profile, result);
    move->counters.balances = bat_profile_sums(move->profile);
    code = code ? code : move_traces(move, result);
    code = code ? code : move_returns(move, result);
    code = code ? code : move_samples(move, result);
    code = code ? code : move_mem_samples(move, result);
    move->counters.limited += move->follow.flow.limited;
    code = code ? code : input_unfold(move->original, result, &move->counters);
    code = code ? code : input_add_detours(move, result);
    input_explained_report(move);
    return code ? code : input_by_note_add(move, result);
}

enum bat_code input_check_pair(const struct bat_binary *binary, const struct bat_original *original,
                               struct bat_error *error)
{
    const uint16_t machine = bat_elf_machine(original->elf);
    if (binary != original->binary)
        return bat_fail(error, BAT_ERR_ARGUMENT,
                        "expected the binary that the input binary was paired with, found another");
    if (machine != EM_X86_64 && machine != EM_AARCH64)
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "expected a program for x86-64 or AArch64, found one for machine %u",
                        machine);
    return BAT_OK;
}

enum bat_code bat_profile_to_input(const struct bat_profile *profile, struct bat_binary *binary,
                                   const struct bat_original *original,
                                   struct bat_profile **input_profile,
                                   struct bat_to_input_counters *counters, struct bat_error *error)
{
    *input_profile = NULL;
    BAT_TRY(input_check_pair(binary, original, error));
    struct bat_original_walks walks = {0};
    struct input_move move = {
        .profile = profile, .original = original, .walks = &walks, .sights = input_no_sights()};
    struct bat_profile *result = new_result(original->elf);
    move.joins = input_joins_new(result, &move.counters);
    move.starts = input_starts_new();
    enum bat_code code = result ? input_follow_open(&move.follow, original) : BAT_ERR_MEMORY;
    code = code ? code : input_explained_open(&move);
    code = code ? code : move_all(&move, result);
    input_follow_close(&move.follow);
    bat_original_walks_free(&walks);
    input_joins_free(&move.joins);
    input_starts_free(&move.starts);
    input_explained_close(&move);
    if (code != BAT_OK) {
        bat_profile_free(result);
        return bat_counts_fail(error, code, "the input binary's profile");
    }
    weigh(result, &move.counters.balances);
    if (counters)
        *counters = move.counters;
    *input_profile = result;
    return BAT_OK;
}
