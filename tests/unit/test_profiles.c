/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Profiles of several binaries that are read from one file. */
#include "bat_output.h"
#include "bat_profile.h"
#include "folder.h"
#include "unit_test.h"

#define PROFILES 2u

/* Two binaries whose build-ids are ab and abcd, the second at addresses from 0x1000 on. */
static void make_profiles(struct bat_profile **profiles)
{
    static const uint8_t ids[PROFILES][2] = {{0xab}, {0xab, 0xcd}};
    for (size_t i = 0; i < PROFILES; i++) {
        const struct bat_profile_target target = {.size = sizeof(target),
                                                  .build_id = ids[i],
                                                  .build_id_size = i + 1,
                                                  .base_address = 0x1000 * i};
        assert_ok(bat_profile_new(&target, &profiles[i], NULL));
    }
}

static void free_profiles(struct bat_profile **profiles)
{
    for (size_t i = 0; i < PROFILES; i++)
        bat_profile_free(profiles[i]);
}

/* Read text by both; error may be NULL. */
static enum bat_code read_text(struct bat_profile **profiles, const char *text,
                               struct bat_profiles_counters *counters, struct bat_error *error)
{
    return bat_profiles_read(profiles, PROFILES, write_file(text, strlen(text)), NULL, counters,
                             error);
}

/* The count of a trace in a profile; 0 if it is not there. */
static uint64_t count_of(const struct bat_profile *profile, uint64_t branch, uint64_t from,
                         uint64_t to)
{
    struct bat_trace trace;
    for (uint64_t i = 0; bat_profile_trace(profile, i, &trace); i++)
        if (trace.branch == branch && trace.from == from && trace.to == to)
            return trace.count;
    return 0;
}

TEST(test_each_has_its_own)
{
    struct bat_profile *profiles[PROFILES];
    make_profiles(profiles);
    uint64_t inside[PROFILES] = {0};
    struct bat_profiles_counters counters = {.size = sizeof(counters), .inside = inside};
    assert_ok(read_text(profiles,
                        "T ab:10 abcd:20 abcd:30 3\nR abcd:40 ab:50 ab:60 4\n"
                        "T abcd:40 ab:50 ab:60 5\nT X:1 0 abce:7 6\nS ab:8 7\n",
                        &counters, NULL));
    assert_int_equal(count_of(profiles[0], 0x10, 0, 0), 3);
    assert_int_equal(count_of(profiles[1], 0, 0x1020, 0x1030), 3);
    /* The return of another binary is a return outside; here it is only known as one in an R. */
    assert_int_equal(count_of(profiles[0], BAT_TRACE_EXTERNAL_RETURN, 0x50, 0x60), 4);
    assert_int_equal(count_of(profiles[0], 0, 0x50, 0x60), 5);
    assert_int_equal(count_of(profiles[1], 0x1040, 0, 0), 9);
    assert_int_equal(count_of(profiles[0], 0, 0, 0), 6);
    assert_int_equal(count_of(profiles[1], 0, 0, 0), 6);
    assert_int_equal(counters.samples, 25);
    assert_int_equal(counters.none, 6);
    assert_int_equal(inside[0], 3 + 9 + 7);
    assert_int_equal(inside[1], 3 + 9);
    free_profiles(profiles);
}

/* All or nothing: what the first profile got is taken back if the second cannot have it. */
TEST(test_all_or_nothing)
{
    struct bat_profile *profiles[PROFILES];
    struct bat_error error;
    make_profiles(profiles);
    assert_ok(read_text(profiles, "T ab:1 ab:2 ab:3 4\nS ab:5 6\nE e\n", NULL, NULL));
    assert_ok(bat_profile_add_sample(profiles[1], 7, (uint64_t)INT64_MAX - 20, NULL));
    assert_int_equal(
        read_text(profiles, "T ab:1 ab:2 ab:3 8\nT ab:9 ab:9 ab:9 9\nE f\n", NULL, &error),
        BAT_ERR_RANGE);
    assert_int_equal(read_text(profiles, "T ab:1 ab:2 ab:3 8\nT 9 9 9 9\n", NULL, &error),
                     BAT_ERR_SYNTAX);
    assert_non_null(strstr(error.message, "expected a build-id before the address"));
    assert_int_equal(error.line, 2);
    assert_int_equal(read_text(profiles, "1 main 0 1 main 4 0 1\n", NULL, &error),
                     BAT_ERR_MISMATCH);
    assert_int_equal(read_text(profiles, "", NULL, &error), BAT_ERR_SYNTAX);
    assert_int_equal(count_of(profiles[0], 1, 2, 3), 4);
    assert_int_equal(count_of(profiles[0], 9, 9, 9), 0);
    assert_int_equal(bat_profile_distinct(profiles[0]), 2);
    assert_null(bat_profile_event(profiles[0], 1));
    assert_int_equal(bat_profile_counters(profiles[0]).trace_records, 1);
    free_profiles(profiles);
}

TEST(test_arguments)
{
    struct bat_profile *profiles[PROFILES];
    struct bat_profiles_counters counters = {.size = 0};
    make_profiles(profiles);
    assert_int_equal(bat_profiles_read(profiles, 0, "/dev/null", NULL, NULL, NULL),
                     BAT_ERR_ARGUMENT);
    assert_int_equal(bat_profiles_read(profiles, PROFILES, "/dev/null", NULL, &counters, NULL),
                     BAT_ERR_ARGUMENT);
    assert_int_equal(bat_profiles_read(profiles, PROFILES, "/nowhere/x", NULL, NULL, NULL),
                     BAT_ERR_IO);
    assert_int_equal(bat_profiles_read(profiles, PROFILES, "/tmp", NULL, NULL, NULL),
                     BAT_ERR_UNSUPPORTED);
    assert_int_equal(bat_mapped_files("/dev/null", NULL, NULL, NULL), BAT_ERR_UNSUPPORTED);
    free_profiles(profiles);
}

static bool take(const void *bytes, size_t size, void *context)
{
    strncat(context, bytes, size);
    return true;
}

TEST(test_one_text)
{
    struct bat_profile *profiles[PROFILES];
    char text[1000] = "";
    make_profiles(profiles);
    assert_ok(read_text(profiles, "E e\nB ab:10 abcd:20 3 2\nT X:1 0 X:7 6\nr ab:5 ab:6 7\n", NULL,
                        NULL));
    struct bat_output *output;
    assert_ok(bat_output_begin_callback(take, text, &output, NULL));
    assert_ok(bat_profiles_write_preagg((const struct bat_profile *const *)profiles, PROFILES,
                                        output, NULL));
    assert_ok(bat_outputs_commit(&output, 1, NULL));
    assert_string_equal(text, "E e\nB ab:10 0 3 2\nr ab:5 ab:6 7\nB 0 abcd:20 3 2\n");
    free_profiles(profiles);
}
