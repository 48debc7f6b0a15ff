/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* debuginfo/read_ahead.c: units that are read ahead say what units say that look-ups read. */
#include "debuginfo/debuginfo.h"
#include "debuginfo/read_ahead.h"
#include "unit_test.h"

#define FOLDER TEST_DATA "/debug/"

/* More than the programs have bytes of code. */
#define ADDRESSES_MAX 0x2000u

/* What a handle was allowed to read, before its first look-up. */
struct limits {
    uint64_t lines;
    uint64_t ranges;
    uint64_t names;
};

static const struct limits no_limits = {UINT64_MAX, UINT64_MAX, UINT64_MAX};

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static struct bat_debuginfo *open_program(const char *name, const struct limits *limits)
{
    char path[512];
    snprintf(path, sizeof(path), FOLDER "%s", name);
    struct bat_debuginfo *debuginfo;
    struct bat_error error;
    if (bat_debuginfo_open(path, NULL, &debuginfo, &error) != BAT_OK)
        fail_msg("%s: %s", path, error.message);
    struct debug_budget *budget = &debuginfo->budget;
    budget->lines = smaller(budget->lines, limits->lines);
    budget->ranges = smaller(budget->ranges, limits->ranges);
    budget->names = smaller(budget->names, limits->names);
    debuginfo->name_budget = budget->names;
    return debuginfo;
}

/* List the addresses of all units. Returns their number. */
static size_t list_addresses(const struct bat_debuginfo *debuginfo, uint64_t *addresses)
{
    size_t count = 0;
    uint64_t next = 0;
    for (size_t i = 0; i < debuginfo->run_count; i++) {
        if (next < debuginfo->runs[i].start)
            next = debuginfo->runs[i].start;
        for (; next < debuginfo->runs[i].end; next++) {
            assert_true(count < ADDRESSES_MAX);
            addresses[count++] = next;
        }
    }
    return count;
}

static void expect_text(const char *found, const char *expected)
{
    if (expected)
        assert_string_equal(found, expected);
    else
        assert_null(found);
}

/* Expect the same frames of all addresses. Returns how many there are. */
static size_t expect_same(struct bat_debuginfo *found, struct bat_debuginfo *expected,
                          const uint64_t *addresses, size_t address_count)
{
    size_t total = 0;
    for (size_t i = 0; i < address_count; i++) {
        const struct bat_frame *a;
        const struct bat_frame *b;
        const size_t count = bat_debuginfo_frames(expected, addresses[i], &b);
        assert_int_equal(bat_debuginfo_frames(found, addresses[i], &a), count);
        for (size_t j = 0; j < count; j++) {
            expect_text(a[j].linkage_name, b[j].linkage_name);
            expect_text(a[j].name, b[j].name);
            expect_text(a[j].file, b[j].file);
            expect_text(a[j].start_file, b[j].start_file);
            assert_int_equal(a[j].start_line, b[j].start_line);
            assert_int_equal(a[j].line, b[j].line);
            assert_int_equal(a[j].column, b[j].column);
            assert_int_equal(a[j].discriminator, b[j].discriminator);
            assert_int_equal(a[j].low_pc, b[j].low_pc);
        }
        total += count;
    }
    const struct bat_debuginfo_counters one = bat_debuginfo_counters(found);
    const struct bat_debuginfo_counters other = bat_debuginfo_counters(expected);
    assert_int_equal(one.units_read, other.units_read);
    assert_int_equal(one.units_missing, other.units_missing);
    assert_false(bat_debuginfo_lacks_memory(found));
    return total;
}

/* Read a program ahead, with the limits. Returns how many units were read before the look-ups. */
static uint64_t compare(const char *name, const struct limits *limits, unsigned threads,
                        size_t *frames)
{
    static uint64_t addresses[ADDRESSES_MAX];
    struct bat_debuginfo *expected = open_program(name, limits);
    const size_t count = list_addresses(expected, addresses);
    struct bat_debuginfo *found = open_program(name, limits);
    bat_debuginfo_set_threads(found, threads);
    debug_read_ahead(found, addresses, count);
    const uint64_t units = bat_debuginfo_counters(found).units_read;
    *frames = expect_same(found, expected, addresses, count);
    if (limits == &no_limits) {
        assert_int_equal(found->budget.ranges, expected->budget.ranges);
        assert_int_equal(found->budget.lines, expected->budget.lines);
    }
    bat_debuginfo_close(found);
    bat_debuginfo_close(expected);
    return units;
}

TEST(test_same)
{
    /* How many units only libdw can read: those in .dwo files, and those that refer to others. */
    static const struct {
        const char *name;
        uint64_t read;
    } programs[] = {{"dwarf2", 2},   {"dwarf4", 2},  {"dwarf5", 2}, {"compressed", 2},
                    {"sections", 2}, {"dropped", 2}, {"gcc5", 2},   {"lto", 1},
                    {"split", 0},    {"package", 0}};
    for (size_t i = 0; i < COUNT(programs); i++)
        for (unsigned threads = 1; threads <= 3; threads++) {
            size_t frames;
            const uint64_t read = compare(programs[i].name, &no_limits, threads, &frames);
            assert_true(frames > 50);
            if (read != programs[i].read)
                fail_msg("%s: expected %u units read ahead, found %u", programs[i].name,
                         (unsigned)programs[i].read, (unsigned)read);
        }
}

/* Only units that have an address are read, and once. */
TEST(test_few)
{
    struct bat_debuginfo *debuginfo = open_program("dwarf5", &no_limits);
    const uint64_t outside[] = {0, 1, UINT64_MAX};
    debug_read_ahead(debuginfo, outside, 3);
    assert_int_equal(bat_debuginfo_counters(debuginfo).units_read, 0);
    const uint64_t start = debuginfo->runs[0].start;
    const uint64_t inside[] = {start, start + 1, start + 2};
    for (unsigned i = 0; i < 2; i++) {
        debug_read_ahead(debuginfo, inside, 3);
        assert_int_equal(bat_debuginfo_counters(debuginfo).units_read, 1);
    }
    bat_debuginfo_close(debuginfo);
}

/* With too small a budget, what is left out does not depend on reading ahead. */
TEST(test_limits)
{
    size_t all;
    compare("sections", &no_limits, 1, &all);
    for (unsigned threads = 1; threads <= 3; threads++)
        for (uint64_t limit = 0; limit < 400; limit += 7) {
            const struct limits cases[] = {{limit, UINT64_MAX, UINT64_MAX},
                                           {UINT64_MAX, limit, UINT64_MAX},
                                           {UINT64_MAX, UINT64_MAX, limit / 7}};
            for (size_t i = 0; i < COUNT(cases); i++) {
                size_t frames;
                compare("sections", &cases[i], threads, &frames);
                assert_true(frames <= all);
            }
        }
}
