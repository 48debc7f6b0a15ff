/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * perf.data that ends too early, at every byte, and that has one byte changed, at every byte: an
 * error that says what was expected and found, or, where it can still be right, a profile. Memory
 * is watched by the sanitizers' build. The files hold every kind of record (tests/data/make.py);
 * test_perf_data.c says what the whole ones give.
 */
#include <sys/mman.h>

#include "perf_files.h"
#include "unit_test.h"

#define STREAM_HEADER_SIZE 16u

/* The file that is written over and over. It is in memory: some file systems write a file to the
 * disk each time that it was emptied and is closed. */
static int file;
static char path[32];
static struct bat_elf *binary;

static int open_file(void **state)
{
    (void)state;
    file = memfd_create("perf", 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    return file < 0 || bat_elf_open(TEST_DATA "/demo/small.bolt", &binary, NULL) != BAT_OK;
}

static int close_file(void **state)
{
    (void)state;
    bat_elf_close(binary);
    return close(file);
}

/* Read the first bytes as a profile of the binary; *counters gets what was read. */
static enum bat_code read_some(const struct perf_bytes *bytes, size_t size, bool basic,
                               struct bat_profile_counters *counters, struct bat_error *error)
{
    assert_int_equal(ftruncate(file, (off_t)size), 0);
    assert_int_equal(pwrite(file, bytes->bytes, size, 0), size);
    struct bat_profile *profile = unkept_profile_of(binary);
    const struct bat_read_options options = {
        .size = sizeof(options), .threads = 1, .basic_samples = basic};
    enum bat_code code = bat_profile_read(profile, path, &options, error);
    *counters = bat_profile_counters(profile);
    bat_profile_free(profile);
    return code;
}

/* An error that tells what was expected and what was found, in the file. */
static void check_error(enum bat_code code, const struct bat_error *error, const char *what,
                        size_t where, size_t size)
{
    if (error->code != code || !strstr(error->message, "expected ") ||
        (!strstr(error->message, "found ") && !strstr(error->message, "zstd")) ||
        (error->offset != BAT_NO_OFFSET && error->offset > size))
        fail_msg("%s %zu: code %d, error %d: %s", what, where, (int)code, (int)error->code,
                 error->message);
}

/* --- Truncated ------------------------------------------------------------------------------ */

/* The first bytes, which must not be a profile, but at is_end; true if they are one. */
static bool read_truncated(const struct perf_bytes *bytes, const char *name, size_t size,
                           bool basic, bool is_end)
{
    struct bat_profile_counters counters;
    struct bat_error error = {0};
    enum bat_code code = read_some(bytes, size, basic, &counters, &error);
    if (code == BAT_OK && !is_end)
        fail_msg("%s: the first %zu of its %zu bytes are read as a profile", name, size,
                 bytes->size);
    if (code != BAT_OK && size >= 8)
        check_error(code, &error, name, size, size);
    return code == BAT_OK;
}

/* A file's header says where everything is: nothing may be missing. What is too short for the magic
 * is an empty profile, or text. Every second size is read with basic samples, too. */
TEST(test_truncated_files)
{
    for (size_t i = 0; i < COUNT(names); i++) {
        struct perf_bytes bytes = load(names[i]);
        bool is_stream = strcmp(names[i], "stream.data") == 0;
        for (size_t size = 0; !is_stream && size < bytes.size; size++)
            for (size_t basic = 0; basic <= size % 2; basic++)
                read_truncated(&bytes, names[i], size, basic != 0, size == 0);
    }
}

/* A stream may end behind any record, if it has the binary and a branch stack by then. */
TEST(test_truncated_stream)
{
    struct perf_bytes bytes = load("stream.data");
    size_t boundary = STREAM_HEADER_SIZE;
    unsigned complete = 0;
    for (size_t size = 8; size < bytes.size; size++) {
        uint16_t record_size;
        memcpy(&record_size, bytes.bytes + boundary + 6, sizeof(record_size));
        if (size == boundary + record_size)
            boundary = size;
        for (size_t basic = 0; basic <= size % 2; basic++)
            complete += read_truncated(&bytes, "stream.data", size, basic != 0, size == boundary);
    }
    assert_in_range(complete, 5, 20);
}

/* --- One byte changed ----------------------------------------------------------------------- */

/* Each byte with each of these values; the first eight say what kind of file it is. */
static void check_changed(const char *name)
{
    struct perf_bytes bytes = load(name);
    unsigned refused = 0;
    for (size_t i = 0; i < bytes.size; i++) {
        const uint8_t was = bytes.bytes[i];
        const uint8_t others[] = {was ^ 0x01, was ^ 0x80, was ^ 0xff, 0, 0xff, (uint8_t)(was + 1)};
        for (size_t j = 0; j < COUNT(others); j++) {
            /* Not those that are the same. */
            if (others[j] == was || memchr(others, others[j], j))
                continue;
            struct bat_profile_counters counters;
            struct bat_error error = {0};
            bytes.bytes[i] = others[j];
            enum bat_code code = read_some(&bytes, bytes.size, (i + j) % 2 != 0, &counters, &error);
            refused += code != BAT_OK;
            if (code == BAT_OK && counters.perf_samples > 4)
                fail_msg("%s: with byte %zu changed it has %llu samples", name, i,
                         (unsigned long long)counters.perf_samples);
            if (code != BAT_OK && i >= 8)
                check_error(code, &error, name, i, UINT64_MAX);
            if (code != BAT_OK)
                assert_true(error.message[0] != '\0');
        }
        bytes.bytes[i] = was;
    }
    assert_true(refused > 100);
}

TEST(test_changed_file)
{
    check_changed("file.data");
}

TEST(test_changed_stream)
{
    check_changed("stream.data");
}

TEST(test_changed_compressed)
{
    check_changed("compressed.data");
    check_changed("compressed2.data");
}

GROUP(open_file, close_file)
