/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any bytes as a pre-aggregated profile: it is translated, and its fdata, read and translated
 * again, is the same. The two parts of a profile that is cut at any line add up to the same
 * records.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "profile_round_trip.h"

static void expect_stable(const char *fdata, size_t size)
{
    struct bat_profile *again = profile_read(fdata, size);
    fuzz_expect(again != NULL, "fdata that was written can be read");
    size_t again_size;
    char *text = profile_translate(again, &again_size);
    fuzz_expect(text && again_size == size && memcmp(text, fdata, size) == 0,
                "fdata that was written stays as it is");
    free(text);
    bat_profile_free(again);
}

/* What is told of a profile, added to another one, makes the same; merged, all is there. */
static void expect_copies(const struct bat_profile *profile)
{
    struct bat_profile *copy;
    fuzz_expect(bat_profile_new(NULL, &copy, NULL) == BAT_OK, "there is memory for a profile");
    struct bat_trace trace;
    uint64_t traces = 0;
    for (; bat_profile_trace(profile, traces, &trace); traces++)
        fuzz_expect(bat_profile_add_trace(copy, &trace, NULL) == BAT_OK,
                    "a trace that was read can be added");
    uint64_t address;
    uint64_t count;
    uint64_t samples = 0;
    for (; bat_profile_sample(profile, samples, &address, &count); samples++)
        fuzz_expect(bat_profile_add_sample(copy, address, count, NULL) == BAT_OK,
                    "a sample that was read can be added");
    fuzz_expect(bat_profile_distinct(copy) == traces + samples, "each is told once");
    bat_profile_free(copy);
    fuzz_expect(bat_profile_new(NULL, &copy, NULL) == BAT_OK &&
                    bat_profile_merge(copy, profile, NULL) == BAT_OK,
                "a profile that was read can be merged");
    fuzz_expect(bat_profile_distinct(copy) == bat_profile_distinct(profile),
                "what is merged is all there");
    bat_profile_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bat_profile *profile = profile_read(data, size);
    if (!profile)
        return 0;
    size_t fdata_size;
    char *fdata = profile_translate(profile, &fdata_size);
    struct bat_profile_counters counters = bat_profile_counters(profile);
    fuzz_expect(counters.bytes >= size && counters.bytes <= size + 1, "all bytes were read");
    expect_copies(profile);
    fuzz_expect(counters.trace_records + counters.sample_records + counters.fdata_records <=
                    counters.lines,
                "a line has one record at most");
    if (fdata && fdata_size != 0)
        expect_stable(fdata, fdata_size);
    free(fdata);
    bat_profile_free(profile);
    return 0;
}
