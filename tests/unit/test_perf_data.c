/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* profile/perf/file.c and what it calls: whole files, and what comes of them. */
#include "perf_files.h"
#include "unit_test.h"

/* --- What is read --------------------------------------------------------------------------- */

/* The demonstration's first trace, as tests/data/make.py puts it into the files. */
static void first_trace(uint64_t *trace)
{
    FILE *file = fopen(TEST_DATA "/demo/small.preagg", "r");
    assert_non_null(file);
    char line[256];
    unsigned long long field[3] = {0};
    while (fgets(line, sizeof(line), file))
        if (!strchr(line, 'X') &&
            sscanf(line, "T %llx %llx %llx", &field[0], &field[1], &field[2]) == 3)
            break;
    fclose(file);
    for (int i = 0; i < 3; i++)
        trace[i] = field[i];
    assert_true(trace[2] != 0);
}

TEST(test_branch_stacks)
{
    uint64_t trace[3];
    first_trace(trace);
    struct bat_elf *elf = open_binary();
    for (size_t i = 0; i < COUNT(names); i++) {
        struct perf_bytes bytes = load(names[i]);
        struct bat_profile *profile = profile_of(elf);
        struct bat_error error = {0};
        if (read_bytes(profile, &bytes, NULL, &error) != BAT_OK)
            fail_msg("%s: %s", names[i], error.message);
        /* Two processes' samples of two entries each; the newest's branch is where one ended. */
        assert_int_equal(profile->traces.count, 2);
        assert_trace(profile, trace[0], trace[1], trace[2], 2, 0);
        assert_trace(profile, trace[2], trace[1], BAT_TRACE_BRANCH_ONLY, 2, 2);
        assert_int_equal(profile->samples.count, 0);
        assert_int_equal(profile->events.count, 2);
        struct bat_profile_counters counters = bat_profile_counters(profile);
        assert_int_equal(counters.perf_samples, 4);
        assert_int_equal(counters.perf_foreign_samples, 0);
        assert_int_equal(counters.perf_plain_samples, 2);
        assert_int_equal(counters.perf_branches, 4);
        assert_int_equal(counters.perf_lost, 3);
        assert_int_equal(counters.perf_unknown_records, 1);
        assert_int_equal(counters.perf_processes, 2);
        assert_int_equal(counters.bytes, bytes.size);
    }
}

TEST(test_basic_samples)
{
    uint64_t trace[3];
    first_trace(trace);
    struct bat_elf *elf = open_binary();
    const struct bat_read_options options[] = {
        {.size = sizeof(options[0]), .basic_samples = true},
        {.size = sizeof(options[0]), .basic_samples = true, .has_process = true, .process = 8}};
    for (size_t i = 0; i < COUNT(names) * COUNT(options); i++) {
        const size_t n = i % COUNT(options);
        struct perf_bytes bytes = load(names[i / COUNT(options)]);
        struct bat_profile *profile = profile_of(elf);
        assert_ok(read_bytes(profile, &bytes, &options[n], NULL));
        assert_int_equal(profile->traces.count, 0);
        assert_int_equal(profile->samples.count, 1);
        assert_sample(profile, trace[1], n == 0 ? 4 : 2);
        assert_int_equal(profile->events.count, 2);
        assert_string_equal(bat_strings_get(&profile->events, 0), "cycles:u");
        assert_string_equal(bat_strings_get(&profile->events, 1), "cpu-clock:u");
        assert_int_equal(bat_profile_counters(profile).perf_samples, 4);
        assert_int_equal(bat_profile_counters(profile).perf_foreign_samples, n == 0 ? 0 : 2);
    }
}

TEST(test_several_files_add_up)
{
    uint64_t trace[3];
    first_trace(trace);
    struct bat_elf *elf = open_binary();
    struct bat_profile *profile = profile_of(elf);
    for (size_t i = 0; i < COUNT(names); i++) {
        struct perf_bytes bytes = load(names[i]);
        assert_ok(read_bytes(profile, &bytes, NULL, NULL));
    }
    assert_trace(profile, trace[0], trace[1], trace[2], 8, 0);
    assert_int_equal(bat_profile_counters(profile).perf_samples, 16);
}

/* Of another process's samples, how many count if this record of it is there. */
static uint64_t count_of_process_8(const struct perf_bytes *record)
{
    const uint64_t mine[] = {0x401000, 7};
    const uint64_t others[] = {0x401000, 8};
    struct perf_bytes bytes = make_stream(SAMPLE_IP | SAMPLE_TID, mine, sizeof(mine));
    put(&bytes, record->bytes, record->size);
    put_record(&bytes, RECORD_SAMPLE, 0, others, sizeof(others));
    struct bat_elf *elf = open_binary();
    struct bat_profile *profile = profile_of(elf);
    const struct bat_read_options options = {.size = sizeof(options), .basic_samples = true};
    assert_ok(read_bytes(profile, &bytes, &options, NULL));
    uint64_t count = bat_profile_counters(profile).sample_records - 1;
    assert_int_equal(bat_profile_counters(profile).perf_foreign_samples, 1 - count);
    return count;
}

TEST(test_records_of_processes)
{
    static const struct {
        uint16_t misc;
        uint64_t count;
    } mappings[] = {{0, 1}, {2, 1}, {MISC_MMAP_DATA, 0}, {MISC_GUEST_USER, 0}};
    for (size_t i = 0; i < COUNT(mappings); i++) {
        struct perf_bytes record = {0};
        put_mapping(&record, 8, mappings[i].misc);
        assert_int_equal(count_of_process_8(&record), mappings[i].count);
    }
    /* A fork without a time is perf's, of a process that was there before. */
    for (uint64_t time = 0; time < 2; time++) {
        const uint32_t fork[] = {8, 7, 8, 7, (uint32_t)time, 0};
        struct perf_bytes record = {0};
        put_record(&record, RECORD_FORK, 0, fork, sizeof(fork));
        assert_int_equal(count_of_process_8(&record), time);
        /* Then it becomes another program; a new name alone changes nothing. */
        const uint32_t name[] = {8, 8, 0x636261, 0};
        put_record(&record, RECORD_COMM, 0, name, sizeof(name));
        assert_int_equal(count_of_process_8(&record), time);
    }
}

/* Loads are of use without branch stacks; what is no data of the binary keeps its address. */
TEST(test_memory_loads)
{
    struct bat_elf *elf = open_binary();
    struct bat_segment data = {0};
    struct bat_segment code = {0};
    struct bat_segment next;
    for (size_t i = 0; bat_elf_segment(elf, i, &next); i++) {
        if (next.flags & 1)
            code = next;
        else if (next.flags & 2)
            data = next;
    }
    const uint64_t loads[][2] = {
        {code.address, data.address}, {code.address, 0x7fff00001234}, {0x7f0000000000, 5}};
    struct bat_profile *profile = profile_of(elf);
    for (size_t i = 0; i < COUNT(loads); i++) {
        const uint64_t fields[] = {loads[i][0], 7, loads[i][1]};
        struct perf_bytes bytes =
            make_stream(SAMPLE_IP | SAMPLE_TID | SAMPLE_ADDR, fields, sizeof(fields));
        put_header(&bytes, RECORD_EVENT_UPDATE, 0, 40);
        put_u64(&bytes, PERF_EVENT_UPDATE_NAME);
        put_u64(&bytes, 0);
        put(&bytes, "cpu/mem-loads/u\0\0\0\0\0\0\0\0", 24);
        enum bat_code code_of_read = read_bytes(profile, &bytes, NULL, NULL);
        assert_int_equal(code_of_read, i < 2 ? BAT_OK : BAT_ERR_MISMATCH);
    }
    assert_int_equal(profile->mem_samples.count, 2);
    for (size_t i = 0; i < 2; i++) {
        const uint64_t *item = bat_counts_find(&profile->mem_samples, loads[i]);
        assert_non_null(item);
        assert_int_equal(item[2], 1);
    }
}

/* Entries from and to the kernel, between others; they are no end of what ran before. */
TEST(test_kernel_branches)
{
    const uint64_t a = 0x401000;
    const uint64_t k = PERF_KERNEL_ADDRESS;
    const uint64_t fields[] = {a, 7, 4, a + 9, a + 1, 2, a + 8, k, 1, k - 1, a + 2, 1, a, a, 1};
    struct perf_bytes bytes =
        make_stream(SAMPLE_IP | SAMPLE_TID | SAMPLE_BRANCH_STACK, fields, sizeof(fields));
    struct bat_elf *elf = open_binary();
    for (int keep = 0; keep < 2; keep++) {
        const struct bat_read_options options = {.size = sizeof(options),
                                                 .keep_kernel_branches = keep};
        struct bat_profile *profile = profile_of(elf);
        assert_ok(read_bytes(profile, &bytes, &options, NULL));
        assert_trace(profile, a + 9, a + 1, BAT_TRACE_BRANCH_ONLY, 1, 0);
        assert_int_equal(bat_profile_counters(profile).perf_kernel_branches, !keep);
        assert_int_equal(profile->traces.count, keep ? 4 : 3);
        if (keep)
            assert_trace(profile, a + 8, BAT_ADDRESS_EXTERNAL, a + 9, 1, 1);
        else
            assert_trace(profile, BAT_ADDRESS_EXTERNAL, a + 2, a + 9, 1, 1);
        assert_trace(profile, a, a, BAT_ADDRESS_EXTERNAL, 1, 1);
    }
}
