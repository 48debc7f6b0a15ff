/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The demo's input and BOLTed binary with any tables that a note can hold, and any traces: moved
 * traces lie in the input's functions and run forwards, and no sample is lost or counted twice.
 */
#include <stdlib.h>
#include <string.h>

#include "bat_decoder.h"
#include "binary/original/original.h"
#include "demo.h"
#include "fuzz.h"
#include "profile/profile.h"

static struct bat_binary *demo(void)
{
    static struct bat_binary binary;
    if (!binary.elf)
        fuzz_expect(bat_binary_open(demo_bolted(), &binary, NULL) == BAT_OK,
                    "the demonstration's binary can be opened");
    return &binary;
}

static int compare_offsets(const void *left, const void *right)
{
    uint32_t left_offset = *(const uint32_t *)left;
    uint32_t right_offset = *(const uint32_t *)right;
    return left_offset < right_offset ? -1 : left_offset > right_offset;
}

/* Change some entries; their output offsets must ascend. */
static void change_map(struct bat_map *map, struct fuzz_bytes *bytes)
{
    for (uint64_t changes = fuzz_take(bytes, 1) % 16; changes > 0; changes--) {
        uint32_t entry = (uint32_t)(fuzz_take(bytes, 2) % map->entry_count);
        uint32_t value = (uint32_t)fuzz_take(bytes, fuzz_take(bytes, 1) % 8 == 0 ? 4 : 1);
        if (fuzz_take(bytes, 1) & 1)
            map->output_offsets[entry] = value;
        else
            map->input_offsets[entry] = value << 1 | (map->input_offsets[entry] & 1);
    }
    for (uint32_t i = 0; i < bat_map_tables(map); i++)
        qsort(map->output_offsets + map->tables[i].first_entry, map->tables[i].entry_count,
              sizeof(*map->output_offsets), compare_offsets);
}

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
        const struct bat_table *table = &map->tables[fuzz_take(bytes, 1) % bat_map_tables(map)];
        if (table->entry_count == 0)
            return table->address;
        uint32_t entry = (uint32_t)fuzz_take(bytes, 1) % table->entry_count;
        return table->address + map->output_offsets[table->first_entry + entry];
    }
    const struct bat_function_symbol *function =
        &original->outputs[fuzz_take(bytes, 1) % original->output_count];
    return function->address + fuzz_take(bytes, 1) % (function->extent + 1);
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

static void expect_inside(const struct bat_original *original, uint64_t address)
{
    struct bat_original_place place;
    fuzz_expect(address == BAT_ADDRESS_EXTERNAL || address >= BAT_TRACE_EXTERNAL_RETURN ||
                    bat_original_input_function_at(original, address, &place),
                "addresses of a moved profile are in functions of the input");
}

static void check_moved(const struct bat_original *original, const struct bat_profile *moved)
{
    for (uint32_t i = 0; i < moved->traces.count; i++) {
        const uint64_t *trace = bat_counts_item(&moved->traces, i);
        for (int word = 0; word < 3; word++)
            expect_inside(original, trace[word]);
        fuzz_expect(trace[2] >= BAT_TRACE_EXTERNAL_RETURN || trace[2] == BAT_ADDRESS_EXTERNAL ||
                        trace[1] <= trace[2],
                    "moved runs go forwards");
        fuzz_expect(trace[3] != 0 && trace[4] <= trace[3], "moved traces have counts");
    }
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
                                                  .original = choice & 8 ? original : NULL};
    enum bat_code code =
        choice & 4 ? bat_profile_translate_moved(moved, profile, original, &options, &records, NULL)
                   : bat_profile_translate(profile, binary, &options, &records, NULL);
    fuzz_expect(code == BAT_OK, "any profile can be translated");
    check_judgements(records);
}

static void check(struct bat_binary *binary, const struct bat_original *original,
                  struct fuzz_bytes *bytes)
{
    check_places(original, choose_address(original, bytes));
    uint64_t samples = 0;
    struct bat_profile *profile = make_profile(original, bytes, &samples);
    struct bat_profile *moved = NULL;
    struct bat_to_input_counters counters;
    fuzz_expect(bat_profile_to_input(profile, binary, original, &moved, &counters, NULL) == BAT_OK,
                "any profile can be moved");
    fuzz_expect(counters.samples == samples && counters.moved + counters.external == samples,
                "each sample is moved or outside");
    check_moved(original, moved);
    check_records(profile, moved, binary, original, bytes);
    bat_profile_free(moved);
    bat_profile_free(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, size};
    struct bat_binary binary = *demo();
    fuzz_expect(bat_decode(binary.note, binary.note_size, NULL, &binary.map, NULL) == BAT_OK,
                "the demonstration's note can be decoded");
    change_map(binary.map, &bytes);
    struct bat_elf *elf;
    fuzz_expect(bat_elf_open(demo_input(), &elf, NULL) == BAT_OK, "the input can be opened");
    struct bat_original *original;
    struct bat_misfits misfits;
    fuzz_expect(bat_original_pair(elf, &binary, NULL, false, NULL, &original, &misfits, NULL) ==
                    BAT_OK,
                "any tables can be paired");
    check(&binary, original, &bytes);
    bat_original_close(original);
    bat_elf_close(elf);
    bat_map_free(binary.map);
    return 0;
}
