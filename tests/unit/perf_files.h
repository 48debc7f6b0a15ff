/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Files of perf.data for tests, of the demonstration's binary: those in tests/data/perf, and
 * streams made of a few records.
 */
#pragma once

#include "kept.h"
#include "perf_bytes.h"
#include "profile_text.h"
#include "unit_test.h"

static const char *const names[] = {"file.data", "stream.data", "compressed.data",
                                    "compressed2.data"};

/* The bytes of one of the files in tests/data/perf. */
static inline struct perf_bytes load(const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/perf/%s", TEST_DATA, name);
    struct perf_bytes bytes = {0};
    size_t size;
    const char *all = file_bytes(path, &size);
    put(&bytes, all, size);
    return bytes;
}

static inline struct bat_elf *open_binary(void)
{
    return open_elf(TEST_DATA "/demo/small.bolt");
}

/* To be freed by the caller. */
static inline struct bat_profile *unkept_profile_of(const struct bat_elf *elf)
{
    struct bat_profile_target target = {.size = sizeof(target), .elf = elf, .is_bolted = true};
    target.build_id = bat_elf_build_id(elf, &target.build_id_size);
    struct bat_profile *profile;
    assert_ok(bat_profile_new(&target, &profile, NULL));
    return profile;
}

static inline struct bat_profile *profile_of(const struct bat_elf *elf)
{
    return kept_profile(unkept_profile_of(elf));
}

static inline enum bat_code read_bytes(struct bat_profile *profile, const struct perf_bytes *bytes,
                                       const struct bat_read_options *options,
                                       struct bat_error *error)
{
    char *path = new_file(bytes->bytes, bytes->size);
    enum bat_code code = bat_profile_read(profile, path, options, error);
    remove_file(path);
    return code;
}

/* The bytes must be refused, with that place and sentence. */
static inline void assert_refused(const struct perf_bytes *bytes,
                                  const struct bat_read_options *options, enum bat_code code,
                                  uint64_t offset, const char *message)
{
    struct bat_elf *elf = open_binary();
    struct bat_profile *profile = profile_of(elf);
    struct bat_error error = {0};
    enum bat_code got = read_bytes(profile, bytes, options, &error);
    bool is_placed = offset == BAT_NO_OFFSET || error.place == BAT_PLACE_FILE;
    if (got != code || error.offset != offset || !is_placed || !strstr(error.message, message))
        fail_msg("expected %s at 0x%llx: ...%s...\n     got %s at 0x%llx: %s", bat_code_name(code),
                 (unsigned long long)offset, message, bat_code_name(got),
                 (unsigned long long)error.offset, error.message);
}

/* A process maps the demonstration's code. */
static inline void put_mapping(struct perf_bytes *bytes, uint32_t process, uint16_t misc)
{
    struct bat_elf *elf = open_binary();
    struct bat_segment code = {0};
    for (size_t i = 0; bat_elf_segment(elf, i, &code) && !(code.flags & 1); i++)
        continue;
    put_header(bytes, RECORD_MMAP, misc, 48);
    put_u64(bytes, process);
    put_u64(bytes, code.address & ~UINT64_C(4095));
    put_u64(bytes, code.file_size);
    put_u64(bytes, code.offset & ~UINT64_C(4095));
    put(bytes, "/opt/small.bolt\0", 16);
}

/* A stream with process 7 and one sample of these fields, type SAMPLE_IP | TID and more. */
static inline struct perf_bytes make_stream(uint64_t type, const void *fields, size_t size)
{
    struct perf_bytes bytes = {0};
    put(&bytes, PERF_MAGIC, 8);
    put_u64(&bytes, PERF_PIPE_HEADER_SIZE);
    put_header(&bytes, RECORD_HEADER_ATTR, 0, 128);
    put_attribute(&bytes, type, 0, 0, 0);
    put_mapping(&bytes, 7, 0);
    put_record(&bytes, RECORD_SAMPLE, 0, fields, size);
    return bytes;
}
