/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* profile/perf/file.c and what it calls: files that must be refused; test_perf_damaged.c has those
 * that are cut or changed at any byte. */
#include "perf_files.h"
#include "unit_test.h"

/* A file with some of its bytes changed. */
struct change {
    size_t at;
    uint64_t value;
    size_t size;
    enum bat_code code;
    uint64_t offset;
    const char *message;
};

TEST(test_changed_headers)
{
    struct perf_bytes bytes = load("file.data");
    const uint64_t attributes = bat_load64(bytes.bytes + 24);
    const uint64_t data = bat_load64(bytes.bytes + 40);
    const uint64_t features = data + bat_load64(bytes.bytes + 48);
    /* The first feature is the list of build-ids. */
    const uint64_t build_ids = bat_load64(bytes.bytes + features);
    const struct change changes[] = {
        {7, '1', 1, BAT_ERR_UNSUPPORTED, 0, "expected perf.data of version 2 (\"PERFILE2\")"},
        {0, 0x50455246494c4532, 8, BAT_ERR_UNSUPPORTED, 0,
         "expected perf.data of a little-endian machine, found the other byte order"},
        {8, 0, 8, BAT_ERR_UNSUPPORTED, 8, "or of 16 in a stream, found one of 0"},
        {8, 105, 8, BAT_ERR_UNSUPPORTED, 8,
         "expected a header of 104 bytes, or of 16 in a stream, found one of 105"},
        {8, UINT64_C(1) << 63, 8, BAT_ERR_UNSUPPORTED, 8, "found one of 9223372036854775808"},
        {16, 0, 8, BAT_ERR_SYNTAX, 16, "of 80 to 65535 bytes, found 0"},
        {16, 79, 8, BAT_ERR_SYNTAX, 16,
         "expected entries of events' attributes of 80 to 65535 bytes, found 79"},
        {16, 143, 8, BAT_ERR_SYNTAX, 32, "expected events' attributes of 143 bytes each, found"},
        {16, 72, 8, BAT_ERR_SYNTAX, 16, "found 72"},
        {24, 1 << 20, 8, BAT_ERR_TRUNCATED, 24, "expected events' attributes at 0x100000"},
        {32, 0, 8, BAT_ERR_SYNTAX, 32, "found 0 bytes in all"},
        {32, 143, 8, BAT_ERR_SYNTAX, 32, "found 143 bytes in all"},
        {40, UINT64_MAX, 8, BAT_ERR_TRUNCATED, 40, "expected records at 0xffffffffffffffff"},
        {40, UINT64_C(1) << 40, 8, BAT_ERR_TRUNCATED, 40, "expected records at 0x10000000000 of"},
        {48, UINT64_MAX, 8, BAT_ERR_TRUNCATED, 40, "of 18446744073709551615 bytes"},
        {48, 0, 8, BAT_ERR_TRUNCATED, 48,
         "expected records, found none: perf record sets their size when it ends, and may have "
         "been "
         "killed before"},
        {attributes + 4, 7, 4, BAT_ERR_SYNTAX, attributes + 4, "found 7"},
        {attributes + 4, 1000, 4, BAT_ERR_SYNTAX, attributes + 4, "found 1000"},
        {attributes + 4, 63, 4, BAT_ERR_SYNTAX, attributes + 4, "found 63"},
        {attributes + 4, 129, 4, BAT_ERR_SYNTAX, attributes + 4,
         "expected an event's attributes of 64 to 128 bytes, found 129"},
        {attributes + 24, 1u << 25, 4, BAT_ERR_UNSUPPORTED, attributes,
         "expected samples of known fields, found fields 0x2000000 of a newer perf"},
        {attributes + 128, UINT64_MAX, 8, BAT_ERR_TRUNCATED, attributes + 128,
         "expected an event's ids at 0xffffffffffffffff"},
        {attributes + 136, UINT64_C(1) << 33, 8, BAT_ERR_TRUNCATED, attributes + 128,
         " of 8589934592 bytes, found a file of "},
        {attributes + 136, 9, 8, BAT_ERR_SYNTAX, attributes + 136,
         "expected ids of 8 bytes each, found 9 bytes"},
        {features, UINT64_MAX, 8, BAT_ERR_TRUNCATED, features, "expected a feature at"},
        {build_ids + 32, 21, 1, BAT_ERR_SYNTAX, build_ids, "at most 20 bytes, found one of 21"},
        {build_ids + 6, 7, 2, BAT_ERR_SYNTAX, build_ids, "found one of 7 bytes with"},
        {build_ids + 6, 999, 2, BAT_ERR_SYNTAX, build_ids, "found one of 999 bytes with"},
        {build_ids + 6, 36, 2, BAT_ERR_SYNTAX, build_ids, "found a record of 36 bytes"},
    };
    for (size_t i = 0; i < COUNT(changes); i++) {
        const struct change *change = &changes[i];
        struct perf_bytes changed = {0};
        put(&changed, bytes.bytes, bytes.size);
        memcpy(changed.bytes + change->at, &change->value, change->size);
        assert_refused(&changed, NULL, change->code, change->offset, change->message);
    }
}

/* What perf record --threads leaves behind. */
TEST(test_folders)
{
    struct perf_bytes bytes = load("file.data");
    const uint64_t features = bat_load64(bytes.bytes + 40) + bat_load64(bytes.bytes + 48);
    /* The feature that is told last gets the number of another one. */
    uint64_t bits = bat_load64(bytes.bytes + 72);
    unsigned last = 63;
    while (!(bits >> last & 1))
        last--;
    assert_true(last < 24);
    bits = (bits & ~(UINT64_C(1) << last)) | UINT64_C(1) << 24;
    memcpy(bytes.bytes + 72, &bits, 8);
    const uint64_t at = features + 16 * ((uint64_t)__builtin_popcountll(bits) - 1);
    assert_refused(&bytes, NULL, BAT_ERR_UNSUPPORTED, bat_load64(bytes.bytes + at),
                   "expected a file with all records, found one of several in a folder");
    struct bat_elf *elf = open_binary();
    struct bat_profile *profile = profile_of(elf);
    struct bat_error error = {0};
    assert_int_equal(bat_profile_read(profile, TEST_DATA, NULL, &error), BAT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "found a folder without"));
}

TEST(test_nothing_to_use)
{
    struct perf_bytes bytes = load("file.data");
    const struct bat_read_options other_process = {
        .size = sizeof(other_process), .has_process = true, .process = 9};
    assert_refused(&bytes, &other_process, BAT_ERR_MISMATCH, BAT_NO_OFFSET,
                   "expected process 9 to have small.bolt, found it in 7, 8");
    struct bat_elf *elf = open_binary();
    struct bat_profile *profile = profile_of(elf);
    profile->elf = NULL;
    struct bat_error error = {0};
    assert_int_equal(read_bytes(profile, &bytes, NULL, &error), BAT_ERR_ARGUMENT);
    assert_string_equal(error.message, "expected the profiled binary, without which samples of "
                                       "perf cannot be read, found none");
}

/* A profile without a sample of the binary is an empty one. */
static void assert_foreign_sample(const struct perf_bytes *bytes)
{
    struct bat_elf *elf = open_binary();
    struct bat_profile *profile = profile_of(elf);
    assert_ok(read_bytes(profile, bytes, NULL, NULL));
    assert_int_equal(bat_profile_distinct(profile), 0);
    assert_int_equal(bat_profile_counters(profile).perf_samples, 1);
    assert_int_equal(bat_profile_counters(profile).perf_foreign_samples, 1);
}

TEST(test_without_branch_stacks)
{
    const uint64_t fields[] = {0x401000, 7};
    struct perf_bytes bytes = make_stream(SAMPLE_IP | SAMPLE_TID, fields, sizeof(fields));
    assert_refused(
        &bytes, NULL, BAT_ERR_MISMATCH, BAT_NO_OFFSET,
        "expected branch stacks, found none in 1 samples of small.bolt: record them with "
        "perf record -e cycles:u -j any,u, or take the samples alone with -ba");
    const uint64_t other[] = {0x401000, 8};
    bytes = make_stream(SAMPLE_IP | SAMPLE_TID, other, sizeof(other));
    assert_foreign_sample(&bytes);
    /* Without processes, nothing can be known of them. */
    bytes = make_stream(SAMPLE_IP, fields, 8);
    assert_foreign_sample(&bytes);
}
