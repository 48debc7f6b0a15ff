/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any bytes as a profile of two binaries, a program before and after BOLT: each gets what it gets
 * when the profile is read for it alone, and if that fails, nothing.
 */
#include <stdio.h>
#include <unistd.h>

#include "demo.h"
#include "fuzz.h"
#include "profile/joint.h"
#include "profile/profile.h"

#define BINARIES 2u

static const struct bat_read_options options = {.size = sizeof(options), .threads = 1};

static struct bat_elf *open_elf(size_t number)
{
    static struct bat_elf *all[BINARIES];
    if (!all[number])
        fuzz_expect(bat_elf_open(number == 0 ? demo_bolted() : demo_input(), &all[number], NULL) ==
                        BAT_OK,
                    "the demonstration's binaries can be opened");
    return all[number];
}

static struct bat_profile *new_profile(size_t number)
{
    struct bat_elf *elf = open_elf(number);
    struct bat_profile_target target = {
        .size = sizeof(target), .elf = elf, .is_bolted = number == 0};
    target.build_id = bat_elf_build_id(elf, &target.build_id_size);
    struct bat_profile *profile;
    fuzz_expect(bat_profile_new(&target, &profile, NULL) == BAT_OK,
                "there is memory for a profile");
    return profile;
}

/*
 * Records whose addresses below and far above the binary are one: no code is there, and read
 * together they are not kept apart.
 */
static struct bat_counts without_far(const struct bat_counts *counts, size_t number)
{
    uint64_t low = bat_elf_base_address(open_elf(number));
    uint64_t farthest = BAT_JOINT_RETURN - 1;
    struct bat_counts same = bat_counts_new(counts->words);
    for (uint32_t i = 0; i < counts->count; i++) {
        const uint64_t *item = bat_counts_item(counts, i);
        uint64_t key[BAT_COUNTS_MAX_WORDS];
        for (uint32_t k = 0; k < counts->words; k++) {
            bool is_address =
                item[k] != BAT_ADDRESS_EXTERNAL && item[k] < BAT_TRACE_EXTERNAL_RETURN;
            bool is_far = is_address && item[k] - low > farthest;
            key[k] = is_far ? low + farthest : item[k];
        }
        fuzz_expect(bat_counts_add(&same, key, item[counts->words], item[counts->words + 1]) ==
                        BAT_OK,
                    "records of far addresses add up");
    }
    return same;
}

static void expect_same_counts(const struct bat_counts *alone, const struct bat_counts *together,
                               size_t number)
{
    struct bat_counts left = without_far(alone, number);
    struct bat_counts right = without_far(together, number);
    fuzz_expect(left.count == right.count, "read together, a binary gets as many records");
    for (uint32_t i = 0; i < left.count; i++) {
        const uint64_t *item = bat_counts_item(&left, i);
        const uint64_t *found = bat_counts_find(&right, item);
        fuzz_expect(found && found[left.words] == item[left.words] &&
                        found[left.words + 1] == item[left.words + 1],
                    "read together, a binary gets the same records");
    }
    bat_counts_free(&left);
    bat_counts_free(&right);
}

static void expect_empty(const struct bat_profile *profile)
{
    fuzz_expect(bat_profile_distinct(profile) == 0 && bat_profile_memory_samples(profile) == 0,
                "a binary without samples gets nothing");
}

/* What the binary gets alone is what it got beside the other. */
static void check_alone(size_t number, const struct bat_profile *together, int file)
{
    struct bat_profile *alone = new_profile(number);
    struct bat_error error = {0};
    enum bat_code code = bat_profile_read_file(alone, file, &options, &error);
    if (code == BAT_OK) {
        expect_same_counts(&alone->traces, &together->traces, number);
        expect_same_counts(&alone->samples, &together->samples, number);
        expect_same_counts(&alone->mem_samples, &together->mem_samples, number);
    } else {
        fuzz_expect(code == BAT_ERR_MISMATCH, "alone, a binary fails for lack of samples only");
        expect_empty(together);
    }
    bat_profile_free(alone);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int file = fuzz_memory_file(data, size);
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    struct bat_profile *profiles[BINARIES] = {new_profile(0), new_profile(1)};
    uint64_t inside[BINARIES] = {0};
    struct bat_profiles_counters counters = {.size = sizeof(counters), .inside = inside};
    struct bat_error error = {0};
    enum bat_code code = bat_profiles_read(profiles, BINARIES, path, &options, &counters, &error);
    if (code == BAT_OK) {
        fuzz_expect(counters.none <= counters.samples, "no sample is counted twice");
        for (size_t i = 0; i < BINARIES; i++) {
            fuzz_expect(inside[i] <= counters.samples, "no binary has more samples than there are");
            check_alone(i, profiles[i], file);
        }
    } else {
        fuzz_expect_error(code, &error, size);
        fuzz_expect(counters.samples == 0, "a profile that cannot be read has no samples");
        for (size_t i = 0; i < BINARIES; i++)
            expect_empty(profiles[i]);
    }
    for (size_t i = 0; i < BINARIES; i++)
        bat_profile_free(profiles[i]);
    close(file);
    return 0;
}
