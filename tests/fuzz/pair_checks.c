/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pair_checks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "profile/profile.h"

/* An address near an entry or a limit. */
static uint64_t choose_address(const struct bat_original *original, struct fuzz_bytes *bytes)
{
    uint64_t kind = fuzz_take(bytes, 1);
    if (kind < 24)
        return UINT64_MAX - kind % 4;
    if (kind < 32)
        return fuzz_take(bytes, 4);
    const struct bat_map *map = original->binary->map;
    if (kind < 128) {
        if (bat_map_tables(map) == 0)
            return 0;
        const struct bat_table *table = &map->tables[fuzz_take(bytes, 1) % bat_map_tables(map)];
        if (table->entry_count == 0)
            return table->address;
        uint32_t entry = (uint32_t)fuzz_take(bytes, 1) % table->entry_count;
        return table->address + map->output_offsets[table->first_entry + entry];
    }
    if (original->output_count == 0)
        return 0;
    const struct bat_function_symbol *function =
        &original->outputs[fuzz_take(bytes, 1) % original->output_count];
    return function->address + fuzz_take(bytes, 1) % (bat_function_extent(function) + 1);
}

static struct bat_profile *make_profile(const struct bat_original *original,
                                        struct fuzz_bytes *bytes, uint64_t *samples)
{
    const struct bat_profile_target target = {.size = sizeof(target)};
    struct bat_profile *profile;
    fuzz_expect(bat_profile_new(&target, &profile, NULL) == BAT_OK,
                "there is memory for a profile");
    while (bytes->left != 0) {
        struct bat_trace trace = {.is_return = false};
        trace.branch = choose_address(original, bytes);
        trace.from = choose_address(original, bytes);
        trace.to = choose_address(original, bytes);
        trace.count = fuzz_take(bytes, 1);
        trace.mispredictions = trace.count / 2;
        fuzz_expect(bat_profile_add_trace(profile, &trace, NULL) == BAT_OK, "few traces add up");
        *samples += trace.count;
    }
    return profile;
}

static bool is_damaged; /* the input: symbols overlap, branches lead anywhere */

static void expect_inside(const struct bat_original *original, uint64_t address)
{
    struct bat_original_place place;
    if (address == BAT_ADDRESS_EXTERNAL || address >= BAT_TRACE_EXTERNAL_RETURN ||
        bat_original_input_function_at(original, address, &place) ||
        (is_damaged && bat_elf_is_executable(original->elf, address)))
        return;
    fprintf(stderr, "0x%llx: ", (unsigned long long)address);
    fuzz_fail("addresses of a moved profile are in functions of the input");
}

/* Code that falls out of its function begins or ends a run where the function ends. */
static void expect_inside_or_at_end(const struct bat_original *original, uint64_t address)
{
    struct bat_original_place place;
    if (address == 0 || !bat_original_input_function_at(original, address - 1, &place))
        expect_inside(original, address);
}

static void check_moved(const struct bat_original *original, const struct bat_profile *moved)
{
    for (uint32_t i = 0; i < moved->traces.count; i++) {
        const uint64_t *trace = bat_counts_item(&moved->traces, i);
        expect_inside(original, trace[0]);
        for (int word = 1; word < (is_damaged ? 1 : 3); word++)
            expect_inside_or_at_end(original, trace[word]);
        fuzz_expect(trace[2] >= BAT_TRACE_EXTERNAL_RETURN || trace[2] == BAT_ADDRESS_EXTERNAL ||
                        trace[1] <= trace[2],
                    "moved runs go forwards");
        /* Where a count is divided, a part of its mispredictions can be without a part of it. */
        fuzz_expect(trace[3] != 0 || trace[4] != 0, "moved traces have counts");
    }
}

static void expect_same_counts(const struct bat_counts *left, const struct bat_counts *right)
{
    fuzz_expect(left->count == right->count, "a profile moved again has as many traces");
    for (uint32_t i = 0; i < left->count; i++) {
        const uint64_t *item = bat_counts_item(left, i);
        const uint64_t *same = bat_counts_find(right, item);
        fuzz_expect(same && memcmp(item, same, (left->words + 2u) * sizeof(*item)) == 0,
                    "a profile moved again has the same traces");
    }
}

/* The same profile gives the same result each time. */
static void check_again(const struct bat_profile *profile, struct bat_binary *binary,
                        const struct bat_original *original, const struct bat_profile *moved)
{
    struct bat_profile *again;
    fuzz_expect(bat_profile_to_input(profile, binary, original, &again, NULL, NULL) == BAT_OK,
                "any profile can be moved again");
    expect_same_counts(&moved->traces, &again->traces);
    expect_same_counts(&moved->samples, &again->samples);
    bat_profile_free(again);
}

/* Single addresses, in both directions. */
static void check_places(const struct bat_original *original, uint64_t address)
{
    struct bat_original_place place;
    if (bat_original_input_of(original, address, false, &place))
        expect_inside(original, place.address);
    if (bat_original_input_of(original, address, true, &place))
        expect_inside(original, place.address);
    uint64_t *found = NULL;
    size_t count = 0;
    fuzz_expect(bat_original_outputs_of(original, address, &found, &count, NULL) == BAT_OK,
                "there is memory for places");
    for (size_t i = 1; i < count; i++)
        fuzz_expect(found[i - 1] < found[i], "places ascend, each once");
    free(found);
}

/*
 * Each count is in the result, or left out for a reason. Code at the end of all addresses looks
 * like the constants that stand for no branch.
 */
static void expect_balanced(const struct bat_original *original,
                            const struct bat_balances *balances)
{
    if (bat_elf_is_executable(original->elf, BAT_TRACE_EXTERNAL_RETURN))
        return;
    const struct bat_balance *const all[] = {&balances->branches, &balances->runs,
                                             &balances->mispredictions, &balances->samples,
                                             &balances->loads};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (bat_balance_missing(all[i]) == 0)
            continue;
        fprintf(stderr, "balance %zu misses %lld: ", i, (long long)bat_balance_missing(all[i]));
        fuzz_fail("counts add up");
    }
}

/* Judge the records of both outputs, and free them. */
static void check_judgements(struct bat_records *records)
{
    for (unsigned is_yaml = 0; is_yaml < 2; is_yaml++) {
        struct bat_judgement judgement;
        fuzz_expect(bat_records_judge(records, is_yaml != 0, &judgement, NULL) == BAT_OK,
                    "any records can be judged");
        fuzz_expect(judgement.stale_functions <= judgement.functions &&
                        judgement.stale_samples <= judgement.samples &&
                        judgement.functions_by_note <= judgement.functions,
                    "parts are not larger than the whole");
    }
    bat_records_free(records);
}

/* With and without the input's code, and with and without perf2bolt's records. */
static void check_records(const struct bat_profile *profile, const struct bat_profile *moved,
                          struct bat_binary *binary, const struct bat_original *original,
                          struct fuzz_bytes *bytes)
{
    uint64_t choice = fuzz_take(bytes, 1);
    struct bat_records *records;
    const struct bat_translate_options options = {.size = sizeof(options),
                                                  .keep_all_records = choice & 1,
                                                  .will_be_judged = choice & 2,
                                                  .threads = 1,
                                                  .original = choice & 8 ? original : NULL};
    enum bat_code code =
        choice & 4 ? bat_profile_translate_moved(moved, profile, original, &options, &records, NULL)
                   : bat_profile_translate(profile, binary, &options, &records, NULL);
    fuzz_expect(code == BAT_OK, "any profile can be translated");
    const struct bat_translate_counters counters = bat_records_counters(records);
    expect_balanced(original, &counters.balances);
    check_judgements(records);
}

void fuzz_check_pair(struct bat_binary *binary, const struct bat_original *original,
                     bool is_damaged_input, struct fuzz_bytes *bytes)
{
    is_damaged = is_damaged_input;
    check_places(original, choose_address(original, bytes));
    uint64_t samples = 0;
    struct bat_profile *profile = make_profile(original, bytes, &samples);
    struct bat_profile *moved = NULL;
    struct bat_to_input_counters counters;
    fuzz_expect(bat_profile_to_input(profile, binary, original, &moved, &counters, NULL) == BAT_OK,
                "any profile can be moved");
    fuzz_expect(counters.samples == samples && counters.moved + counters.external == samples,
                "each sample is moved or outside");
    expect_balanced(original, &counters.balances);
    check_moved(original, moved);
    check_again(profile, binary, original, moved);
    check_records(profile, moved, binary, original, bytes);
    bat_profile_free(moved);
    bat_profile_free(profile);
}
