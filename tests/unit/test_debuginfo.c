/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* debuginfo/: what it says of every instruction of small programs is what LLVM's symbolizer says.
 */
#include <unistd.h>

#include "bat_debuginfo.h"
#include "bat_elf.h"
#include "debuginfo/debuginfo.h"
#include "folder.h"
#include "kept.h"
#include "unit_test.h"

#define FOLDER TEST_DATA "/debug/"

KEPT(kept_debuginfo, struct bat_debuginfo, bat_debuginfo_close)

static struct bat_debuginfo *open_program(const char *name, const char *debug_file)
{
    char path[512];
    snprintf(path, sizeof(path), FOLDER "%s", name);
    struct bat_debuginfo *debuginfo;
    struct bat_error error;
    if (bat_debuginfo_open(path, debug_file, &debuginfo, &error) != BAT_OK)
        fail_msg("%s: %s", path, error.message);
    return kept_debuginfo(debuginfo);
}

/* The frames of an address as make.sh writes what the symbolizer says. */
static void print_frames(struct bat_debuginfo *debuginfo, uint64_t address, char *text, size_t size)
{
    const struct bat_frame *frames;
    size_t count = bat_debuginfo_frames(debuginfo, address, &frames);
    size_t used = (size_t)snprintf(text, size, "0x%llx", (unsigned long long)address);
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, size - used, "|%s %s %u %u %u %u",
                                 frames[i].linkage_name, frames[i].file, frames[i].line,
                                 frames[i].column, frames[i].discriminator, frames[i].start_line);
    /* Padding between functions has a line, but no function. */
    struct bat_frame line;
    if (count == 0 && bat_debuginfo_line(debuginfo, address, &line))
        used += (size_t)snprintf(text + used, size - used, "| %s %u %u %u 0", line.file, line.line,
                                 line.column, line.discriminator);
    snprintf(text + used, size - used, "\n");
}

static void expect_all(const char *name, struct bat_debuginfo *debuginfo)
{
    char path[512];
    snprintf(path, sizeof(path), FOLDER "%s.expected", name);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    char expected[1024];
    char found[1024];
    unsigned lines = 0;
    for (; fgets(expected, sizeof(expected), file); lines++) {
        print_frames(debuginfo, strtoull(expected, NULL, 16), found, sizeof(found));
        assert_string_equal(found, expected);
    }
    fclose(file);
    assert_true(lines > 50);
}

TEST(test_frames)
{
    static const char *const programs[] = {"dwarf2",     "dwarf4",   "dwarf5",  "lto",
                                           "compressed", "sections", "dropped", "gcc5"};
    for (size_t i = 0; i < COUNT(programs); i++) {
        struct bat_debuginfo *debuginfo = open_program(programs[i], NULL);
        expect_all(programs[i], debuginfo);
    }
}

TEST(test_separate_file)
{
    struct bat_debuginfo *debuginfo = open_program("stripped", FOLDER "dwarf5.debug");
    assert_string_equal(bat_debuginfo_path(debuginfo), FOLDER "dwarf5.debug");
    expect_all("dwarf5", debuginfo);
}

static void expect_refused(const char *program, const char *debug_file, enum bat_code code,
                           const char *message)
{
    char path[512];
    snprintf(path, sizeof(path), FOLDER "%s", program);
    struct bat_debuginfo *debuginfo = NULL;
    struct bat_error error;
    assert_int_equal(bat_debuginfo_open(path, debug_file, &debuginfo, &error), code);
    assert_int_equal(error.code, code);
    assert_non_null(strstr(error.message, message));
    assert_null(debuginfo);
}

TEST(test_refused)
{
    expect_refused("stripped", NULL, BAT_ERR_NO_DEBUG, "-fdebug-info-for-profiling");
    expect_refused("stripped", FOLDER "stripped", BAT_ERR_NO_DEBUG, "compiled with -g");
    expect_refused("stripped", FOLDER "dwarf4", BAT_ERR_MISMATCH, "of build-id");
    expect_refused("stripped", FOLDER "missing", BAT_ERR_IO, "cannot be opened");
    expect_refused("stripped", FOLDER "make.sh", BAT_ERR_NOT_ELF, "not an ELF file");
    expect_refused("missing", NULL, BAT_ERR_IO, "cannot be opened");
}

/* Functions that the linker has dropped are nowhere, not at address 0. */
TEST(test_dropped)
{
    struct bat_debuginfo *debuginfo = open_program("dropped", NULL);
    assert_int_equal(debuginfo->code[0].start, 0);
    const struct bat_frame *frames;
    struct bat_frame line;
    for (uint64_t address = 0; address < 16; address++) {
        assert_int_equal(bat_debuginfo_frames(debuginfo, address, &frames), 0);
        assert_false(bat_debuginfo_line(debuginfo, address, &line));
        assert_null(bat_debuginfo_function(debuginfo, address));
    }
}

/* Units are read when an address is in them. */
TEST(test_units)
{
    struct bat_debuginfo *debuginfo = open_program("dwarf5", NULL);
    struct bat_debuginfo_counters counters = bat_debuginfo_counters(debuginfo);
    assert_int_equal(counters.units, 2);
    assert_int_equal(counters.units_read, 0);
    const struct bat_frame *frames;
    assert_int_equal(bat_debuginfo_frames(debuginfo, 0x10, &frames), 0);
    assert_int_equal(bat_debuginfo_counters(debuginfo).units_read, 0);
    uint64_t address = debuginfo->runs[0].start;
    for (int i = 0; i < 3; i++)
        assert_true(bat_debuginfo_frames(debuginfo, address, &frames) > 0);
    assert_int_equal(bat_debuginfo_counters(debuginfo).units_read, 1);
}

TEST(test_lines_alone)
{
    struct bat_debuginfo *debuginfo = open_program("dwarf5", NULL);
    uint64_t address = debuginfo->runs[0].start;
    const struct bat_frame *frames;
    assert_true(bat_debuginfo_frames(debuginfo, address, &frames) > 0);
    struct bat_frame inner = frames[0];
    struct bat_frame line;
    assert_true(bat_debuginfo_line(debuginfo, address, &line));
    assert_string_equal(line.file, inner.file);
    assert_int_equal(line.line, inner.line);
    assert_int_equal(line.column, inner.column);
    assert_null(line.linkage_name);
    assert_false(bat_debuginfo_line(debuginfo, 0x10, &line));
    assert_int_equal(line.line, 0);
}

/* The address of a function's symbol in a program of FOLDER; 0 if it has none. */
static uint64_t symbol_address(const char *program, const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), FOLDER "%s", program);
    return address_in(path, name);
}

/* With sections for blocks functions have several pieces; calls go to where their symbol is. */
TEST(test_functions)
{
    struct bat_debuginfo *debuginfo = open_program("sections", NULL);
    size_t several = 0;
    for (size_t i = 0; i < debuginfo->run_count; i++) {
        const struct bat_debuginfo_function *function =
            bat_debuginfo_function(debuginfo, debuginfo->runs[i].start);
        assert_non_null(function);
        assert_int_equal(function->entry, symbol_address("sections", function->linkage_name));
        assert_ptr_equal(function->namesake, function);
        several += function->range_count > 1;
        for (size_t j = 0; j < function->range_count; j++)
            assert_ptr_equal(bat_debuginfo_function(debuginfo, function->ranges[j].end - 1),
                             function);
    }
    assert_true(several > 0);
    assert_null(bat_debuginfo_function(debuginfo, 0x10));
}

/* --- The innermost of runs that nest ------------------------------------------------------- */

/* The node of an address by looking at all runs: the last one that has it. */
static uint32_t search(const struct debug_run *runs, size_t count, uint64_t address)
{
    uint32_t found = BAT_NONE;
    for (size_t i = 0; i < count; i++)
        if (address >= runs[i].start && address < runs[i].end &&
            (found == BAT_NONE || runs[i].node > found))
            found = runs[i].node;
    return found;
}

static uint32_t find(const struct debug_map *map, uint64_t address)
{
    uint32_t found = BAT_NONE;
    for (size_t i = 0; i < map->count && map->starts[i] <= address; i++)
        found = map->nodes[i];
    return found;
}

/* Runs of any kind, those that overlap without nesting too. */
TEST(test_map)
{
    uint64_t seed = 1;
    for (unsigned round = 0; round < 2000; round++) {
        struct debug_run runs[12];
        struct debug_run sorted[12];
        size_t count = round % 12;
        for (size_t i = 0; i < count; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            uint64_t start = (seed >> 33) % 40;
            runs[i] = (struct debug_run){start, start + 1 + (seed >> 45) % 20, (uint32_t)i / 2};
            sorted[i] = runs[i];
        }
        struct debug_map map;
        assert_true(debug_map_make(&map, sorted, count));
        assert_true(map.count <= 2 * count);
        for (uint64_t address = 0; address < 70; address++)
            assert_int_equal(find(&map, address), search(runs, count, address));
        for (size_t i = 1; i < map.count; i++) {
            assert_true(map.starts[i - 1] < map.starts[i]);
            assert_int_not_equal(map.nodes[i - 1], map.nodes[i]);
        }
        free(map.starts);
        free(map.nodes);
    }
}

/* --- Damaged files -------------------------------------------------------------------------- */

/* What a function and frames say has to hold together, whatever the file says. */
static void look_up_some(struct bat_debuginfo *debuginfo)
{
    for (uint64_t address = 0x200000; address < 0x202000; address += 0x11) {
        const struct bat_frame *frames;
        size_t count = bat_debuginfo_frames(debuginfo, address, &frames);
        const struct bat_debuginfo_function *function = bat_debuginfo_function(debuginfo, address);
        for (size_t i = 0; i < count; i++)
            assert_true(!frames[i].file || strnlen(frames[i].file, 1 << 16) < 1 << 16);
        if (!function)
            continue;
        assert_int_not_equal(count, 0);
        assert_int_not_equal(function->range_count, 0);
        assert_non_null(function->namesake);
        if (function->linkage_name)
            assert_string_equal(frames[count - 1].linkage_name, function->linkage_name);
    }
}

/* False if the file is refused. It is to say all that the program says, unless program is NULL. */
static bool open_bytes(const char *path, const uint8_t *bytes, size_t size, const char *program)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
    struct bat_debuginfo *debuginfo;
    struct bat_error error = {0};
    enum bat_code code = bat_debuginfo_open(path, NULL, &debuginfo, &error);
    assert_int_equal(error.code, code);
    if (code != BAT_OK) {
        assert_true(error.message[0] != 0 && !program);
        return false;
    }
    if (program)
        expect_all(program, debuginfo);
    look_up_some(debuginfo);
    bat_debuginfo_close(debuginfo);
    return true;
}

/* Any byte may be any other, and the file may end anywhere: it is refused, or what it says holds
 * together; a byte of code makes no difference. */
TEST(test_damaged)
{
    char *path = write_file("", 0);
    static const char *const programs[] = {"dwarf4", "lto"};
    for (size_t i = 0; i < 2; i++) {
        size_t size;
        char program[512];
        snprintf(program, sizeof(program), FOLDER "%s", programs[i]);
        uint8_t *bytes = (uint8_t *)file_bytes(program, &size);
        assert_true(open_bytes(path, bytes, size, NULL));
        struct bat_elf *elf = open_elf(program);
        const struct bat_section text = *bat_elf_section(elf, ".text");
        size_t refused = 0;
        for (size_t at = 0; at < size; at += 7) {
            uint8_t kept = bytes[at];
            bytes[at] = (uint8_t)(at % 3 ? ~kept : 0x80);
            bool is_code = at >= text.offset && at - text.offset < text.size;
            refused += !open_bytes(path, bytes, size, is_code ? programs[i] : NULL);
            bytes[at] = kept;
        }
        assert_in_range(refused, 10, size / 14);
        /* The section headers are at the end. */
        for (size_t end = 0; end < size; end += 53)
            assert_false(open_bytes(path, bytes, end, NULL));
    }
}

/* Bytes that follow the entry of a function: its low_pc, and the size of its code. */
static uint8_t *find_bounds(uint8_t *bytes, size_t size, uint64_t low, uint32_t code_size)
{
    uint8_t wanted[12];
    memcpy(wanted, &low, 8);
    memcpy(wanted + 8, &code_size, 4);
    return memmem(bytes, size, wanted, sizeof(wanted));
}

/*
 * If a function was dropped, so were the calls inlined into it. Their addresses are offsets in the
 * function then, which can look like code: programs that are loaded anywhere start at 0.
 */
TEST(test_calls_of_dropped)
{
    char *path = write_file("", 0);
    struct bat_debuginfo *debuginfo = open_program("dropped", NULL);
    const struct bat_debuginfo_function *function = bat_debuginfo_function(debuginfo, 0x2a4);
    assert_non_null(function);
    assert_string_equal(function->linkage_name, "rarely");
    const uint64_t start = function->ranges[0].start;
    const uint64_t code_size = function->ranges[0].end - start;
    size_t size;
    uint8_t *bytes = (uint8_t *)file_bytes(FOLDER "dropped", &size);
    uint8_t *bounds = find_bounds(bytes, size, start, (uint32_t)code_size);
    assert_non_null(bounds);
    memset(bounds, 0, 8); /* as linkers write it for code that they drop */
    assert_true(open_bytes(path, bytes, size, NULL));
    struct bat_error error;
    assert_ok(bat_debuginfo_open(path, NULL, &debuginfo, &error));
    const struct bat_frame *frames;
    for (uint64_t address = start; address < start + code_size; address++) {
        assert_int_equal(bat_debuginfo_frames(debuginfo, address, &frames), 0);
        assert_null(bat_debuginfo_function(debuginfo, address));
    }
    bat_debuginfo_close(debuginfo);
}
