/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any bytes as perf.data: the samples add up, are the same through a pipe, and are translated. Call
 * chains have addresses of the binary.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bat_profile.h"
#include "fuzz.h"
#include "perf_both_ways.h"
#include "profile_round_trip.h"

/* The binary's addresses: [low, high). */
struct range {
    uint64_t low;
    uint64_t high;
};

/* True for an address of the binary, or of another file. */
static bool is_end(const struct range *range, uint64_t address)
{
    return address == BAT_ADDRESS_EXTERNAL || (address >= range->low && address < range->high);
}

static bool expect_chain(const struct bat_call_chain *chain, void *context)
{
    const struct range *range = context;
    fuzz_expect(chain->depth != 0, "a chain has frames");
    for (size_t i = 0; i < chain->depth; i++) {
        uint64_t frame = chain->frames[i];
        bool is_other = frame == BAT_ADDRESS_EXTERNAL || frame == BAT_FRAME_KERNEL;
        fuzz_expect(is_other || (frame >= range->low && frame < range->high),
                    "a frame is in the binary, or known not to be");
        fuzz_expect(!is_other || i == 0 || chain->frames[i - 1] != frame,
                    "neighbours outside of the binary are one frame");
    }
    for (size_t i = 0; i < chain->run_count; i++) {
        const struct bat_chain_run *run = &chain->runs[i];
        fuzz_expect(is_end(range, run->branch) && is_end(range, run->from),
                    "a branch has ends in the binary, or elsewhere");
        fuzz_expect(run->to == (i == 0 ? BAT_TRACE_BRANCH_ONLY : run[-1].branch),
                    "a run ends at the next branch");
    }
    return true;
}

static void list_chains(const uint8_t *data, size_t size)
{
    struct bat_profile *profile;
    struct bat_error error = {0};
    struct range range = {.low = UINT64_MAX};
    struct bat_segment segment;
    for (size_t i = 0; bat_elf_segment(profile_binary()->elf, i, &segment); i++) {
        if (segment.address < range.low)
            range.low = segment.address;
        if (segment.address + segment.memory_size > range.high)
            range.high = segment.address + segment.memory_size;
    }
    fuzz_expect(bat_profile_new_of(profile_binary(), &profile, NULL) == BAT_OK,
                "there is memory for a profile");
    int file = fuzz_memory_file(data, size);
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    enum bat_code code = bat_profile_call_chains(profile, path, NULL, expect_chain, &range, &error);
    if (code != BAT_OK)
        fuzz_expect_error(code, &error, size);
    close(file);
    bat_profile_free(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Other forms of profiles have other fuzz targets. */
    static const char magic[] = "PERFILE2";
    if (size < sizeof(magic) - 1 || memcmp(data, magic, sizeof(magic) - 1) != 0)
        return 0;
    read_both_ways(data, size, false);
    read_both_ways(data, size, true);
    list_chains(data, size);
    explain_recording(data, size);
    return 0;
}
