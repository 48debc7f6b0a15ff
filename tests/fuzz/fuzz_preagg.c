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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bat_profile *profile = profile_read(data, size);
    if (!profile)
        return 0;
    size_t fdata_size;
    char *fdata = profile_translate(profile, &fdata_size);
    struct bat_profile_counters counters = bat_profile_counters(profile);
    fuzz_expect(counters.bytes >= size && counters.bytes <= size + 1, "all bytes were read");
    fuzz_expect(counters.trace_records + counters.sample_records + counters.fdata_records <=
                    counters.lines,
                "a line has one record at most");
    if (fdata && fdata_size != 0)
        expect_stable(fdata, fdata_size);
    free(fdata);
    bat_profile_free(profile);
    return 0;
}
