/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* profile/preagg_write.c: profiles as pre-aggregated text, by the rules of spec/profiles.md 1. */
#include "output_file.h"
#include "profile_text.h"
#include "unit_test.h"

/* The constants that stand for what is not known: -1, -2, -3. */
#define MINUS_1 0xffffffffffffffffULL
#define MINUS_2 0xfffffffffffffffeULL
#define MINUS_3 0xfffffffffffffffdULL

/* What a profile is written as. */
static char *written(const struct bat_profile *profile)
{
    char *path = write_file("", 0);
    struct bat_error error = {0};
    struct bat_output *output = begin_output(path);
    if (bat_profile_write_preagg(profile, output, &error) != BAT_OK)
        fail_msg("%s", error.message);
    commit_output(output);
    return file_bytes(path, NULL);
}

static void assert_written(const struct bat_profile *profile, const char *expected)
{
    assert_string_equal(written(profile), expected);
}

static void add(struct bat_counts *counts, uint64_t first, uint64_t second, uint64_t third,
                uint64_t count, uint64_t mispredictions)
{
    const uint64_t key[3] = {first, second, third};
    assert_ok(bat_counts_add(counts, key, count, mispredictions));
}

TEST(test_every_type_in_order)
{
    struct bat_profile *profile = new_profile();
    /* Neither the order of lines nor how the constants are spelled is kept. */
    read_text(profile, bat_preagg_read,
              "r 25 35 9\nE b:u\nf 24 34 8\nF 23 33 7\nS 17 1\nS 16 10\nB 12 22 6 2\n"
              "R 11 21 31 5\nT 10 20 30 4\nT 10 20 2f 1\nT 0 20 30 1\nE a\nT -1 1 2 3\n");
    assert_written(profile, "E a\nE b:u\n"
                            "T 0 20 30 1\n"
                            "T 10 20 2f 1\n"
                            "T 10 20 30 4\n"
                            "R 11 21 31 5\n"
                            "B 12 22 6 2\n"
                            "r 25 35 9\n"
                            "f 24 34 8\n"
                            "F 1 2 3\n"
                            "F 23 33 7\n"
                            "S 16 10\n"
                            "S 17 1\n");
}

TEST(test_mispredictions)
{
    struct bat_profile *profile = new_profile();
    /* One branch with two fall-throughs and a stack's top; one without a top; one never missed. */
    add(&profile->traces, 0x10, 0x20, 0x30, 7, 2);
    add(&profile->traces, 0x10, 0x20, 0x31, 5, 1);
    add(&profile->traces, 0x10, 0x20, MINUS_1, 4, 3);
    add(&profile->traces, 0x10, 0x21, 0x30, 9, 8);
    add(&profile->traces, 0x11, 0x21, 0x30, 6, 0);
    assert_written(profile, "T 10 20 30 7\nT 10 20 31 5\nB 10 20 4 6\n"
                            "T 10 21 30 9\nB 10 21 0 8\n"
                            "T 11 21 30 6\n");
}

TEST(test_returns)
{
    struct bat_profile *profile = new_profile();
    add(&profile->traces, 0x10, 0x20, 0x30, 7, 2);
    add(&profile->traces, 0x10, 0x20, MINUS_1, 3, 0);
    const uint64_t branch = 0x10;
    assert_ok(bat_counts_add(&profile->returns, &branch, 0, 0));
    assert_written(profile, "R 10 20 30 7\nR 10 20 ffffffffffffffff 3\nB 10 20 0 2\n");
}

/* What is written of an image with a base counts from it, but what stands for something else. */
TEST(test_base_address)
{
    const struct bat_profile_target target = {.size = sizeof(target), .base_address = 0x400000};
    struct bat_profile *profile;
    assert_ok(bat_profile_new(&target, &profile, NULL));
    add(&profile->traces, 0x400010, 0x400020, 0x400030, 1, 0);
    add(&profile->traces, 0, 0x400020, 0x400030, 1, 0);
    add(&profile->traces, MINUS_3, 0x400020, 0x400030, 1, 0);
    add(&profile->traces, 0x400010, 0, MINUS_1, 1, 0);
    add(&profile->traces, 0x400040, 0x3ffff0, MINUS_1, 1, 0);
    add(&profile->samples, 0x400099, 0, 0, 2, 0);
    static const char expected[] = "T 0 20 30 1\nB 10 0 1 0\nT 10 20 30 1\n"
                                   "B 40 fffffffffffffff0 1 0\nr 20 30 1\nS 99 2\n";
    assert_written(profile, expected);
    struct bat_profile *again;
    assert_ok(bat_profile_new(&target, &again, NULL));
    read_text(again, bat_preagg_read, expected);
    assert_trace(again, 0x400010, 0x400020, 0x400030, 1, 0);
    assert_trace(again, 0, 0x400020, 0x400030, 1, 0);
    assert_trace(again, 0x400040, 0x3ffff0, MINUS_1, 1, 0);
    assert_sample(again, 0x400099, 2);
    assert_written(again, expected);
    bat_profile_free(again);
    bat_profile_free(profile);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Of each branch: how often, and how often mispredicted, over all its traces. */
static struct bat_counts sum_branches(const struct bat_profile *profile)
{
    struct bat_counts sums = bat_counts_new(2);
    for (uint32_t i = 0; i < profile->traces.count; i++) {
        const uint64_t *item = bat_counts_item(&profile->traces, i);
        assert_ok(bat_counts_add(&sums, item, item[3], item[4]));
    }
    return sums;
}

/* Read back, every branch and every fall-through has the counts that it had. */
TEST(test_read_back)
{
    static const uint64_t ends[] = {0, 1, 2, 0x401000, 0x401004, MINUS_3, MINUS_2, MINUS_1};
    uint64_t random = 0x2545f4914f6cdd1dULL;
    struct bat_profile *profile = new_profile();
    for (unsigned i = 0; i < 400; i++) {
        uint64_t bits = next_random(&random);
        add(&profile->traces, ends[bits % 8], ends[bits / 8 % 5],
            ends[bits / 64 % 5 + (bits / 512 % 4 ? 0 : 3)], bits / 4096 % 100, bits / 1048576 % 7);
    }
    char *text = written(profile);
    struct bat_profile *again = new_profile();
    read_text(again, bat_preagg_read, text);
    struct bat_counts before = sum_branches(profile);
    struct bat_counts after = sum_branches(again);
    assert_int_equal(before.count, after.count);
    for (uint32_t i = 0; i < before.count; i++) {
        const uint64_t *one = bat_counts_item(&before, i);
        const uint64_t *other = bat_counts_find(&after, one);
        assert_non_null(other);
        assert_memory_equal(one, other, 4 * sizeof(*one));
    }
    for (uint32_t i = 0; i < profile->traces.count; i++) {
        const uint64_t *item = bat_counts_item(&profile->traces, i);
        const uint64_t *other = bat_counts_find(&again->traces, item);
        assert_non_null(other);
        assert_int_equal(item[3], other[3]);
    }
    bat_counts_free(&before);
    bat_counts_free(&after);
}

TEST(test_event_names)
{
    struct bat_profile *profile = new_profile();
    uint32_t number;
    assert_ok(bat_strings_add(&profile->events, "cpu/event=0x1, umask=2/", 23, &number));
    assert_ok(bat_strings_add(&profile->events, "", 0, &number));
    assert_written(profile, "E cpu/event=0x1,_umask=2/\n");
}

TEST(test_what_has_no_form)
{
    struct bat_profile *profile = new_profile();
    read_text(profile, bat_fdata_read, "boltedcollection\n1 f 0 1 f 4 0 1\n");
    struct bat_error error = {0};
    char *path = write_file("old", 3);
    struct bat_output *output = begin_output(path);
    assert_int_equal(bat_profile_write_preagg(profile, output, &error), BAT_ERR_MISMATCH);
    bat_output_abandon(output);
    assert_non_null(strstr(error.message, "found fdata"));

    /* The sum of two counters that are fine by themselves. */
    profile = new_profile();
    add(&profile->traces, 0x10, 0x20, 0x30, 1, BAT_COUNT_MAX);
    add(&profile->traces, 0x10, 0x20, 0x31, 1, 1);
    path = write_file("old", 3);
    output = begin_output(path);
    assert_int_equal(bat_profile_write_preagg(profile, output, &error), BAT_ERR_RANGE);
    bat_output_abandon(output);
    assert_string_equal(file_bytes(path, NULL), "old");
}

/* The largest sums that are written can be read. */
TEST(test_largest)
{
    struct bat_profile *profile = new_profile();
    add(&profile->traces, 0x10, 0x20, 0x30, BAT_COUNT_MAX - 1, BAT_COUNT_MAX - 1);
    add(&profile->traces, 0x10, 0x20, 0x31, 1, 1);
    static const char expected[] = "T 10 20 30 9223372036854775806\nT 10 20 31 1\n"
                                   "B 10 20 0 9223372036854775807\n";
    assert_written(profile, expected);
    struct bat_profile *again = new_profile();
    read_text(again, bat_preagg_read, expected);
    assert_written(again, expected);
}
