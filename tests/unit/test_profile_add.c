/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Profiles without files: profile/read/from_memory.c and profile_items.c (samples from memory, and
 * back), read_profile.c (from descriptors and memory), records one by one, and writing to a
 * function. What is added must be what the same lines of text are (spec/profiles.md 1).
 */
#include <fcntl.h>
#include <pthread.h>

#include "perf_files.h"
#include "profile_dump.h"
#include "unit_test.h"

#define DEMO TEST_DATA "/demo/small.bolt"

/* --- From memory ---------------------------------------------------------------------------- */

static const struct bat_trace traces[] = {
    {0x10, 0x20, 0x30, 4, 0, false},
    {0x10, 0x20, 0x30, 40, 0, false},
    {0x11, 0x21, 0x31, 5, 0, true},
    {0x12, 0x22, BAT_TRACE_BRANCH_ONLY, 6, 2, false},
    {BAT_TRACE_FALLTHROUGH_ONLY, 0x23, 0x33, 7, 0, false},
    {BAT_TRACE_EXTERNAL_ORIGIN, 0x24, 0x34, 8, 0, false},
    {BAT_TRACE_EXTERNAL_RETURN, 0x25, 0x35, 9, 0, false},
    {BAT_ADDRESS_EXTERNAL, 0x26, 0x36, 1, 0, false},
    {BAT_ADDRESS_EXTERNAL, 0x27, 0x37, 2, 0, true}, /* as an R from outside: an r */
    {BAT_TRACE_FALLTHROUGH_ONLY, 0x28, 0x38, 3, 0, true},
};

static const char same_text[] = "T 10 20 30 44\nR 11 21 31 5\nB 12 22 6 2\nF 23 33 7\nf 24 34 8\n"
                                "r 25 35 9\nT 0 26 36 1\nR 0 27 37 2\nR -1 28 38 3\nS 16 12\n"
                                "E cycles:u\nE other\n";

static struct bat_profile *add_all(void)
{
    struct bat_profile *profile = new_profile();
    for (size_t i = 0; i < COUNT(traces); i++)
        assert_ok(bat_profile_add_trace(profile, &traces[i], NULL));
    assert_ok(bat_profile_add_sample(profile, 0x16, 10, NULL));
    assert_ok(bat_profile_add_sample(profile, 0x16, 2, NULL));
    assert_ok(bat_profile_add_event(profile, "cycles:u", NULL));
    assert_ok(bat_profile_add_event(profile, "other", NULL));
    assert_ok(bat_profile_add_event(profile, "cycles:u", NULL));
    return profile;
}

/* Two profiles hold the same, whatever number of records it came from. */
static void assert_same(struct bat_profile *profile, struct bat_profile *expected)
{
    memset(&profile->counters, 0, sizeof(profile->counters));
    memset(&expected->counters, 0, sizeof(expected->counters));
    assert_dump(profile, dump_profile(expected));
}

TEST(test_add)
{
    struct bat_profile *profile = add_all();
    assert_int_equal(bat_profile_counters(profile).trace_records, COUNT(traces));
    assert_int_equal(bat_profile_counters(profile).sample_records, 2);
    struct bat_profile *expected = new_profile();
    read_text(expected, bat_preagg_read, same_text);
    assert_same(profile, expected);
}

/* What is told of a profile, added to another, makes the same one. */
TEST(test_there_and_back)
{
    struct bat_profile *profile = add_all();
    assert_ok(bat_profile_add_load(profile, 0x18, 0x7f0000001000, 3, NULL));
    struct bat_profile *copy = new_profile();
    uint64_t i = 0;
    uint64_t address;
    uint64_t data;
    uint64_t count;
    struct bat_trace trace;
    while (bat_profile_trace(profile, i, &trace)) {
        assert_int_equal(trace.is_return,
                         trace.from == 0x21 || trace.from == 0x25 || trace.from == 0x27);
        assert_ok(bat_profile_add_trace(copy, &trace, NULL));
        i++;
    }
    assert_int_equal(i, COUNT(traces) - 1); /* one was there twice */
    assert_false(bat_profile_trace(profile, UINT64_MAX, &trace));
    for (i = 0; bat_profile_sample(profile, i, &address, &count); i++)
        assert_ok(bat_profile_add_sample(copy, address, count, NULL));
    assert_int_equal(i, 1);
    assert_false(bat_profile_sample(profile, UINT64_C(1) << 32, &address, &count));
    for (i = 0; bat_profile_load(profile, i, &address, &data, &count); i++)
        assert_ok(bat_profile_add_load(copy, address, data, count, NULL));
    assert_int_equal(i, 1);
    assert_false(bat_profile_load(profile, UINT64_C(1) << 32, &address, &data, &count));
    for (i = 0; bat_profile_event(profile, i); i++)
        assert_ok(bat_profile_add_event(copy, bat_profile_event(profile, i), NULL));
    assert_int_equal(i, 2);
    assert_same(profile, copy);
}

TEST(test_cannot_be_added)
{
    struct bat_profile *profile = add_all();
    const uint64_t key[3] = {0x500, 1, 2};
    assert_ok(bat_counts_add(&profile->traces, key, 1, UINT64_MAX));
    char *before = dump_profile(profile);
    struct bat_error error = {0};
    const struct bat_trace large = {1, 2, 3, BAT_COUNT_MAX, 0, true};
    const struct bat_trace missed = {0x500, 1, 2, 1, 1, true};
    assert_int_equal(bat_profile_add_trace(profile, &large, &error), BAT_ERR_RANGE);
    assert_non_null(strstr(error.message, "2^63"));
    assert_int_equal(bat_profile_add_trace(profile, &missed, &error), BAT_ERR_RANGE);
    assert_non_null(strstr(error.message, "mispredictions"));
    assert_int_equal(bat_profile_add_sample(profile, 1, BAT_COUNT_MAX, NULL), BAT_ERR_RANGE);
    assert_int_equal(bat_profile_add_load(profile, 1, 2, UINT64_MAX, NULL), BAT_ERR_RANGE);
    assert_int_equal(bat_profile_add_event(profile, "", NULL), BAT_ERR_ARGUMENT);
    /* Loads that are not the binary's are none of its profile. */
    assert_ok(bat_profile_add_load(profile, 0, 2, 1, NULL));
    assert_ok(bat_profile_add_load(profile, UINT64_MAX, 2, 1, NULL));
    assert_dump(profile, before);
}

/* --- Mappings ------------------------------------------------------------------------------- */

/* The demonstration's binary, as if it were position-independent. */
static struct bat_elf *open_movable(void)
{
    size_t size;
    char *bytes = file_bytes(DEMO, &size);
    bytes[16] = 3; /* e_type: ET_DYN */
    return open_elf(write_file(bytes, size));
}

TEST(test_mapping)
{
    struct bat_elf *elf = open_movable();
    struct bat_profile *profile = profile_of(elf);
    /* The second PT_LOAD: 0x5f9 bytes at 0x401000, from 0x1000 of the file on. */
    const struct bat_mapping mapping = {0x7f5500001000, 0x1000, 0x1000};
    const struct bat_trace trace = {0x7f5500001010, 0x7f5500006000, 0x7f5500006020, 3, 1, false};
    const struct bat_trace outside = {
        0x7f6600001010, 0x7f5500006000, BAT_TRACE_BRANCH_ONLY, 3, 0, true};
    assert_ok(bat_profile_set_mapping(profile, &mapping, NULL));
    assert_ok(bat_profile_add_trace(profile, &trace, NULL));
    assert_ok(bat_profile_add_trace(profile, &outside, NULL));
    assert_ok(bat_profile_add_sample(profile, 0x7f5500001010, 1, NULL));
    assert_ok(bat_profile_add_sample(profile, 0x401010, 5, NULL));
    assert_ok(bat_profile_add_load(profile, 0x7f5500001010, 0x7f5500004000, 1, NULL));
    assert_ok(bat_profile_add_load(profile, 0x7f5500001010, 0x7ffff0000000, 1, NULL));
    assert_ok(bat_profile_add_load(profile, 0x7f6600001010, 0x7f5500004000, 1, NULL));
    assert_ok(bat_profile_set_mapping(profile, NULL, NULL));
    assert_ok(bat_profile_add_sample(profile, 0x401011, 1, NULL));
    assert_int_equal(profile->traces.count, 2);
    assert_trace(profile, 0x401010, 0x406000, 0x406020, 3, 1);
    assert_trace(profile, BAT_TRACE_EXTERNAL_RETURN, 0x406000, BAT_TRACE_BRANCH_ONLY, 3, 0);
    assert_int_equal(profile->samples.count, 3);
    assert_sample(profile, 0x401010, 1);
    assert_sample(profile, BAT_ADDRESS_EXTERNAL, 5);
    assert_sample(profile, 0x401011, 1);
    assert_int_equal(profile->mem_samples.count, 2);
    const uint64_t loads[][2] = {{0x401010, 0x404000}, {0x401010, 0x7ffff0000000}};
    for (size_t i = 0; i < COUNT(loads); i++)
        assert_non_null(bat_counts_find(&profile->mem_samples, loads[i]));
}

TEST(test_wrong_mappings)
{
    const struct bat_mapping wrong[] = {
        {0x7f5500001000, 0x1000, 0x2000}, /* of no code */
        {0x7f5500001000, 0, 0x1000},      /* empty */
        {0x7f5500001001, 0x1000, 0x1000}, /* no multiple of a page */
    };
    struct bat_elf *elf = open_movable();
    struct bat_profile *profile = profile_of(elf);
    const struct bat_mapping fine = {0x7f5500001000, 0x1000, 0x1000};
    assert_ok(bat_profile_set_mapping(profile, &fine, NULL));
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct bat_error error = {0};
        assert_int_equal(bat_profile_set_mapping(profile, &wrong[i], &error), BAT_ERR_MISMATCH);
        assert_int_equal(error.code, BAT_ERR_MISMATCH);
    }
    /* The one before stays. */
    assert_ok(bat_profile_add_sample(profile, 0x7f5500001010, 1, NULL));
    assert_sample(profile, 0x401010, 1);

    /* At fixed addresses a binary is nowhere else. */
    elf = open_binary();
    profile = profile_of(elf);
    assert_int_equal(bat_profile_set_mapping(profile, &fine, NULL), BAT_ERR_MISMATCH);
    const struct bat_mapping fixed = {0x401000, 0x1000, 0x1000};
    assert_ok(bat_profile_set_mapping(profile, &fixed, NULL));
    profile = new_profile();
    assert_int_equal(bat_profile_set_mapping(profile, &fixed, NULL), BAT_ERR_ARGUMENT);
}

/* --- Descriptors and memory ----------------------------------------------------------------- */

/* Every form: from memory, a descriptor of a file, and a pipe, as from the file itself. */
TEST(test_read_without_a_path)
{
    static const char *const files[] = {"/demo/small.preagg", "/demo/small.fdata",
                                        "/perf/file.data", "/perf/compressed.data"};
    struct bat_elf *elf = open_binary();
    for (size_t i = 0; i < COUNT(files); i++) {
        char path[512];
        snprintf(path, sizeof(path), "%s%s", TEST_DATA, files[i]);
        char bytes[1 << 16];
        int file = open(path, O_RDONLY);
        ssize_t size = read(file, bytes, sizeof(bytes));
        assert_true(size > 0 && size < (ssize_t)sizeof(bytes));
        struct bat_profile *expected = profile_of(elf);
        assert_ok(bat_profile_read(expected, path, NULL, NULL));

        struct bat_profile *profile = profile_of(elf);
        assert_ok(bat_profile_read_memory(profile, bytes, (size_t)size, NULL, NULL));
        assert_dump(profile, dump_profile(expected));

        /* From the start of the file, whose position stays there; twice is all there twice. */
        assert_int_equal(lseek(file, 0, SEEK_SET), 0);
        profile = profile_of(elf);
        assert_ok(bat_profile_read_file(profile, file, NULL, NULL));
        assert_dump(profile, dump_profile(expected));
        assert_int_equal(lseek(file, 0, SEEK_CUR), 0);
        assert_ok(bat_profile_read_file(profile, file, NULL, NULL));
        assert_int_equal(profile->counters.bytes, 2 * expected->counters.bytes);
        close(file);

        int ends[2];
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], bytes, (size_t)size), size);
        close(ends[1]);
        profile = profile_of(elf);
        assert_ok(bat_profile_read_file(profile, ends[0], NULL, NULL));
        assert_dump(profile, dump_profile(expected));
        close(ends[0]);
    }
}

/* Of a file that was read from before, the rest is read. */
TEST(test_read_the_rest)
{
    char *path = write_file("a line of the program's\nS 10 1\nS 11 2\n", 38);
    int file = open(path, O_RDONLY);
    assert_int_equal(lseek(file, 24, SEEK_SET), 24);
    struct bat_profile *profile = new_profile();
    assert_ok(bat_profile_read_file(profile, file, NULL, NULL));
    assert_int_equal(profile->samples.count, 2);
    assert_sample(profile, 0x10, 1);
    assert_sample(profile, 0x11, 2);
    /* The descriptor is open, and at its end. */
    assert_int_equal(bat_profile_read_file(profile, file, NULL, NULL), BAT_ERR_SYNTAX);
    close(file);
}

TEST(test_cannot_be_read)
{
    struct bat_profile *profile = new_profile();
    struct bat_error error = {0};
    assert_int_equal(bat_profile_read_file(profile, -1, NULL, &error), BAT_ERR_IO);
    assert_int_equal(bat_profile_read_memory(profile, "", 0, NULL, &error), BAT_ERR_SYNTAX);
    assert_int_equal(bat_profile_read_memory(profile, "T 1 2 3 4\nx", 11, NULL, &error),
                     BAT_ERR_SYNTAX);
    assert_int_equal(error.line, 2);
    const struct bat_read_options sizeless = {.threads = 1};
    assert_int_equal(bat_profile_read_memory(profile, "S 1 1\n", 6, &sizeless, &error),
                     BAT_ERR_ARGUMENT);
    assert_int_equal(bat_profile_read(profile, DEMO, &sizeless, &error), BAT_ERR_ARGUMENT);
    assert_int_equal(bat_profile_distinct(profile), 0);
}

/* --- A profile of a binary ------------------------------------------------------------------ */

TEST(test_new_of)
{
    struct bat_binary binary;
    struct bat_profile *profile;
    assert_ok(bat_binary_open(DEMO, &binary, NULL));
    assert_ok(bat_profile_new_of(&binary, &profile, NULL));
    size_t size;
    const uint8_t *id = bat_elf_build_id(binary.elf, &size);
    assert_int_equal(profile->build_id_size, size);
    assert_memory_equal(profile->build_id, id, size);
    assert_ptr_equal(profile->elf, binary.elf);
    assert_int_equal(profile->base_address, 0);
    assert_true(profile->is_bolted);
    bat_profile_free(profile);
    /* One that BOLT has not written, and one that can be anywhere. */
    struct bat_elf *bolted = binary.elf;
    binary.elf = open_movable();
    const uint8_t *note = binary.note;
    binary.note = NULL;
    assert_ok(bat_profile_new_of(&binary, &profile, NULL));
    assert_int_equal(profile->base_address, 0);
    assert_false(profile->is_bolted);
    bat_profile_free(profile);
    /* A raw note. */
    struct bat_error error = {0};
    binary.elf = NULL;
    assert_int_equal(bat_profile_new_of(&binary, &profile, &error), BAT_ERR_ARGUMENT);
    assert_null(profile);
    assert_non_null(strstr(error.message, "raw note"));
    binary.elf = bolted;
    binary.note = note;
    bat_binary_close(&binary);

    const struct bat_profile_target sizeless = {.base_address = 1};
    assert_int_equal(bat_profile_new(&sizeless, &profile, &error), BAT_ERR_ARGUMENT);
    assert_null(profile);
    assert_ok(bat_profile_new(NULL, &profile, NULL));
    assert_int_equal(profile->base_address, 0);
    bat_profile_free(profile);
}

/* --- Records -------------------------------------------------------------------------------- */

struct written {
    char text[1 << 15];
    size_t size;
};

static bool take(const void *bytes, size_t size, void *context)
{
    struct written *written = context;
    assert_true(size < sizeof(written->text) - written->size);
    memcpy(written->text + written->size, bytes, size);
    written->size += size;
    written->text[written->size] = '\0';
    return true;
}

/* fdata as llvm-bolt reads it, made of the records one by one. */
static void print_records(const struct bat_records *records, char *at)
{
    struct bat_record record;
    uint64_t i = 0;
    for (; bat_records_get(records, i, &record); i++) {
        at += sprintf(at, "%u %s %llx ", record.from.kind, record.from.name,
                      (unsigned long long)record.from.offset);
        if (record.to.name)
            at += sprintf(at, "%u %s %llx %llu ", record.to.kind, record.to.name,
                          (unsigned long long)record.to.offset,
                          (unsigned long long)record.mispredictions);
        at += sprintf(at, "%llu\n", (unsigned long long)record.count);
    }
    assert_int_equal(i, bat_records_count(records));
    assert_false(bat_records_get(records, UINT64_MAX, &record));
}

TEST(test_records)
{
    static struct written written;
    static char expected[1 << 15];
    struct bat_binary binary;
    assert_ok(bat_binary_open(DEMO, &binary, NULL));
    for (unsigned basic = 0; basic < 2; basic++) {
        struct bat_profile *profile;
        assert_ok(bat_profile_new_of(&binary, &profile, NULL));
        if (basic)
            assert_ok(bat_profile_add_sample(profile, 0x401026, 7, NULL));
        else
            assert_ok(bat_profile_read(profile, TEST_DATA "/demo/small.preagg", NULL, NULL));
        struct bat_records *records;
        assert_ok(bat_profile_translate(profile, &binary, NULL, &records, NULL));
        assert_true(bat_records_count(records) >= (basic ? 1 : 20));
        written.size = 0;
        struct bat_output *output;
        assert_ok(bat_output_begin_callback(take, &written, &output, NULL));
        assert_ok(bat_records_write_fdata(records, output, NULL));
        assert_ok(bat_outputs_commit(&output, 1, NULL));
        int head = sprintf(expected, "%sboltedcollection\n", basic ? "no_lbr\n" : "");
        print_records(records, expected + head);
        assert_string_equal(written.text, expected);
        bat_records_free(records);
        bat_profile_free(profile);
    }
    bat_binary_close(&binary);
}

/* Translates a profile that others read at the same time. */
struct sharing {
    const struct bat_profile *profile;
    uint64_t records;
    uint64_t traces;
    enum bat_code code;
    pthread_t thread;
};

static void *translate_shared(void *context)
{
    struct sharing *sharing = context;
    struct bat_binary binary;
    struct bat_records *records;
    sharing->code = bat_binary_find_note(DEMO, &binary, NULL);
    if (sharing->code != BAT_OK)
        return NULL;
    struct bat_preparation *preparation = bat_preparation_begin(&binary, NULL);
    const struct bat_translate_options options = {
        .size = sizeof(options), .preparation = preparation, .will_be_judged = true};
    sharing->code = bat_profile_translate(sharing->profile, &binary, &options, &records, NULL);
    if (sharing->code == BAT_OK)
        sharing->records = bat_records_count(records);
    bat_records_free(records);
    struct bat_profile *merged = NULL;
    if (sharing->code == BAT_OK)
        sharing->code = bat_profile_new_of(&binary, &merged, NULL);
    if (sharing->code == BAT_OK)
        sharing->code = bat_profile_merge(merged, sharing->profile, NULL);
    struct bat_trace trace;
    while (merged && bat_profile_trace(sharing->profile, sharing->traces, &trace))
        sharing->traces++;
    bat_profile_free(merged);
    bat_preparation_free(preparation);
    bat_binary_close(&binary);
    return NULL;
}

/* What takes a profile as const does not change it: the thread sanitizer's build sees if it does.
 */
TEST(test_const_profile)
{
    struct bat_elf *elf = open_binary();
    struct bat_profile *profile = profile_of(elf);
    assert_ok(bat_profile_read(profile, TEST_DATA "/demo/small.preagg", NULL, NULL));
    struct sharing sharing[3];
    for (size_t i = 0; i < COUNT(sharing); i++) {
        sharing[i] = (struct sharing){.profile = profile};
        assert_int_equal(pthread_create(&sharing[i].thread, NULL, translate_shared, &sharing[i]),
                         0);
    }
    for (size_t i = 0; i < COUNT(sharing); i++)
        pthread_join(sharing[i].thread, NULL);
    for (size_t i = 0; i < COUNT(sharing); i++) {
        assert_ok(sharing[i].code);
        assert_true(sharing[i].records > 20);
        assert_int_equal(sharing[i].records, sharing[0].records);
        assert_int_equal(sharing[i].traces, profile->traces.count);
    }
}

TEST(test_translate_options)
{
    struct bat_binary binary;
    struct bat_profile *profile;
    struct bat_records *records = (struct bat_records *)&binary;
    assert_ok(bat_binary_open(DEMO, &binary, NULL));
    assert_ok(bat_profile_new_of(&binary, &profile, NULL));
    assert_ok(bat_profile_add_sample(profile, 0x401026, 7, NULL));
    const struct bat_trace trace = {0x401030, 0x401036, 0x40103b, 1, 0, false};
    assert_ok(bat_profile_add_trace(profile, &trace, NULL));
    const struct bat_translate_options sizeless = {.keep_all_records = true};
    struct bat_error error = {0};
    assert_int_equal(bat_profile_translate(profile, &binary, &sizeless, &records, &error),
                     BAT_ERR_ARGUMENT);
    assert_null(records);
    assert_non_null(strstr(error.message, "struct bat_translate_options"));
    /* Traces, if there are any; basic samples, if they are asked for. */
    for (unsigned basic = 0; basic < 2; basic++) {
        const struct bat_translate_options options = {.size = sizeof(options),
                                                      .basic_samples = basic != 0};
        assert_ok(bat_profile_translate(profile, &binary, &options, &records, NULL));
        assert_int_equal(bat_records_counters(records).samples, basic ? 7 : 1);
        bat_records_free(records);
    }
    bat_profile_free(profile);
    bat_binary_close(&binary);
    /* There is nothing to prepare of a raw note. */
    struct bat_binary raw = {.elf = NULL};
    assert_null(bat_preparation_begin(&raw, NULL));
    bat_preparation_free(NULL);
}
