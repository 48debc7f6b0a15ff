/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* profile/perf_data.c and what it calls: whole files, of the demonstration's binary. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "perf_bytes.h"
#include "profile_text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const names[] = {"file.data", "stream.data", "compressed.data",
                                    "compressed2.data"};

/* The bytes of one of the files in tests/data/perf. */
static struct perf_bytes load(const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/perf/%s", TEST_DATA, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    struct perf_bytes bytes = {0};
    char buffer[4096];
    for (size_t got; (got = fread(buffer, 1, sizeof(buffer), file)) != 0;)
        put(&bytes, buffer, got);
    fclose(file);
    return bytes;
}

static struct bat_elf *open_binary(void)
{
    struct bat_elf *elf;
    assert_int_equal(bat_elf_open(TEST_DATA "/demo/small.bolt", &elf, NULL), BAT_OK);
    return elf;
}

static struct bat_profile *profile_of(const struct bat_elf *elf)
{
    struct bat_profile_target target = {.elf = elf, .is_bolted = true};
    target.build_id = bat_elf_build_id(elf, &target.build_id_size);
    struct bat_profile *profile = bat_profile_new(&target);
    assert_non_null(profile);
    return profile;
}

static enum bat_code read_bytes(struct bat_profile *profile, const struct perf_bytes *bytes,
                                const struct bat_read_options *options, struct bat_error *error)
{
    char *path = write_file(bytes->bytes, bytes->size);
    enum bat_code code = bat_profile_read(profile, path, options, error);
    remove_file(path);
    return code;
}

/* The bytes must be refused, with that place and sentence. */
static void assert_refused(const struct perf_bytes *bytes, const struct bat_read_options *options,
                           enum bat_code code, uint64_t offset, const char *message)
{
    struct bat_elf *elf = open_binary();
    struct bat_profile *profile = profile_of(elf);
    struct bat_error error = {0};
    enum bat_code got = read_bytes(profile, bytes, options, &error);
    if (got != code || error.offset != offset || !strstr(error.message, message))
        fail_msg("expected %s at 0x%llx: ...%s...\n     got %s at 0x%llx: %s", bat_code_name(code),
                 (unsigned long long)offset, message, bat_code_name(got),
                 (unsigned long long)error.offset, error.message);
    bat_profile_free(profile);
    bat_elf_close(elf);
}

/* --- What is read ------------------------------------------------------------------------------
 */

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

static void test_branch_stacks(void **state)
{
    (void)state;
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
        bat_profile_free(profile);
        drop(&bytes);
    }
    bat_elf_close(elf);
}

static void test_basic_samples(void **state)
{
    (void)state;
    uint64_t trace[3];
    first_trace(trace);
    struct bat_elf *elf = open_binary();
    const struct bat_read_options options[] = {
        {.basic_samples = true}, {.basic_samples = true, .has_process = true, .process = 8}};
    for (size_t i = 0; i < COUNT(names) * COUNT(options); i++) {
        const size_t n = i % COUNT(options);
        struct perf_bytes bytes = load(names[i / COUNT(options)]);
        struct bat_profile *profile = profile_of(elf);
        assert_int_equal(read_bytes(profile, &bytes, &options[n], NULL), BAT_OK);
        assert_int_equal(profile->traces.count, 0);
        assert_int_equal(profile->samples.count, 1);
        assert_sample(profile, trace[1], n == 0 ? 4 : 2);
        assert_int_equal(profile->events.count, 2);
        assert_string_equal(bat_strings_get(&profile->events, 0), "cycles:u");
        assert_string_equal(bat_strings_get(&profile->events, 1), "cpu-clock:u");
        assert_int_equal(bat_profile_counters(profile).perf_foreign_samples, n == 0 ? 0 : 2);
        bat_profile_free(profile);
        drop(&bytes);
    }
    bat_elf_close(elf);
}

static void test_several_files_add_up(void **state)
{
    (void)state;
    uint64_t trace[3];
    first_trace(trace);
    struct bat_elf *elf = open_binary();
    struct bat_profile *profile = profile_of(elf);
    for (size_t i = 0; i < COUNT(names); i++) {
        struct perf_bytes bytes = load(names[i]);
        assert_int_equal(read_bytes(profile, &bytes, NULL, NULL), BAT_OK);
        drop(&bytes);
    }
    assert_trace(profile, trace[0], trace[1], trace[2], 8, 0);
    assert_int_equal(bat_profile_counters(profile).perf_samples, 16);
    bat_profile_free(profile);
    bat_elf_close(elf);
}

/* --- What is refused ---------------------------------------------------------------------------
 */

/* A file says at its end what it says at its beginning: none of its bytes can be missing. */
static void test_truncated_files(void **state)
{
    (void)state;
    struct bat_elf *elf = open_binary();
    for (size_t i = 0; i < COUNT(names); i++) {
        struct perf_bytes bytes = load(names[i]);
        const bool is_stream = strcmp(names[i], "stream.data") == 0;
        while (bytes.size-- > 8) {
            struct bat_profile *profile = profile_of(elf);
            struct bat_error error = {0};
            enum bat_code code = read_bytes(profile, &bytes, NULL, &error);
            bat_profile_free(profile);
            /* A stream may end behind any record. */
            if (is_stream && code == BAT_OK)
                continue;
            assert_int_not_equal(code, BAT_OK);
            assert_int_equal(code, error.code);
            assert_true(error.message[0] != '\0');
            if (error.offset != BAT_NO_OFFSET)
                assert_true(error.offset <= bytes.size);
        }
        drop(&bytes);
    }
    bat_elf_close(elf);
}

/* Any byte can be another one. */
static void test_changed_bytes(void **state)
{
    (void)state;
    static const uint8_t changes[] = {0x01, 0x80, 0xff};
    struct bat_elf *elf = open_binary();
    for (size_t i = 0; i < COUNT(names); i++) {
        struct perf_bytes bytes = load(names[i]);
        unsigned refused = 0;
        for (size_t at = 0; at < bytes.size * COUNT(changes); at++) {
            uint8_t *byte = &bytes.bytes[at / COUNT(changes)];
            *byte ^= changes[at % COUNT(changes)];
            struct bat_profile *profile = profile_of(elf);
            struct bat_error error = {0};
            if (read_bytes(profile, &bytes, NULL, &error) != BAT_OK) {
                assert_true(error.message[0] != '\0');
                refused++;
            }
            bat_profile_free(profile);
            *byte ^= changes[at % COUNT(changes)];
        }
        assert_true(refused > 100);
        drop(&bytes);
    }
    bat_elf_close(elf);
}

/* A file with some of its bytes changed. */
struct change {
    size_t at;
    uint64_t value;
    size_t size;
    enum bat_code code;
    uint64_t offset;
    const char *message;
};

static void test_changed_headers(void **state)
{
    (void)state;
    struct perf_bytes bytes = load("file.data");
    const uint64_t attributes = perf_u64(bytes.bytes + 24);
    const uint64_t data = perf_u64(bytes.bytes + 40);
    const uint64_t features = data + perf_u64(bytes.bytes + 48);
    const struct change changes[] = {
        {7, '1', 1, BAT_ERR_UNSUPPORTED, 0, "expected perf.data of version 2 (\"PERFILE2\")"},
        {0, 0x50455246494c4532, 8, BAT_ERR_UNSUPPORTED, 0,
         "expected perf.data of a little-endian machine, found the other byte order"},
        {8, 105, 8, BAT_ERR_UNSUPPORTED, 8, "or of 16 in a stream, found one of 105"},
        {16, 79, 8, BAT_ERR_SYNTAX, 16, "expected a size of events' attributes from 80 on"},
        {16, 72, 8, BAT_ERR_SYNTAX, 16, "found 72"},
        {24, 1 << 20, 8, BAT_ERR_TRUNCATED, 24, "expected events' attributes at 0x100000"},
        {32, 0, 8, BAT_ERR_SYNTAX, 32, "found 0 bytes in all"},
        {32, 143, 8, BAT_ERR_SYNTAX, 32, "found 143 bytes in all"},
        {40, UINT64_MAX, 8, BAT_ERR_TRUNCATED, 40, "expected records at 0xffffffffffffffff"},
        {48, UINT64_MAX, 8, BAT_ERR_TRUNCATED, 40, "of 18446744073709551615 bytes"},
        {48, 0, 8, BAT_ERR_TRUNCATED, 48, "expected records, found none: perf record"},
        {attributes + 4, 63, 4, BAT_ERR_SYNTAX, attributes + 4, "found 63"},
        {attributes + 4, 129, 4, BAT_ERR_SYNTAX, attributes + 4,
         "expected an event's attributes of 64 to 128 bytes, found 129"},
        {attributes + 24, 1u << 25, 4, BAT_ERR_UNSUPPORTED, attributes, "of a newer perf"},
        {attributes + 128, UINT64_MAX, 8, BAT_ERR_TRUNCATED, attributes + 128,
         "expected an event's ids at 0xffffffffffffffff"},
        {attributes + 136, 9, 8, BAT_ERR_SYNTAX, attributes + 136,
         "expected ids of 8 bytes each, found 9 bytes"},
        {features, UINT64_MAX, 8, BAT_ERR_TRUNCATED, features, "expected a feature at"},
    };
    for (size_t i = 0; i < COUNT(changes); i++) {
        const struct change *change = &changes[i];
        struct perf_bytes changed = {0};
        put(&changed, bytes.bytes, bytes.size);
        memcpy(changed.bytes + change->at, &change->value, change->size);
        assert_refused(&changed, NULL, change->code, change->offset, change->message);
        drop(&changed);
    }
    drop(&bytes);
}

/* What perf record --threads leaves behind. */
static void test_folders(void **state)
{
    (void)state;
    struct perf_bytes bytes = load("file.data");
    const uint64_t features = perf_u64(bytes.bytes + 40) + perf_u64(bytes.bytes + 48);
    /* The feature that is told last gets the number of another one. */
    uint64_t bits = perf_u64(bytes.bytes + 72);
    unsigned last = 63;
    while (!(bits >> last & 1))
        last--;
    assert_true(last < 24);
    bits = (bits & ~(UINT64_C(1) << last)) | UINT64_C(1) << 24;
    memcpy(bytes.bytes + 72, &bits, 8);
    const uint64_t at = features + 16 * ((uint64_t)__builtin_popcountll(bits) - 1);
    assert_refused(&bytes, NULL, BAT_ERR_UNSUPPORTED, at,
                   "expected a file with all records, found one of several in a folder");
    drop(&bytes);
    struct bat_elf *elf = open_binary();
    struct bat_profile *profile = profile_of(elf);
    struct bat_error error = {0};
    assert_int_equal(bat_profile_read(profile, TEST_DATA, NULL, &error), BAT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "expected a file, found a folder"));
    bat_profile_free(profile);
    bat_elf_close(elf);
}

static void test_nothing_to_use(void **state)
{
    (void)state;
    struct perf_bytes bytes = load("file.data");
    const struct bat_read_options other_process = {.has_process = true, .process = 9};
    assert_refused(&bytes, &other_process, BAT_ERR_MISMATCH, BAT_NO_OFFSET,
                   "expected process 9 to have small.bolt, found it in 7, 8");
    struct bat_elf *elf = open_binary();
    struct bat_profile *profile = profile_of(elf);
    profile->elf = NULL;
    struct bat_error error = {0};
    assert_int_equal(read_bytes(profile, &bytes, NULL, &error), BAT_ERR_ARGUMENT);
    assert_string_equal(error.message, "expected a profile that knows its addresses, found "
                                       "perf.data, which needs the binary at hand");
    bat_profile_free(profile);
    bat_elf_close(elf);
    drop(&bytes);
}

/* A stream with one process and one sample of these fields, type SAMPLE_IP | TID and more. */
static struct perf_bytes make_stream(uint64_t type, const void *fields, size_t size)
{
    struct bat_elf *elf = open_binary();
    struct bat_segment code = {0};
    for (size_t i = 0; bat_elf_segment(elf, i, &code) && !(code.flags & 1); i++)
        continue;
    bat_elf_close(elf);
    struct perf_bytes bytes = {0};
    put(&bytes, PERF_MAGIC, 8);
    put_u64(&bytes, PERF_PIPE_HEADER_SIZE);
    put_header(&bytes, RECORD_HEADER_ATTR, 0, 128);
    put_attribute(&bytes, type, 0, 0, 0);
    put_header(&bytes, RECORD_MMAP, 0, 48);
    put_u64(&bytes, 7);
    put_u64(&bytes, code.address & ~UINT64_C(4095));
    put_u64(&bytes, code.file_size);
    put_u64(&bytes, code.offset & ~UINT64_C(4095));
    put(&bytes, "/opt/small.bolt\0", 16);
    put_record(&bytes, RECORD_SAMPLE, 0, fields, size);
    return bytes;
}

static void test_without_branch_stacks(void **state)
{
    (void)state;
    const uint64_t fields[] = {0x401000, 7};
    struct perf_bytes bytes = make_stream(SAMPLE_IP | SAMPLE_TID, fields, sizeof(fields));
    assert_refused(
        &bytes, NULL, BAT_ERR_MISMATCH, BAT_NO_OFFSET,
        "expected branch stacks, found none in 1 samples of small.bolt: record them with "
        "perf record -e cycles:u -j any,u, or take the samples alone with -ba");
    drop(&bytes);
    const uint64_t other[] = {0x401000, 8};
    bytes = make_stream(SAMPLE_IP | SAMPLE_TID, other, sizeof(other));
    assert_refused(&bytes, NULL, BAT_ERR_MISMATCH, BAT_NO_OFFSET,
                   "expected samples of processes that have small.bolt, found none among 1");
    drop(&bytes);
    /* Without processes, nothing can be known of them. */
    bytes = make_stream(SAMPLE_IP, fields, 8);
    assert_refused(&bytes, NULL, BAT_ERR_MISMATCH, BAT_NO_OFFSET, "found none among 1");
    drop(&bytes);
}

/* Loads are of use without branch stacks; what is no data of the binary keeps its address. */
static void test_memory_loads(void **state)
{
    (void)state;
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
        drop(&bytes);
    }
    assert_int_equal(profile->mem_samples.count, 2);
    for (size_t i = 0; i < 2; i++) {
        const uint64_t *item = bat_counts_find(&profile->mem_samples, loads[i]);
        assert_non_null(item);
        assert_int_equal(item[2], 1);
    }
    bat_profile_free(profile);
    bat_elf_close(elf);
}

/* Entries from and to the kernel, between others; they are no end of what ran before. */
static void test_kernel_branches(void **state)
{
    (void)state;
    const uint64_t a = 0x401000;
    const uint64_t k = PERF_KERNEL_ADDRESS;
    const uint64_t fields[] = {a, 7, 4, a + 9, a + 1, 2, a + 8, k, 1, k - 1, a + 2, 1, a, a, 1};
    struct perf_bytes bytes =
        make_stream(SAMPLE_IP | SAMPLE_TID | SAMPLE_BRANCH_STACK, fields, sizeof(fields));
    struct bat_elf *elf = open_binary();
    for (int keep = 0; keep < 2; keep++) {
        const struct bat_read_options options = {.keep_kernel_branches = keep};
        struct bat_profile *profile = profile_of(elf);
        assert_int_equal(read_bytes(profile, &bytes, &options, NULL), BAT_OK);
        assert_trace(profile, a + 9, a + 1, BAT_TRACE_BRANCH_ONLY, 1, 0);
        assert_int_equal(bat_profile_counters(profile).perf_kernel_branches, !keep);
        assert_int_equal(profile->traces.count, keep ? 4 : 3);
        if (keep)
            assert_trace(profile, a + 8, BAT_ADDRESS_EXTERNAL, a + 9, 1, 1);
        else
            assert_trace(profile, BAT_ADDRESS_EXTERNAL, a + 2, a + 9, 1, 1);
        assert_trace(profile, a, a, BAT_ADDRESS_EXTERNAL, 1, 1);
        bat_profile_free(profile);
    }
    bat_elf_close(elf);
    drop(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_branch_stacks),
        cmocka_unit_test(test_basic_samples),
        cmocka_unit_test(test_several_files_add_up),
        cmocka_unit_test(test_truncated_files),
        cmocka_unit_test(test_changed_bytes),
        cmocka_unit_test(test_changed_headers),
        cmocka_unit_test(test_folders),
        cmocka_unit_test(test_nothing_to_use),
        cmocka_unit_test(test_without_branch_stacks),
        cmocka_unit_test(test_memory_loads),
        cmocka_unit_test(test_kernel_branches),
    };
    return cmocka_run_group_tests_name("perf_data", tests, NULL, NULL);
}
