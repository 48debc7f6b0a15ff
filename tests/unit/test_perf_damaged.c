/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * perf.data that ends too early, at every byte, and that has one byte changed, at every byte: an
 * error that says what was expected and found, or, where it can still be right, a profile. Memory
 * is watched by the sanitizers' build. The files hold every kind of record (tests/data/make.py).
 */
#include <sys/mman.h>
#include <unistd.h>

#include "bat_profile.h"
#include "unit_test.h"

#define BINARY TEST_DATA "/demo/small.bolt"
#define STREAM_HEADER_SIZE 16u

struct bytes {
    uint8_t data[8192];
    size_t size;
};

struct fixture {
    struct bat_elf *elf;
    /* The file that is written over and over. It is in memory: some file systems write a file to
     * the disk each time that it was emptied and is closed. */
    int file;
    char path[32];
};

static int open_fixture(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    assert_int_equal(bat_elf_open(BINARY, &fixture->elf, NULL), BAT_OK);
    fixture->file = memfd_create("perf", 0);
    assert_true(fixture->file >= 0);
    snprintf(fixture->path, sizeof(fixture->path), "/proc/self/fd/%d", fixture->file);
    *state = fixture;
    return 0;
}

static int close_fixture(void **state)
{
    struct fixture *fixture = *state;
    close(fixture->file);
    bat_elf_close(fixture->elf);
    free(fixture);
    return 0;
}

static struct bytes load(const char *name)
{
    struct bytes bytes;
    char path[512];
    snprintf(path, sizeof(path), TEST_DATA "/perf/%s", name);
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s cannot be opened", path);
    bytes.size = fread(bytes.data, 1, sizeof(bytes.data), file);
    fclose(file);
    assert_in_range(bytes.size, 1000, 4095);
    return bytes;
}

/* Read these bytes as a profile of the binary; *counters gets what was read. */
static enum bat_code read_bytes(const struct fixture *fixture, const uint8_t *data, size_t size,
                                bool basic, struct bat_profile_counters *counters,
                                struct bat_error *error)
{
    assert_int_equal(ftruncate(fixture->file, (off_t)size), 0);
    assert_int_equal(pwrite(fixture->file, data, size, 0), size);
    struct bat_profile_target target = {
        .size = sizeof(target), .elf = fixture->elf, .is_bolted = true};
    target.build_id = bat_elf_build_id(fixture->elf, &target.build_id_size);
    struct bat_profile *profile;
    assert_int_equal(bat_profile_new(&target, &profile, NULL), BAT_OK);
    const struct bat_read_options options = {
        .size = sizeof(options), .threads = 1, .basic_samples = basic};
    enum bat_code code = bat_profile_read(profile, fixture->path, &options, error);
    *counters = bat_profile_counters(profile);
    bat_profile_free(profile);
    return code;
}

/* An error that tells what was expected and what was found. */
static void check_error(enum bat_code code, const struct bat_error *error, const char *what,
                        size_t where)
{
    if (error->code != code || !strstr(error->message, "expected ") ||
        (!strstr(error->message, "found ") && !strstr(error->message, "zstd")))
        fail_msg("%s %zu: code %d, error %d: %s", what, where, (int)code, (int)error->code,
                 error->message);
}

/* --- The whole files ---------------------------------------------------------------------------
 */

static void check_whole(const struct fixture *fixture, const char *name)
{
    struct bytes bytes = load(name);
    struct bat_profile_counters counters;
    struct bat_error error = {0};
    if (read_bytes(fixture, bytes.data, bytes.size, false, &counters, &error) != BAT_OK)
        fail_msg("%s: %s", name, error.message);
    assert_int_equal(counters.perf_samples, 4);
    assert_int_equal(counters.perf_foreign_samples, 0);
    assert_int_equal(counters.perf_plain_samples, 2);
    assert_int_equal(counters.perf_branches, 4);
    assert_int_equal(counters.perf_processes, 2);
    assert_int_equal(counters.perf_lost, 3);
    assert_int_equal(counters.perf_unknown_records, 1);
    assert_int_equal(read_bytes(fixture, bytes.data, bytes.size, true, &counters, &error), BAT_OK);
    assert_int_equal(counters.perf_samples, 4);
}

TEST(test_whole)
{
    const char *names[] = {"file.data", "stream.data", "compressed.data", "compressed2.data"};
    for (size_t i = 0; i < COUNT(names); i++)
        check_whole(*state, names[i]);
}

/* --- Truncated ---------------------------------------------------------------------------------
 */

/* A file's header says where everything is: nothing may be missing. */
static void check_truncated_file(const struct fixture *fixture, const char *name)
{
    struct bytes bytes = load(name);
    for (size_t size = 0; size < bytes.size; size++) {
        struct bat_profile_counters counters;
        struct bat_error error = {0};
        enum bat_code code =
            read_bytes(fixture, bytes.data, size, size % 2 != 0, &counters, &error);
        /* What is too short for the magic is an empty profile, or text. */
        if (code == BAT_OK && size == 0)
            continue;
        if (code == BAT_OK)
            fail_msg("%s: the first %zu of its %zu bytes are read as a profile", name, size,
                     bytes.size);
        if (size >= 8)
            check_error(code, &error, name, size);
    }
}

TEST(test_truncated_files)
{
    check_truncated_file(*state, "file.data");
    check_truncated_file(*state, "compressed.data");
    check_truncated_file(*state, "compressed2.data");
}

/* A stream may end behind any record, if it has the binary and a branch stack by then. */
TEST(test_truncated_stream)
{
    struct bytes bytes = load("stream.data");
    size_t boundary = STREAM_HEADER_SIZE;
    unsigned complete = 0;
    for (size_t size = 8; size < bytes.size; size++) {
        struct bat_profile_counters counters;
        struct bat_error error = {0};
        enum bat_code code = read_bytes(*state, bytes.data, size, size % 2 != 0, &counters, &error);
        uint16_t record_size;
        memcpy(&record_size, bytes.data + boundary + 6, sizeof(record_size));
        if (size == boundary + record_size)
            boundary = size;
        if (code == BAT_OK && size != boundary)
            fail_msg("stream.data: %zu bytes, which end inside a record, are read as a profile",
                     size);
        if (code == BAT_OK)
            complete++;
        else
            check_error(code, &error, "stream.data", size);
    }
    assert_in_range(complete, 5, 20);
}

/* --- One byte changed --------------------------------------------------------------------------
 */

static void check_changed(const struct fixture *fixture, const char *name)
{
    struct bytes bytes = load(name);
    for (size_t i = 8; i < bytes.size; i++) {
        const uint8_t was = bytes.data[i];
        const uint8_t others[] = {0, 0xff, (uint8_t)(was + 1), (uint8_t)(was ^ 0x80)};
        for (size_t j = 0; j < sizeof(others); j++) {
            struct bat_profile_counters counters;
            struct bat_error error = {0};
            bytes.data[i] = others[j];
            enum bat_code code =
                read_bytes(fixture, bytes.data, bytes.size, j % 2 != 0, &counters, &error);
            if (code != BAT_OK)
                check_error(code, &error, name, i);
            else if (counters.perf_samples > 4)
                fail_msg("%s: with byte %zu changed it has %llu samples", name, i,
                         (unsigned long long)counters.perf_samples);
        }
        bytes.data[i] = was;
    }
}

TEST(test_changed_file)
{
    check_changed(*state, "file.data");
}

TEST(test_changed_stream)
{
    check_changed(*state, "stream.data");
}

TEST(test_changed_compressed)
{
    check_changed(*state, "compressed.data");
    check_changed(*state, "compressed2.data");
}

GROUP(open_fixture, close_fixture)
