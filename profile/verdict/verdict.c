/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/translate/density.h"
#include "spec/array.h"
#include "spec/order.h"
#include "suppressions.h"

enum bat_code bat_verdict_begin(struct bat_profile_verdict *verdict,
                                const struct bat_verdict_options *options, struct bat_error *error)
{
    *verdict = (struct bat_profile_verdict){.options = options};
    if (!options->suppressions_path)
        return BAT_OK;
    return bat_suppressions_read(options->suppressions_path, &verdict->suppressions, error);
}

void bat_verdict_free(struct bat_profile_verdict *verdict)
{
    bat_suppressions_free(&verdict->suppressions);
    for (size_t i = 0; i < BAT_VERDICT_CHECKS; i++) {
        for (size_t j = 0; j < verdict->results[i].function_count; j++)
            free(verdict->results[i].functions[j].name);
        free(verdict->results[i].functions);
    }
    for (size_t i = 0; i < verdict->density_count; i++)
        free(verdict->densities[i].name);
    free(verdict->densities);
    *verdict = (struct bat_profile_verdict){0};
}

/* --- Results --------------------------------------------------------------------------------- */

static void set(struct bat_profile_verdict *verdict, enum bat_verdict_check number, double value)
{
    verdict->results[number].status = BAT_VERDICT_PASSED; /* unless decide() finds otherwise */
    verdict->results[number].value = value;
}

/* A share of nothing says nothing. */
static void set_share(struct bat_profile_verdict *verdict, enum bat_verdict_check number,
                      uint64_t part, uint64_t whole)
{
    if (whole != 0)
        set(verdict, number, (double)part / (double)whole);
}

/* Compare with the limit. */
static void decide(struct bat_profile_verdict *verdict, enum bat_verdict_check number)
{
    struct bat_verdict_result *result = &verdict->results[number];
    const struct bat_verdict_kind *kind = bat_verdict_kind(number);
    if (verdict->options->limits[number] >= 0)
        result->limit = verdict->options->limits[number];
    if (result->status == BAT_VERDICT_UNKNOWN)
        return;
    bool is_found =
        kind->is_minimum ? result->value < result->limit : result->value > result->limit;
    if (!is_found)
        return;
    const struct bat_suppression *suppression = bat_suppressed(&verdict->suppressions, number);
    result->status = suppression ? BAT_VERDICT_SUPPRESSED : BAT_VERDICT_FAILED;
    result->reason = suppression ? suppression->reason : NULL;
    verdict->findings[kind->severity] += !suppression;
}

static void decide_all(struct bat_profile_verdict *verdict)
{
    for (size_t i = 0; i < BAT_VERDICT_CHECKS; i++)
        decide(verdict, (enum bat_verdict_check)i);
    verdict->is_fit = verdict->findings[BAT_ERROR] == 0 &&
                      !(verdict->options->is_strict && verdict->findings[BAT_WARNING] != 0);
}

static void set_limits(struct bat_profile_verdict *verdict, double density_threshold)
{
    for (size_t i = 0; i < BAT_VERDICT_CHECKS; i++)
        verdict->results[i].limit = bat_verdict_kind((enum bat_verdict_check)i)->limit;
    verdict->results[BAT_VERDICT_DENSITY].limit = density_threshold;
}

void bat_verdict_note_unreadable(struct bat_profile_verdict *verdict, bool is_other_build,
                                 const struct bat_error *error)
{
    struct bat_verdict_unreadable *kind =
        is_other_build ? &verdict->other_builds : &verdict->unreadable;
    kind->count++;
    bat_error_text(error, kind->message, sizeof(kind->message));
}

static void set_read(struct bat_profile_verdict *verdict)
{
    set(verdict, BAT_VERDICT_READ, (double)verdict->unreadable.count);
    set(verdict, BAT_VERDICT_BUILD_ID, (double)verdict->other_builds.count);
}

bool bat_verdict_fail_reading(struct bat_profile_verdict *verdict)
{
    set_limits(verdict, bat_verdict_kind(BAT_VERDICT_DENSITY)->limit);
    set_read(verdict);
    static const enum bat_verdict_check both[] = {BAT_VERDICT_READ, BAT_VERDICT_BUILD_ID};
    for (size_t i = 0; i < sizeof(both) / sizeof(both[0]); i++)
        if (verdict->results[both[i]].value > 0) {
            verdict->results[both[i]].status = BAT_VERDICT_FAILED;
            verdict->findings[BAT_ERROR]++;
        }
    return verdict->findings[BAT_ERROR] != 0;
}

/* --- Functions ------------------------------------------------------------------------------- */

/* Add a function to a check's list, with a copy of the name. False if there is no memory. */
static bool add_function(struct bat_verdict_result *result, const char *name,
                         const struct bat_verdict_function *added)
{
    if (!BAT_GROW(result->functions, result->function_count, result->function_capacity))
        return false;
    struct bat_verdict_function *function = &result->functions[result->function_count];
    *function = *added;
    function->name = strdup(name);
    if (!function->name)
        return false;
    result->function_count++;
    return true;
}

/* Keep the lists of the checks that failed, sorted. */
static void sort_functions(struct bat_profile_verdict *verdict)
{
    for (size_t i = 0; i < BAT_VERDICT_CHECKS; i++) {
        struct bat_verdict_result *result = &verdict->results[i];
        BAT_SORT(result->functions, result->function_count,
                 BAT_DESCENDING(struct bat_verdict_function, part),
                 BAT_ASCENDING(struct bat_verdict_function, name));
    }
}

/* --- Measures of the profile ----------------------------------------------------------------- */

static const enum bat_verdict_check check_of[BAT_FITNESS_MEASURES] = {
    [BAT_FITNESS_BRANCHES] = BAT_VERDICT_BRANCHES,
    [BAT_FITNESS_TARGETS] = BAT_VERDICT_TARGETS,
    [BAT_FITNESS_FLOW] = BAT_VERDICT_FLOW,
    [BAT_FITNESS_ENTRIES] = BAT_VERDICT_ENTRIES,
    [BAT_FITNESS_CALLS] = BAT_VERDICT_CALLS,
    [BAT_FITNESS_CONTINUITY] = BAT_VERDICT_CONTINUITY,
    [BAT_FITNESS_NEW_CODE] = BAT_VERDICT_NEW_CODE,
    [BAT_FITNESS_OLD_CODE] = BAT_VERDICT_OLD_CODE,
    [BAT_FITNESS_INSTRUCTIONS] = BAT_VERDICT_INSTRUCTIONS,
};

/* Sum a measure over all functions. False if there is no memory. */
static bool sum_measure(struct bat_profile_verdict *verdict, const struct bat_fitness *fitness,
                        enum bat_fitness_measure measure)
{
    struct bat_fitness_share sum = {0};
    enum bat_verdict_check number = check_of[measure];
    const struct bat_fitness_function *function;
    for (uint64_t i = 0; (function = bat_fitness_get(fitness, i)) != NULL; i++) {
        const struct bat_fitness_share *share = &function->shares[measure];
        if (share->whole == 0 || bat_suppresses_function(&verdict->suppressions, number,
                                                         function->name, share->part != 0))
            continue;
        sum.part += share->part;
        sum.whole += share->whole;
        const struct bat_verdict_function added = {
            .address = function->address, .part = share->part, .whole = share->whole};
        if (share->part != 0 && !add_function(&verdict->results[number], function->name, &added))
            return false;
    }
    set_share(verdict, number, sum.part, sum.whole);
    return true;
}

static enum bat_code measure(struct bat_profile_verdict *verdict,
                             const struct bat_verdict_subject *subject, uint64_t *samples,
                             struct bat_error *error)
{
    struct bat_fitness *fitness;
    BAT_TRY(bat_profile_measure(subject->profile, subject->binary, subject->symbols,
                                subject->records, &fitness, error));
    bool is_done = true;
    for (size_t i = 0; i < BAT_FITNESS_MEASURES && is_done; i++)
        is_done = sum_measure(verdict, fitness, (enum bat_fitness_measure)i);
    const struct bat_fitness_function *function;
    for (uint64_t i = 0; (function = bat_fitness_get(fitness, i)) != NULL; i++)
        *samples += function->samples;
    bat_fitness_free(fitness);
    return is_done ? BAT_OK : bat_fail_memory(error, "for the checks");
}

/* --- What llvm-bolt will refuse -------------------------------------------------------------- */

void bat_verdict_stale_reason(const struct bat_records *records,
                              const struct bat_stale_function *stale,
                              char reason[BAT_VERDICT_REASON_SIZE])
{
    struct bat_record record;
    const char *guess = stale->is_by_note ? ", by the note alone" : "";
    if (stale->reason == BAT_STALE_NO_HASH || stale->reason == BAT_STALE_BLOCKS ||
        !bat_records_get(records, stale->record, &record))
        snprintf(reason, BAT_VERDICT_REASON_SIZE, "%s%s",
                 stale->reason == BAT_STALE_NO_HASH ? "YAML has no hash of it"
                                                    : "the note has other blocks than its code",
                 guess);
    else if (stale->reason == BAT_STALE_EXIT)
        snprintf(reason, BAT_VERDICT_REASON_SIZE, "no branch or call at +0x%lx%s",
                 record.from.offset, guess);
    else
        snprintf(reason, BAT_VERDICT_REASON_SIZE, "no way in its code from +0x%lx to +0x%lx%s",
                 record.from.offset, record.to.offset, guess);
}

static enum bat_code judge_stale(struct bat_profile_verdict *verdict,
                                 const struct bat_verdict_subject *subject, struct bat_error *error)
{
    const struct bat_records *records = subject->next ? subject->next->records : subject->records;
    uint64_t part = subject->judgement->stale_samples;
    uint64_t whole = subject->judgement->samples;
    struct bat_stale_function stale;
    for (uint64_t i = 0; bat_records_stale(records, subject->is_yaml, i, &stale); i++) {
        if (bat_suppresses_function(&verdict->suppressions, BAT_VERDICT_STALE, stale.name, true)) {
            part -= stale.samples;
            whole -= stale.samples;
            continue;
        }
        struct bat_verdict_function function = {
            .address = stale.address, .part = stale.samples, .whole = stale.samples};
        bat_verdict_stale_reason(records, &stale, function.reason);
        if (!add_function(&verdict->results[BAT_VERDICT_STALE], stale.name, &function))
            return bat_fail_memory(error, "for the checks");
    }
    set_share(verdict, BAT_VERDICT_STALE, part, whole);
    return BAT_OK;
}

/* --- The next build -------------------------------------------------------------------------- */

static enum bat_code judge_next(struct bat_profile_verdict *verdict,
                                const struct bat_verdict_next *next, struct bat_error *error)
{
    uint64_t whole = next->whole;
    for (size_t i = 0; i < next->lost_count; i++) {
        const struct bat_verdict_lost *lost = &next->lost[i];
        if (bat_suppresses_function(&verdict->suppressions, BAT_VERDICT_FOUND, lost->name, true)) {
            whole -= lost->count;
            continue;
        }
        struct bat_verdict_function function = {.part = lost->count, .whole = next->whole};
        if (lost->likeness > 0)
            snprintf(function.reason, BAT_VERDICT_REASON_SIZE, "its code is alike by %.0f%% only",
                     100 * lost->likeness);
        else
            snprintf(function.reason, BAT_VERDICT_REASON_SIZE, "it is gone");
        if (!add_function(&verdict->results[BAT_VERDICT_FOUND], lost->name, &function))
            return bat_fail_memory(error, "for the checks");
    }
    set_share(verdict, BAT_VERDICT_FOUND, next->found, whole);
    set_share(verdict, BAT_VERDICT_INFERRED, next->inferred, next->blocks);
    return BAT_OK;
}

/* --- Density --------------------------------------------------------------------------------- */

static bool add_density(const struct bat_function_density *density, void *context)
{
    struct bat_profile_verdict *verdict = context;
    if (!BAT_GROW(verdict->densities, verdict->density_count, verdict->density_capacity))
        return false;
    char *name = strdup(density->name);
    if (name)
        verdict->densities[verdict->density_count++] =
            (struct bat_verdict_density){name, density->branches, density->density};
    return name != NULL;
}

static enum bat_code judge_density(struct bat_profile_verdict *verdict,
                                   const struct bat_verdict_subject *subject,
                                   struct bat_error *error)
{
    double density;
    const struct bat_records *records =
        subject->all_records ? subject->all_records : subject->records;
    enum bat_code code = bat_records_measure_density(
        records, subject->moved, subject->density_cutoff, &density, add_density, verdict, error);
    if (code == BAT_OK && verdict->density_count != 0)
        set(verdict, BAT_VERDICT_DENSITY, density);
    return code;
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

static void judge_stacks(struct bat_profile_verdict *verdict,
                         const struct bat_verdict_subject *subject)
{
    const struct bat_profile_counters read = bat_profile_counters(subject->profile);
    uint64_t used = read.perf_plain_samples + read.perf_used_samples;
    if (subject->wants_samples)
        return;
    if (bat_profile_main_kind(subject->profile) == BAT_PROFILE_SAMPLES)
        set(verdict, BAT_VERDICT_STACKS, 1);
    else if (used != 0)
        set_share(verdict, BAT_VERDICT_STACKS, read.perf_plain_samples, used);
    else if (bat_profile_distinct(subject->profile) != 0)
        set(verdict, BAT_VERDICT_STACKS, 0);
}

/* BOLT's outputs and their inputs are linked within so many bytes, other objects are far away. */
#define NEIGHBOURHOOD ((uint64_t)1 << 31)

enum place { PLACE_ELSEWHERE, PLACE_CODE, PLACE_NOWHERE };

/* The binary's addresses. */
struct addresses {
    const struct bat_elf *elf;
    uint64_t lowest;
    struct bat_segment code; /* where the last address in code was found */
};

static bool is_code(struct addresses *addresses, uint64_t address)
{
    struct bat_segment *code = &addresses->code;
    if (address - code->address < code->memory_size)
        return true;
    for (size_t i = 0; bat_elf_segment(addresses->elf, i, code); i++)
        if (code->flags & PF_X && address - code->address < code->memory_size)
            return true;
    *code = (struct bat_segment){0};
    return false;
}

/* Where an address is. What the profile takes for another object has the address 0, or none. */
static enum place place_of(struct addresses *addresses, uint64_t address)
{
    if (address == 0 || address < addresses->lowest || address - addresses->lowest >= NEIGHBOURHOOD)
        return PLACE_ELSEWHERE;
    return is_code(addresses, address) ? PLACE_CODE : PLACE_NOWHERE;
}

/* Samples at addresses near the binary's code where it has none: they are of another program. */
static void judge_nowhere(struct bat_profile_verdict *verdict,
                          const struct bat_verdict_subject *subject)
{
    struct addresses addresses = {.elf = subject->binary->elf, .lowest = UINT64_MAX};
    uint64_t counts[] = {[PLACE_ELSEWHERE] = 0, [PLACE_CODE] = 0, [PLACE_NOWHERE] = 0};
    struct bat_segment segment;
    for (size_t i = 0; addresses.elf && bat_elf_segment(addresses.elf, i, &segment); i++)
        addresses.lowest = segment.address < addresses.lowest ? segment.address : addresses.lowest;
    struct bat_trace trace;
    for (uint64_t i = 0; bat_profile_trace(subject->profile, i, &trace); i++) {
        const uint64_t ends[] = {trace.branch, trace.from, trace.to};
        enum place worst = PLACE_ELSEWHERE;
        for (size_t j = 0; j < sizeof(ends) / sizeof(ends[0]); j++) {
            enum place place = place_of(&addresses, ends[j]);
            worst = place > worst ? place : worst;
        }
        counts[worst] += trace.count;
    }
    uint64_t address;
    uint64_t count;
    for (uint64_t i = 0; bat_profile_sample(subject->profile, i, &address, &count); i++)
        counts[place_of(&addresses, address)] += count;
    set_share(verdict, BAT_VERDICT_NOWHERE, counts[PLACE_NOWHERE],
              counts[PLACE_CODE] + counts[PLACE_NOWHERE]);
}

/* What the counters of the reading and of the translation say. */
static void judge_counters(struct bat_profile_verdict *verdict,
                           const struct bat_verdict_subject *subject)
{
    const struct bat_profile_counters read = bat_profile_counters(subject->profile);
    struct bat_translate_counters done = {0};
    if (subject->records)
        done = bat_records_counters(subject->records);
    const struct bat_to_input_counters *moved = subject->to_input;
    judge_stacks(verdict, subject);
    set_share(verdict, BAT_VERDICT_OUTSIDE, moved ? moved->external : done.external,
              moved ? moved->samples : done.samples);
    judge_nowhere(verdict, subject);
    set_share(verdict, BAT_VERDICT_KERNEL, read.perf_kernel_branches, read.perf_branches);
    set_share(verdict, BAT_VERDICT_LOST, read.perf_lost, read.perf_samples + read.perf_lost);
    if (moved)
        set_share(verdict, BAT_VERDICT_RUNS, moved->misfits, moved->samples);
    else
        set_share(verdict, BAT_VERDICT_RUNS, done.invalid - done.unread,
                  done.fallthroughs - done.out_of_range - done.unread);
}

void bat_verdict_judge_counters(struct bat_profile_verdict *verdict,
                                const struct bat_verdict_options *options,
                                const struct bat_verdict_subject *subject)
{
    *verdict = (struct bat_profile_verdict){.options = options};
    set_limits(verdict, subject->density_threshold);
    judge_counters(verdict, subject);
    if (subject->judgement)
        set_share(verdict, BAT_VERDICT_STALE, subject->judgement->stale_samples,
                  subject->judgement->samples);
    decide_all(verdict);
}

enum bat_code bat_verdict_judge(struct bat_profile_verdict *verdict,
                                const struct bat_verdict_subject *subject, struct bat_error *error)
{
    uint64_t samples = 0;
    set_limits(verdict, subject->density_threshold);
    BAT_TRY(measure(verdict, subject, &samples, error));
    enum bat_code code = BAT_OK;
    set_read(verdict);
    set(verdict, BAT_VERDICT_PROFILES, (double)subject->profiles);
    judge_counters(verdict, subject);
    uint64_t records =
        bat_profile_counters(subject->profile).fdata_records ? sum_records(subject->records) : 0;
    set(verdict, BAT_VERDICT_SAMPLES, (double)(samples > records ? samples : records));
    if (subject->baseline) {
        set_share(verdict, BAT_VERDICT_BASELINE_SAMPLES, subject->baseline->own,
                  subject->baseline->former);
        set(verdict, BAT_VERDICT_BASELINE, subject->baseline->functions);
    }
    if (subject->next)
        code = judge_next(verdict, subject->next, error);
    code = code ? code : judge_stale(verdict, subject, error);
    if (code == BAT_OK && bat_profile_main_kind(subject->profile) == BAT_PROFILE_BRANCHES)
        code = judge_density(verdict, subject, error);
    sort_functions(verdict);
    decide_all(verdict);
    return code;
}
