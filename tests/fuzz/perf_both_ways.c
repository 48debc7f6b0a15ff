/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "perf_both_ways.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "profile/perf/recording.h"
#include "profile/profile.h"
#include "profile_round_trip.h"

/* The bytes that a pipe takes without a reader. */
#define PIPE_SIZE 65536u

static struct bat_profile *new_profile(void)
{
    const struct bat_elf *elf = profile_binary()->elf;
    struct bat_profile_target target = {.size = sizeof(target), .elf = elf, .is_bolted = true};
    target.build_id = bat_elf_build_id(elf, &target.build_id_size);
    struct bat_profile *profile;
    fuzz_expect(bat_profile_new(&target, &profile, NULL) == BAT_OK,
                "there is memory for a profile");
    return profile;
}

/* Read a profile from a descriptor. NULL for an error, which must be a complete one. */
static struct bat_profile *read_descriptor(int file, const struct bat_read_options *options,
                                           size_t size)
{
    struct bat_profile *profile = new_profile();
    struct bat_error error = {0};
    enum bat_code code = bat_profile_read_file(profile, file, options, &error);
    if (code == BAT_OK)
        return profile;
    fuzz_expect_error(code, &error, size);
    if (error.place == BAT_PLACE_FILE)
        fuzz_expect(error.offset <= size, "the error's place lies inside the file");
    bat_profile_free(profile);
    return NULL;
}

static struct bat_profile *read_file(const void *bytes, size_t size,
                                     const struct bat_read_options *options)
{
    int file = fuzz_memory_file(bytes, size);
    struct bat_profile *profile = read_descriptor(file, options, size);
    close(file);
    return profile;
}

static struct bat_profile *read_pipe(const void *bytes, size_t size,
                                     const struct bat_read_options *options)
{
    int ends[2];
    fuzz_expect(pipe(ends) == 0 && write(ends[1], bytes, size) == (ssize_t)size,
                "bytes go through a pipe");
    close(ends[1]);
    struct bat_profile *profile = read_descriptor(ends[0], options, size);
    close(ends[0]);
    return profile;
}

static uint64_t sum(const struct bat_counts *counts)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < counts->count; i++)
        all += bat_counts_item(counts, i)[counts->words];
    return all;
}

static void expect_sums(const struct bat_profile *profile)
{
    const struct bat_profile_counters counters = bat_profile_counters(profile);
    fuzz_expect(counters.perf_foreign_samples + counters.perf_plain_samples <=
                    counters.perf_samples,
                "no sample is counted twice");
    fuzz_expect(counters.perf_branches == counters.perf_kernel_branches + counters.perf_wrong_path +
                                              counters.perf_dropped + counters.trace_records,
                "every branch of a stack is counted once");
    fuzz_expect(sum(&profile->traces) == counters.trace_records, "every branch is a trace");
    fuzz_expect(sum(&profile->samples) == counters.sample_records, "every sample has its address");
}

static void expect_same(const struct bat_profile *profile, const struct bat_profile *other)
{
    fuzz_expect(profile->traces.count == other->traces.count &&
                    profile->samples.count == other->samples.count &&
                    profile->mem_samples.count == other->mem_samples.count,
                "a pipe gives what a file gives");
    for (uint32_t i = 0; i < profile->traces.count; i++) {
        const uint64_t *item = bat_counts_item(&profile->traces, i);
        const uint64_t *found = bat_counts_find(&other->traces, item);
        fuzz_expect(found && found[3] == item[3] && found[4] == item[4],
                    "a pipe gives the traces that a file gives");
    }
}

/* Write it as pre-aggregated text and read that: the translation is the same. */
static void expect_same_as_text(struct bat_profile *profile)
{
    bat_profile_drop_memory(profile);
    char *path = fuzz_path("text");
    struct bat_error error = {0};
    struct bat_output *output;
    fuzz_expect(bat_output_begin(path, &output, &error) == BAT_OK, "an output can be begun");
    struct bat_profile *again = new_profile();
    bool is_empty = profile->traces.count + profile->samples.count + profile->events.count == 0;
    /* The sums of mispredictions may be too large, and an empty text is not a profile. */
    if (bat_profile_write_preagg(profile, output, &error) != BAT_OK) {
        bat_output_abandon(output);
    } else if (bat_outputs_commit(&output, 1, &error) == BAT_OK && !is_empty) {
        fuzz_expect(bat_profile_read(again, path, NULL, &error) == BAT_OK,
                    "what was written can be read");
        size_t size;
        size_t again_size;
        char *fdata = profile_translate(profile, &size);
        char *again_fdata = profile_translate(again, &again_size);
        fuzz_expect((fdata == NULL) == (again_fdata == NULL), "both can be translated, or none");
        fuzz_expect(!fdata || (size == again_size && memcmp(fdata, again_fdata, size) == 0),
                    "a profile that was written and read is translated to the same");
        free(fdata);
        free(again_fdata);
    }
    bat_profile_free(again);
    free(path);
}

void read_both_ways(const uint8_t *data, size_t size, bool basic_samples)
{
    const struct bat_read_options options = {.size = sizeof(options),
                                             .threads = 1,
                                             .basic_samples = basic_samples,
                                             .keep_kernel_branches = size % 2 != 0};
    struct bat_profile *profile = read_file(data, size, &options);
    if (profile)
        expect_sums(profile);
    if (size != 0 && size <= PIPE_SIZE) {
        struct bat_profile *piped = read_pipe(data, size, &options);
        fuzz_expect((profile == NULL) == (piped == NULL), "a pipe fails where a file fails");
        if (profile)
            expect_same(profile, piped);
        bat_profile_free(piped);
    }
    if (profile)
        expect_same_as_text(profile);
    bat_profile_free(profile);
}

static enum bat_code expect_recording(const struct perf_recording *recording, void *context,
                                      struct bat_error *error)
{
    (void)context;
    (void)error;
    uint64_t samples = 0;
    uint64_t stacks = 0;
    for (size_t i = 0; i < recording->file_count; i++) {
        const struct perf_recorded_file *file = &recording->files[i];
        fuzz_expect(file->samples != 0 && file->stacks <= file->samples, "a file has samples");
        fuzz_expect(i == 0 || file->samples <= file[-1].samples, "most samples come first");
        fuzz_expect(file->build_id_size <= 20, "a build-id has its size");
        samples += file->samples;
        stacks += file->stacks;
    }
    fuzz_expect(samples <= recording->placed && recording->placed <= recording->samples,
                "samples are counted once");
    fuzz_expect(stacks <= recording->stacks && recording->stacks <= recording->placed,
                "branch stacks are counted once");
    fuzz_expect(recording->kernel <= recording->placed, "the kernel's samples are some of all");
    fuzz_expect(strlen(recording->filter) < sizeof(recording->filter), "the filter has an end");
    return BAT_OK;
}

void explain_recording(const uint8_t *data, size_t size)
{
    struct bat_error error = {0};
    int file = fuzz_memory_file(data, size);
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    enum bat_code code = perf_recording_read(path, expect_recording, NULL, &error);
    if (code != BAT_OK)
        fuzz_expect_error(code, &error, size);
    close(file);
}
