/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any bytes as an ELF file with DWARF: opening it and looking up addresses ends, and what is told
 * is sound: strings that end, functions that have code, and the same answer when asked again.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bat_debuginfo.h"
#include "bat_elf.h"
#include "fuzz.h"

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

static void look_up_all(struct bat_debuginfo *debuginfo, const char *path)
{
    struct bat_elf *elf;
    if (bat_elf_open(path, &elf, NULL) != BAT_OK)
        return;
    struct bat_segment segment;
    for (size_t i = 0; i < 4 && bat_elf_segment(elf, i, &segment); i++)
        for (uint64_t at = 0; at < 1024 && at < segment.memory_size; at++)
            look_up(debuginfo, segment.address + at);
    bat_elf_close(elf);
    look_up(debuginfo, 0);
    look_up(debuginfo, UINT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *path = fuzz_path("input");
    fuzz_write_file(path, data, size);
    struct bat_debuginfo *debuginfo;
    struct bat_error error;
    enum bat_code code = bat_debuginfo_open(path, NULL, &debuginfo, &error);
    if (code == BAT_OK) {
        look_up_all(debuginfo, path);
        bat_debuginfo_close(debuginfo);
    } else {
        fuzz_expect_error(code, &error, UINT64_MAX);
    }
    unlink(path);
    free(path);
    return 0;
}
