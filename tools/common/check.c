/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "check.h"
#include "spec/grow.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum tool_exit check_begin(struct check *check, const struct check_options *options,
                           const char *binary)
{
    *check = (struct check){.options = options, .binary = binary};
    if (!options->suppressions_path)
        return TOOL_FINE;
    return check_suppressions_read(options->suppressions_path, &check->suppressions);
}

void check_free(struct check *check)
{
    check_suppressions_free(&check->suppressions);
    for (size_t i = 0; i < CHECK_COUNT; i++) {
        for (size_t j = 0; j < check->results[i].function_count; j++)
            free(check->results[i].functions[j].name);
        free(check->results[i].functions);
    }
    for (size_t i = 0; i < check->density_count; i++)
        free(check->densities[i].name);
    free(check->densities);
    *check = (struct check){0};
}

/* --- Results --------------------------------------------------------------------------------- */

static void set(struct check *check, enum check_number number, double value)
{
    check->results[number].status = CHECK_PASSED; /* unless decide() finds otherwise */
    check->results[number].value = value;
}

/* A share of nothing says nothing. */
static void set_share(struct check *check, enum check_number number, uint64_t part, uint64_t whole)
{
    if (whole != 0)
        set(check, number, (double)part / (double)whole);
}

/* Compare with the limit. */
static void decide(struct check *check, enum check_number number)
{
    struct check_result *result = &check->results[number];
    const struct check_kind *kind = &check_kinds[number];
    if (check->options->limits[number] >= 0)
        result->limit = check->options->limits[number];
    if (result->status == CHECK_UNKNOWN)
        return;
    bool is_found =
        kind->is_minimum ? result->value < result->limit : result->value > result->limit;
    if (!is_found)
        return;
    const struct check_suppression *suppression = check_suppressed(&check->suppressions, number);
    result->status = suppression ? CHECK_SUPPRESSED : CHECK_FAILED;
    result->reason = suppression ? suppression->reason : NULL;
    check->findings[kind->severity] += !suppression;
}

static void decide_all(struct check *check)
{
    for (size_t i = 0; i < CHECK_COUNT; i++)
        decide(check, (enum check_number)i);
    check->is_fit = check->findings[BAT_ERROR] == 0 &&
                    !(check->options->is_strict && check->findings[BAT_WARNING] != 0);
}

static void set_limits(struct check *check, double density_threshold)
{
    for (size_t i = 0; i < CHECK_COUNT; i++)
        check->results[i].limit = check_kinds[i].limit;
    check->results[CHECK_DENSITY].limit = density_threshold;
}

void check_note_unreadable(struct check *check, bool is_other_build, const struct bat_error *error)
{
    struct check_unreadable *kind = is_other_build ? &check->other_builds : &check->unreadable;
    kind->count++;
    bat_error_text(error, kind->message, sizeof(kind->message));
}

static void set_read(struct check *check)
{
    set(check, CHECK_READ, (double)check->unreadable.count);
    set(check, CHECK_BUILD_ID, (double)check->other_builds.count);
}

bool check_fail_reading(struct check *check)
{
    set_limits(check, check_kinds[CHECK_DENSITY].limit);
    set_read(check);
    static const enum check_number both[] = {CHECK_READ, CHECK_BUILD_ID};
    for (size_t i = 0; i < sizeof(both) / sizeof(both[0]); i++)
        if (check->results[both[i]].value > 0) {
            check->results[both[i]].status = CHECK_FAILED;
            check->findings[BAT_ERROR]++;
        }
    return check->findings[BAT_ERROR] != 0;
}

/* --- Functions ------------------------------------------------------------------------------- */

/* Add a function to a check's list, with a copy of the name. False if there is no memory. */
static bool add_function(struct check_result *result, const char *name,
                         const struct check_function *added)
{
    if (!bat_grow(&result->functions, &result->function_capacity, result->function_count,
                  sizeof(*added)))
        return false;
    struct check_function *function = &result->functions[result->function_count];
    *function = *added;
    function->name = strdup(name);
    if (!function->name)
        return false;
    result->function_count++;
    return true;
}

static int largest_first(const void *left_pointer, const void *right_pointer)
{
    const struct check_function *left = left_pointer;
    const struct check_function *right = right_pointer;
    if (left->part != right->part)
        return left->part > right->part ? -1 : 1;
    return strcmp(left->name, right->name);
}

/* Keep the lists of the checks that failed, sorted. */
static void sort_functions(struct check *check)
{
    for (size_t i = 0; i < CHECK_COUNT; i++) {
        struct check_result *result = &check->results[i];
        if (result->function_count > 1)
            qsort(result->functions, result->function_count, sizeof(*result->functions),
                  largest_first);
    }
}

/* --- Measures of the profile ----------------------------------------------------------------- */

static const enum check_number check_of[BAT_FITNESS_MEASURES] = {
    [BAT_FITNESS_BRANCHES] = CHECK_BRANCHES,
    [BAT_FITNESS_TARGETS] = CHECK_TARGETS,
    [BAT_FITNESS_FLOW] = CHECK_FLOW,
    [BAT_FITNESS_ENTRIES] = CHECK_ENTRIES,
    [BAT_FITNESS_CALLS] = CHECK_CALLS,
    [BAT_FITNESS_CONTINUITY] = CHECK_CONTINUITY,
    [BAT_FITNESS_NEW_CODE] = CHECK_NEW_CODE,
    [BAT_FITNESS_OLD_CODE] = CHECK_OLD_CODE,
    [BAT_FITNESS_INSTRUCTIONS] = CHECK_INSTRUCTIONS,
};

/* Sum a measure over all functions. False if there is no memory. */
static bool sum_measure(struct check *check, const struct bat_fitness *fitness,
                        enum bat_fitness_measure measure)
{
    struct bat_fitness_share sum = {0};
    enum check_number number = check_of[measure];
    const struct bat_fitness_function *function;
    for (uint64_t i = 0; (function = bat_fitness_get(fitness, i)) != NULL; i++) {
        const struct bat_fitness_share *share = &function->shares[measure];
        if (share->whole == 0 || check_suppresses_function(&check->suppressions, number,
                                                           function->name, share->part != 0))
            continue;
        sum.part += share->part;
        sum.whole += share->whole;
        const struct check_function added = {
            .address = function->address, .part = share->part, .whole = share->whole};
        if (share->part != 0 && !add_function(&check->results[number], function->name, &added))
            return false;
    }
    set_share(check, number, sum.part, sum.whole);
    return true;
}

static enum tool_exit measure(struct check *check, const struct check_subject *subject,
                              uint64_t *samples)
{
    struct bat_fitness *fitness;
    struct bat_error error;
    if (bat_profile_measure(subject->profile, subject->binary, subject->symbols, subject->records,
                            &fitness, &error) != BAT_OK)
        return tool_report(check->binary, &error);
    bool is_done = true;
    for (size_t i = 0; i < BAT_FITNESS_MEASURES && is_done; i++)
        is_done = sum_measure(check, fitness, (enum bat_fitness_measure)i);
    const struct bat_fitness_function *function;
    for (uint64_t i = 0; (function = bat_fitness_get(fitness, i)) != NULL; i++)
        *samples += function->samples;
    bat_fitness_free(fitness);
    return is_done ? TOOL_FINE : tool_no_memory(check->binary);
}

/* --- What llvm-bolt will refuse -------------------------------------------------------------- */

void check_stale_reason(const struct bat_records *records, const struct bat_stale_function *stale,
                        char reason[CHECK_REASON_SIZE])
{
    struct bat_record record;
    const char *guess = stale->is_by_note ? ", by the note alone" : "";
    if (stale->reason == BAT_STALE_NO_HASH || stale->reason == BAT_STALE_BLOCKS ||
        !bat_records_get(records, stale->record, &record))
        snprintf(reason, CHECK_REASON_SIZE, "%s%s",
                 stale->reason == BAT_STALE_NO_HASH ? "YAML has no hash of it"
                                                    : "the note has other blocks than its code",
                 guess);
    else if (stale->reason == BAT_STALE_EXIT)
        snprintf(reason, CHECK_REASON_SIZE, "no branch or call at +0x%" PRIx64 "%s",
                 record.from.offset, guess);
    else
        snprintf(reason, CHECK_REASON_SIZE,
                 "no way in its code from +0x%" PRIx64 " to +0x%" PRIx64 "%s", record.from.offset,
                 record.to.offset, guess);
}

static enum tool_exit judge_stale(struct check *check, const struct check_subject *subject)
{
    const struct bat_records *records = subject->next ? subject->next->records : subject->records;
    uint64_t part = subject->judgement->stale_samples;
    uint64_t whole = subject->judgement->samples;
    struct bat_stale_function stale;
    for (uint64_t i = 0; bat_records_stale(records, subject->is_yaml, i, &stale); i++) {
        if (check_suppresses_function(&check->suppressions, CHECK_STALE, stale.name, true)) {
            part -= stale.samples;
            whole -= stale.samples;
            continue;
        }
        struct check_function function = {
            .address = stale.address, .part = stale.samples, .whole = stale.samples};
        check_stale_reason(records, &stale, function.reason);
        if (!add_function(&check->results[CHECK_STALE], stale.name, &function))
            return tool_no_memory(check->binary);
    }
    set_share(check, CHECK_STALE, part, whole);
    return TOOL_FINE;
}

/* --- The next build -------------------------------------------------------------------------- */

static enum tool_exit judge_next(struct check *check, const struct check_next *next)
{
    uint64_t whole = next->whole;
    for (size_t i = 0; i < next->lost_count; i++) {
        const struct check_lost *lost = &next->lost[i];
        if (check_suppresses_function(&check->suppressions, CHECK_FOUND, lost->name, true)) {
            whole -= lost->count;
            continue;
        }
        struct check_function function = {.part = lost->count, .whole = next->whole};
        if (lost->likeness > 0)
            snprintf(function.reason, CHECK_REASON_SIZE, "its code is alike by %.0f%% only",
                     100 * lost->likeness);
        else
            snprintf(function.reason, CHECK_REASON_SIZE, "it is gone");
        if (!add_function(&check->results[CHECK_FOUND], lost->name, &function))
            return tool_no_memory(check->binary);
    }
    set_share(check, CHECK_FOUND, next->found, whole);
    set_share(check, CHECK_INFERRED, next->inferred, next->blocks);
    return TOOL_FINE;
}

/* --- Density --------------------------------------------------------------------------------- */

static bool add_density(const struct bat_function_density *density, void *context)
{
    struct check *check = context;
    if (!bat_grow(&check->densities, &check->density_capacity, check->density_count,
                  sizeof(*check->densities)))
        return false;
    char *name = strdup(density->name);
    if (name)
        check->densities[check->density_count++] =
            (struct check_density){name, density->branches, density->density};
    return name != NULL;
}

static enum tool_exit judge_density(struct check *check, const struct check_subject *subject)
{
    struct bat_error error;
    double density;
    const struct bat_records *records =
        subject->all_records ? subject->all_records : subject->records;
    if (bat_records_density(records, subject->moved, subject->density_cutoff, &density, &error) !=
            BAT_OK ||
        bat_records_densities(records, subject->moved, add_density, check, &error) != BAT_OK)
        return tool_report(check->binary, &error);
    if (check->density_count != 0)
        set(check, CHECK_DENSITY, density);
    return TOOL_FINE;
}

/* --- Counters -------------------------------------------------------------------------------- */

/* Samples of fdata inputs are known by their records alone. */
static uint64_t sum_records(const struct bat_records *records)
{
    uint64_t sum = 0;
    struct bat_record record;
    for (uint64_t i = 0; bat_records_get(records, i, &record); i++)
        sum += record.count;
    return sum;
}

static void judge_stacks(struct check *check, const struct check_subject *subject)
{
    const struct bat_profile_counters read = bat_profile_counters(subject->profile);
    uint64_t used = read.perf_plain_samples + read.perf_used_samples;
    if (subject->wants_samples)
        return;
    if (bat_profile_main_kind(subject->profile) == BAT_PROFILE_SAMPLES)
        set(check, CHECK_STACKS, 1);
    else if (used != 0)
        set_share(check, CHECK_STACKS, read.perf_plain_samples, used);
    else if (bat_profile_distinct(subject->profile) != 0)
        set(check, CHECK_STACKS, 0);
}

/* BOLT's outputs and their inputs are linked within so many bytes, other objects are far away. */
#define NEIGHBOURHOOD ((uint64_t)1 << 31)

enum place { PLACE_ELSEWHERE, PLACE_CODE, PLACE_NOWHERE };

/* Where an address is. What the profile takes for another object has the address 0, or none. */
static enum place place_of(const struct bat_elf *elf, uint64_t lowest, uint64_t address)
{
    if (address == 0 || address < lowest || address - lowest >= NEIGHBOURHOOD)
        return PLACE_ELSEWHERE;
    return bat_elf_is_executable(elf, address) ? PLACE_CODE : PLACE_NOWHERE;
}

/* Samples at addresses near the binary's code where it has none: they are of another program. */
static void judge_nowhere(struct check *check, const struct check_subject *subject)
{
    const struct bat_elf *elf = subject->binary->elf;
    uint64_t lowest = UINT64_MAX;
    uint64_t counts[] = {[PLACE_ELSEWHERE] = 0, [PLACE_CODE] = 0, [PLACE_NOWHERE] = 0};
    struct bat_segment segment;
    for (size_t i = 0; elf && bat_elf_segment(elf, i, &segment); i++)
        lowest = segment.address < lowest ? segment.address : lowest;
    struct bat_trace trace;
    for (uint64_t i = 0; bat_profile_trace(subject->profile, i, &trace); i++) {
        const uint64_t ends[] = {trace.branch, trace.from, trace.to};
        enum place worst = PLACE_ELSEWHERE;
        for (size_t j = 0; j < sizeof(ends) / sizeof(ends[0]); j++) {
            enum place place = place_of(elf, lowest, ends[j]);
            worst = place > worst ? place : worst;
        }
        counts[worst] += trace.count;
    }
    uint64_t address;
    uint64_t count;
    for (uint64_t i = 0; bat_profile_sample(subject->profile, i, &address, &count); i++)
        counts[place_of(elf, lowest, address)] += count;
    set_share(check, CHECK_NOWHERE, counts[PLACE_NOWHERE],
              counts[PLACE_CODE] + counts[PLACE_NOWHERE]);
}

/* What the counters of the reading and of the translation say. */
static void judge_counters(struct check *check, const struct check_subject *subject)
{
    const struct bat_profile_counters read = bat_profile_counters(subject->profile);
    struct bat_translate_counters done = {0};
    if (subject->records)
        done = bat_records_counters(subject->records);
    const struct bat_to_input_counters *moved = subject->to_input;
    judge_stacks(check, subject);
    set_share(check, CHECK_OUTSIDE, moved ? moved->external : done.external,
              moved ? moved->samples : done.samples);
    judge_nowhere(check, subject);
    set_share(check, CHECK_KERNEL, read.perf_kernel_branches, read.perf_branches);
    set_share(check, CHECK_LOST, read.perf_lost, read.perf_samples + read.perf_lost);
    if (moved)
        set_share(check, CHECK_RUNS, moved->misfits, moved->samples);
    else
        set_share(check, CHECK_RUNS, done.invalid - done.unread,
                  done.fallthroughs - done.out_of_range - done.unread);
}

void check_judge_counters(struct check *check, const struct check_options *options,
                          const struct check_subject *subject)
{
    *check = (struct check){.options = options};
    set_limits(check, subject->density_threshold);
    judge_counters(check, subject);
    if (subject->judgement)
        set_share(check, CHECK_STALE, subject->judgement->stale_samples,
                  subject->judgement->samples);
    decide_all(check);
}

enum tool_exit check_judge(struct check *check, const struct check_subject *subject)
{
    uint64_t samples = 0;
    set_limits(check, subject->density_threshold);
    enum tool_exit status = measure(check, subject, &samples);
    if (status != TOOL_FINE)
        return status;
    set_read(check);
    set(check, CHECK_PROFILES, (double)subject->profiles);
    judge_counters(check, subject);
    uint64_t records =
        bat_profile_counters(subject->profile).fdata_records ? sum_records(subject->records) : 0;
    set(check, CHECK_SAMPLES, (double)(samples > records ? samples : records));
    if (subject->baseline) {
        set_share(check, CHECK_BASELINE_SAMPLES, subject->baseline->own, subject->baseline->former);
        set(check, CHECK_BASELINE, subject->baseline->functions);
    }
    status = subject->next ? judge_next(check, subject->next) : TOOL_FINE;
    if (status == TOOL_FINE)
        status = judge_stale(check, subject);
    if (status == TOOL_FINE && bat_profile_main_kind(subject->profile) == BAT_PROFILE_BRANCHES)
        status = judge_density(check, subject);
    sort_functions(check);
    decide_all(check);
    return status;
}
