/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any bytes as an ELF file with DWARF: opening it and looking up addresses ends, and the answers
 * are sound: strings end, functions have code, and the same question has the same answer. A sample
 * profile can be made with it.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bat_autofdo.h"
#include "bat_debuginfo.h"
#include "bat_elf.h"
#include "fuzz.h"
#include "profile/profile.h"

/* Read all of a string, so that a sanitizer sees it. */
static size_t length_of(const char *text)
{
    return text ? strlen(text) : 0;
}

static size_t expect_frames(struct bat_debuginfo *debuginfo, uint64_t address)
{
    const struct bat_frame *frames;
    size_t count = bat_debuginfo_frames(debuginfo, address, &frames);
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        length += length_of(frames[i].linkage_name) + length_of(frames[i].name) +
                  length_of(frames[i].file) + length_of(frames[i].start_file);
    return count + length;
}

static void expect_function(struct bat_debuginfo *debuginfo, uint64_t address)
{
    const struct bat_debuginfo_function *function = bat_debuginfo_function(debuginfo, address);
    if (!function)
        return;
    fuzz_expect(function->range_count > 0, "a function has code");
    fuzz_expect(function->entry == function->ranges[0].start, "a function starts with its entry");
    for (size_t i = 0; i < function->range_count; i++)
        fuzz_expect(function->ranges[i].start < function->ranges[i].end, "a range has addresses");
    fuzz_expect(function->namesake != NULL, "a function is in a ring");
}

static void look_up(struct bat_debuginfo *debuginfo, uint64_t address)
{
    size_t first = expect_frames(debuginfo, address);
    fuzz_expect(expect_frames(debuginfo, address) == first, "the second answer is the first");
    expect_function(debuginfo, address);
    struct bat_frame frame;
    if (bat_debuginfo_line(debuginfo, address, &frame))
        length_of(frame.file);
}

/* Traces all over a segment, from starts of instructions and from other bytes. */
static void add_traces(struct bat_profile *profile, uint64_t address)
{
    for (uint64_t at = 0; at < 1024; at += 3) {
        uint64_t trace[3] = {address + at / 2, address + at, address + at + at % 64};
        fuzz_expect(bat_counts_add(&profile->traces, trace, at + 1, 0) == BAT_OK,
                    "traces can be added up");
    }
}

static void write_profiles(struct bat_debuginfo *debuginfo, const struct bat_elf *elf,
                           uint64_t address)
{
    struct bat_profile_target target = {.size = sizeof(target), .base_address = 0};
    struct bat_profile *profile;
    fuzz_expect(bat_profile_new(&target, &profile, NULL) == BAT_OK,
                "there is memory for a profile");
    add_traces(profile, address);
    struct bat_autofdo_counters counters;
    struct bat_error error;
    struct bat_output *output;
    fuzz_expect(bat_output_begin("/dev/null", &output, &error) == BAT_OK,
                "nothing hinders an output that nobody reads");
    enum bat_code code =
        bat_autofdo_write(profile, elf, debuginfo, BAT_PROFILE_BRANCHES, output, &counters, &error);
    bat_output_abandon(output);
    if (code != BAT_OK)
        fuzz_expect_error(code, &error, UINT64_MAX);
    bat_profile_free(profile);
}

/* reads_ahead: the profiles come first, whose units are read ahead; else look-ups read them. */
static void look_up_all(struct bat_debuginfo *debuginfo, const char *path, bool reads_ahead)
{
    struct bat_elf *elf;
    if (bat_elf_open(path, &elf, NULL) != BAT_OK)
        return;
    struct bat_segment segment;
    for (size_t i = 0; reads_ahead && i < 4 && bat_elf_segment(elf, i, &segment); i++)
        write_profiles(debuginfo, elf, segment.address);
    for (size_t i = 0; i < 4 && bat_elf_segment(elf, i, &segment); i++)
        for (uint64_t at = 0; at < 1024 && at < segment.memory_size; at++)
            look_up(debuginfo, segment.address + at);
    for (size_t i = 0; !reads_ahead && i < 4 && bat_elf_segment(elf, i, &segment); i++)
        write_profiles(debuginfo, elf, segment.address);
    bat_elf_close(elf);
    look_up(debuginfo, 0);
    look_up(debuginfo, UINT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *path = fuzz_spread_file(data, size);
    struct bat_debuginfo *debuginfo;
    struct bat_error error;
    enum bat_code code = bat_debuginfo_open(path, NULL, &debuginfo, &error);
    if (code == BAT_OK) {
        /* A byte of the file's identification that nothing reads. */
        look_up_all(debuginfo, path, size % 2 == 0 || data[15] % 2 != 0);
        bat_debuginfo_close(debuginfo);
    } else {
        fuzz_expect_error(code, &error, UINT64_MAX);
    }
    unlink(path);
    free(path);
    return 0;
}
