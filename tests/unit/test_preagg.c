/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* profile/read/preagg_read.c: pre-aggregated profiles, by the rules of spec/profiles.md 1. */
#include "profile_text.h"
#include "unit_test.h"

/* The constants that stand for what is not known: -1, -2, -3. */
#define MINUS_1 0xffffffffffffffffULL
#define MINUS_2 0xfffffffffffffffeULL
#define MINUS_3 0xfffffffffffffffdULL

/* --- Records -------------------------------------------------------------------------------- */

TEST(test_every_type)
{
    struct bat_profile *profile = new_profile();
    read_text(profile, bat_preagg_read,
              "T 10 20 30 4\n"
              "R 11 21 31 5\n"
              "B 12 22 6 2\n"
              "F 23 33 7\n"
              "f 24 34 8\n"
              "r 25 35 9\n"
              "S 16 10\n"
              "E cycles:u\n");
    assert_int_equal(profile->traces.count, 6);
    assert_trace(profile, 0x10, 0x20, 0x30, 4, 0);
    assert_trace(profile, 0x11, 0x21, 0x31, 5, 0);
    assert_trace(profile, 0x12, 0x22, MINUS_1, 6, 2);
    assert_trace(profile, MINUS_1, 0x23, 0x33, 7, 0);
    assert_trace(profile, MINUS_2, 0x24, 0x34, 8, 0);
    assert_trace(profile, MINUS_3, 0x25, 0x35, 9, 0);
    assert_int_equal(profile->samples.count, 1);
    assert_sample(profile, 0x16, 10);
    assert_int_equal(profile->events.count, 1);
    assert_string_equal(bat_strings_get(&profile->events, 0), "cycles:u");
    struct bat_profile_counters counters = bat_profile_counters(profile);
    assert_int_equal(counters.trace_records, 6);
    assert_int_equal(counters.sample_records, 1);
    assert_int_equal(counters.fdata_records, 0);
    assert_int_equal(counters.foreign_locations, 0);
    assert_int_equal(bat_profile_distinct(profile), 7);
}

TEST(test_records_add_up)
{
    struct bat_profile *profile = new_profile();
    read_text(profile, bat_preagg_read,
              "B 1 2 10 3\nB 1 2 1 1\nT 1 2 -1 5\nS 7 1\nS 7 2\nE a\nE b\nE a\n"
              "F 1 2 1\nF 1 2 0\nT -1 1 2 3\n");
    /* A B is a trace whose end is not known, an F one whose branch is not. */
    assert_int_equal(profile->traces.count, 2);
    assert_trace(profile, 1, 2, MINUS_1, 16, 4);
    assert_trace(profile, MINUS_1, 1, 2, 4, 0);
    assert_sample(profile, 7, 3);
    assert_int_equal(profile->events.count, 2);
    struct bat_profile_counters counters = bat_profile_counters(profile);
    assert_int_equal(counters.trace_records, 6);
    assert_int_equal(counters.sample_records, 2);
}

TEST(test_constants)
{
    struct bat_profile *profile = new_profile();
    read_text(profile, bat_preagg_read,
              "T 1 2 -1 1\n"
              "T 1 2 ffffffffffffffff 10\n"
              "T 1 2 FFFFFFFFFFFFFFFF 100\n"
              "T -1 3 4 1\n"
              "T -2 3 4 2\n"
              "T -3 3 4 3\n"
              "T fffffffffffffffe 3 4 20\n"
              "T fffffffffffffffd 3 4 30\n"
              "T fffffffffffffffc 3 4 5\n" /* no constant, but an address */
              "f 3 4 200\n"
              "r 3 4 300\n");
    assert_trace(profile, 1, 2, MINUS_1, 111, 0);
    assert_trace(profile, MINUS_1, 3, 4, 1, 0);
    assert_trace(profile, MINUS_2, 3, 4, 222, 0);
    assert_trace(profile, MINUS_3, 3, 4, 333, 0);
    assert_trace(profile, 0xfffffffffffffffc, 3, 4, 5, 0);

    /* A base address moves addresses, but neither constants nor what is outside. */
    const struct bat_profile_target target = {.size = sizeof(target), .base_address = 0x1000};
    assert_ok(bat_profile_new(&target, &profile, NULL));
    read_text(profile, bat_preagg_read,
              "T -2 3 -1 1\nT -3 3 4 1\nT 1 0 2 3\nT X:5 6 7 1\nS 10 1\n");
    assert_trace(profile, MINUS_2, 0x1003, MINUS_1, 1, 0);
    assert_trace(profile, MINUS_3, 0x1003, 0x1004, 1, 0);
    assert_trace(profile, 0x1001, 0, 0x1002, 3, 0);
    assert_trace(profile, 0, 0x1006, 0x1007, 1, 0);
    assert_sample(profile, 0x1010, 1);
    bat_profile_free(profile);
}

/* "An R whose branch lies outside is an r", and others tell where a return is. */
TEST(test_returns)
{
    struct bat_profile *profile = new_profile();
    read_text(profile, bat_preagg_read,
              "R 10 2 3 1\nR 10 2 3 1\nR 11 2 3 1\nT 12 2 3 1\n"
              "R X:55 2 3 7\nR 0 2 3 7\nR -3 2 3 7\nR -2 2 3 7\nR -1 2 3 7\n");
    assert_int_equal(profile->returns.count, 2);
    static const uint64_t returns[] = {0x10, 0x11};
    for (size_t i = 0; i < COUNT(returns); i++)
        assert_non_null(bat_counts_find(&profile->returns, &returns[i]));
    assert_trace(profile, 0x10, 2, 3, 2, 0);
    assert_trace(profile, MINUS_3, 2, 3, 21, 0);
    assert_trace(profile, MINUS_2, 2, 3, 7, 0);
    assert_trace(profile, MINUS_1, 2, 3, 7, 0);
}

/* --- Locations ------------------------------------------------------------------------------ */

static const uint8_t build_id[] = {0xab, 0x10, 0x00, 0xff};

static struct bat_profile *profile_of_build_id(size_t size, bool ignore)
{
    const struct bat_profile_target target = {.size = sizeof(target),
                                              .build_id = size ? build_id : NULL,
                                              .build_id_size = size,
                                              .base_address = 0x400000,
                                              .ignore_build_id = ignore};
    struct bat_profile *profile;
    assert_ok(bat_profile_new(&target, &profile, NULL));
    return kept_profile(profile);
}

TEST(test_own_build_id)
{
    struct bat_profile *profile = profile_of_build_id(sizeof(build_id), false);
    read_text(profile, bat_preagg_read,
              "S ab1000ff:10 1\nS AB1000FF:10 2\nS aB1000Ff:10 4\nS 10 8\n"
              "S ab1000ff:0 1\nT ab1000ff:1 2 ab1000ff:-1 1\n");
    assert_sample(profile, 0x400010, 15);
    assert_sample(profile, 0, 1);
    assert_trace(profile, 0x400001, 0x400002, MINUS_1, 1, 0);
    assert_int_equal(bat_profile_counters(profile).foreign_locations, 0);
    assert_null(bat_profile_foreign_id(profile));
}

TEST(test_foreign_locations)
{
    /* Everything but the four bytes in hexadecimal is another object. */
    static const char *const names[] = {
        "X",         "x",         "ab1000fe", "ab1000",   "ab1000ff00", "ab1000f",  "0",
        "ab1000ff0", "zb1000ff",  "ab1000fz", "ab1z00ff", "abz000ff",   "ab10z0ff", "[vdso]",
        "-1",        "ab1000ff.", "\xc3\xa4", "ab1/00ff", "ab1g00ff",
    };
    for (size_t i = 0; i < COUNT(names); i++) {
        struct bat_profile *profile = profile_of_build_id(sizeof(build_id), false);
        char text[64];
        snprintf(text, sizeof(text), "S %s:10 3\n", names[i]);
        read_text(profile, bat_preagg_read, text);
        if (bat_profile_counters(profile).foreign_locations != 1)
            fail_msg("%s is taken for the binary's own build-id", names[i]);
        assert_sample(profile, BAT_ADDRESS_EXTERNAL, 3);
        assert_int_equal(profile->samples.count, 1);
        assert_string_equal(bat_profile_foreign_id(profile), names[i]);
    }
}

/* A binary without a build-id has nothing that a name could be; bare addresses are its own. */
TEST(test_no_build_id)
{
    struct bat_profile *profile = profile_of_build_id(0, false);
    read_text(profile, bat_preagg_read, "S ab1000ff:10 1\nS 10 2\nS X:10 4\n");
    assert_sample(profile, 0x400010, 2);
    assert_sample(profile, BAT_ADDRESS_EXTERNAL, 5);
}

TEST(test_ignored_build_id)
{
    for (size_t size = 0; size <= sizeof(build_id); size += sizeof(build_id)) {
        struct bat_profile *profile = profile_of_build_id(size, true);
        read_text(profile, bat_preagg_read,
                  "S ab1000ff:10 1\nS 0123:10 2\nS X:10 4\nS 10 8\nS XX:10 16\n");
        assert_sample(profile, 0x400010, 27);
        assert_sample(profile, BAT_ADDRESS_EXTERNAL, 4);
        assert_int_equal(bat_profile_counters(profile).foreign_locations, 1);
    }
}

TEST(test_most_foreign)
{
    struct bat_profile *profile = new_profile();
    read_text(profile, bat_preagg_read, "S aa:1 100\nT bb:1 bb:2 X:3 1\nS X:1 1\nT bb:4 1 2 1\n");
    assert_string_equal(bat_profile_foreign_id(profile), "bb");
    assert_int_equal(bat_profile_counters(profile).foreign_locations, 6);
    /* Over several files it is locations that count, not files. */
    static const char *const files[] = {"S Y:1 1\n", "T X:1 X:2 X:3 1\n", "S Y:1 1\n"};
    profile = new_profile();
    for (size_t i = 0; i < COUNT(files); i++)
        assert_ok(read_as_file(profile, files[i], NULL));
    assert_string_equal(bat_profile_foreign_id(profile), "X");
}

/* Addresses and counts of 64 bits, and leading zeros. */
TEST(test_largest_numbers)
{
    struct bat_profile *profile = new_profile();
    read_text(profile, bat_preagg_read,
              "T 8000000000000000 0000000000000000000001 7fffffffffffffff 9223372036854775790\n"
              "B 1 2 0 9223372036854775807\n"
              "S deadBEEF 00000000000000000000000000000000000000017\n");
    assert_trace(profile, 0x8000000000000000, 1, 0x7fffffffffffffff, INT64_MAX - 17, 0);
    assert_trace(profile, 1, 2, MINUS_1, 0, INT64_MAX);
    assert_sample(profile, 0xdeadbeef, 17);
}

/* --- Blanks and lines ----------------------------------------------------------------------- */

TEST(test_blanks)
{
    struct bat_profile *profile = new_profile();
    read_text(profile, bat_preagg_read,
              "\n"
              "   \t \n"
              "\r\n"
              "T\t1 \t 2  3\t4\n"
              "  T 1 2 3 4   \n"
              "T 1 2 3 4\r\n"
              " \t E  cycles \r\n"
              "\n");
    assert_trace(profile, 1, 2, 3, 12, 0);
    assert_int_equal(profile->traces.count, 1);
    assert_string_equal(bat_strings_get(&profile->events, 0), "cycles");
    assert_int_equal(bat_profile_counters(profile).trace_records, 3);
}

/* More records than are put off at a time, some of them in the last batch. */
TEST(test_all_batches_count)
{
    for (unsigned records = 0; records < 3 * BAT_COUNTS_BATCH; records += 7) {
        char text[8192];
        int length = 0;
        for (unsigned i = 0; i < records; i++)
            length +=
                snprintf(text + length, sizeof(text) - (size_t)length, "T %x 2 3 1\n", i % 5 + 1);
        struct bat_profile *profile = new_profile();
        text[length] = '\0';
        read_text(profile, bat_preagg_read, text);
        for (unsigned i = 0; i < 5; i++)
            if (records > i)
                assert_trace(profile, i + 1, 2, 3, (records - i + 4) / 5, 0);
    }
}

/* --- What is refused ------------------------------------------------------------------------ */

#define TYPE "expected a record type (T, R, B, F, f, r, S, E or D), found "
#define ADDRESS "expected a hexadecimal address, found "
#define BEHIND "expected a hexadecimal address behind the colon, found "
#define COUNT_FOUND "expected a decimal count, found "

static const struct text_fault faults[] = {
    /* Types. */
    FAULT("Q 1 2 3 4\n", 0, 1, TYPE "\"Q\""),
    FAULT("S 1 1\n\nt 1 2 3 4\n", 2, 1, TYPE "\"t\""),
    FAULT("  TT 1 2 3 4\n", 0, 3, TYPE "\"TT\""),
    FAULT("1 main 0 1 main 5 0 1\n", 0, 1, TYPE "\"1\""),
    /* Fields too few, too many. */
    FAULT("T\n", 0, 2, ADDRESS "the end of the line"),
    FAULT("T 1 2\n", 0, 6, ADDRESS "the end of the line"),
    FAULT("T 1 2  \n", 0, 8, ADDRESS "the end of the line"),
    FAULT("T 1 2 3\n", 0, 8, COUNT_FOUND "the end of the line"),
    FAULT("T 1 2 3\r\n", 0, 9, COUNT_FOUND "the end of the line"),
    FAULT("T 1 2 3 4 x\n", 0, 11, COUNT_FOUND "\"x\""),
    FAULT("T 1 2 3 4 5 6\n", 0, 13, "expected the end of the line, found \"6\""),
    FAULT("F 1 2 3 4\n", 0, 9, "expected the end of the line, found \"4\""),
    FAULT("B 1 2\n", 0, 6, COUNT_FOUND "the end of the line"),
    FAULT("B 1 2 3 4 5\n", 0, 11, "expected the end of the line, found \"5\""),
    FAULT("F 1 2\n", 0, 6, COUNT_FOUND "the end of the line"),
    FAULT("r 1 2 3 4\n", 0, 9, "expected the end of the line, found \"4\""),
    FAULT("S 1\n", 0, 4, COUNT_FOUND "the end of the line"),
    FAULT("S 1 2 3\n", 0, 7, "expected the end of the line, found \"3\""),
    FAULT("E\n", 0, 2, "expected the name of an event, found the end of the line"),
    FAULT("E a b\n", 0, 5, "expected the end of the line, found \"b\""),
    /* Addresses. */
    FAULT("S 0x10 1\n", 0, 3, ADDRESS "\"0x10\""),
    FAULT("S 10g 1\n", 0, 3, ADDRESS "\"10g\""),
    FAULT("S 10000000000000000 1\n", 0, 3, ADDRESS "\"10000000000000000\""),
    FAULT("S -4 1\n", 0, 3, ADDRESS "\"-4\""),
    FAULT("S -0 1\n", 0, 3, ADDRESS "\"-0\""),
    FAULT("S -11 1\n", 0, 3, ADDRESS "\"-11\""),
    FAULT("S - 1\n", 0, 3, ADDRESS "\"-\""),
    FAULT("S :g 1\n", 0, 4, BEHIND "\"g\""),
    FAULT("S : 1\n", 0, 4, BEHIND "a blank"),
    FAULT("S X: 1\n", 0, 5, BEHIND "a blank"),
    FAULT("S X:\n", 0, 5, BEHIND "the end of the line"),
    FAULT("T 1 2 X:q 1\n", 0, 9, BEHIND "\"q\""),
    FAULT("S X:1:2 1\n", 0, 5, BEHIND "\"1:2\""),
    FAULT("S X:10000000000000000 1\n", 0, 5, BEHIND "\"10000000000000000\""),
    FAULT("S X:-4 1\n", 0, 5, BEHIND "\"-4\""),
    /* Counts. */
    FAULT("S 1 x\n", 0, 5, COUNT_FOUND "\"x\""),
    FAULT("S 1 -1\n", 0, 5, COUNT_FOUND "\"-1\""),
    FAULT("S 1 +1\n", 0, 5, COUNT_FOUND "\"+1\""),
    FAULT("S 1 1a\n", 0, 5, COUNT_FOUND "\"1a\""),
    FAULT("S 1 1.5\n", 0, 5, COUNT_FOUND "\"1.5\""),
    FAULT("S 1 18446744073709551616\n", 0, 5,
          "expected a count below 2^63, found \"18446744073709551616\""),
    FAULT("S 1 99999999999999999999\n", 0, 5,
          "expected a count below 2^63, found \"99999999999999999999\""),
    FAULT("B 1 2 1 18446744073709551616\n", 0, 9,
          "expected a count below 2^63, found \"18446744073709551616\""),
    /* What is found is quoted up to the next blank, and not for ever. */
    FAULT("S 1 x\ty\n", 0, 5, COUNT_FOUND "\"x\""),
    FAULT("S 1 x\r\n", 0, 5, COUNT_FOUND "\"x\""),
    FAULT("S 1 \x01\xff\"\n", 0, 5, COUNT_FOUND "\"\\x01\\xff\"\""),
    FAULT("S 1 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n", 0, 5,
          COUNT_FOUND "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\""),
    FAULT("S 1 1\nS 2 2\nS 3 3\n\nS 4 four\n", 4, 5, COUNT_FOUND "\"four\""),
    /* Zero bytes. */
    FAULT("\0S 1 1\n", 0, 1, TYPE "\"\\x00S\""),
    FAULT("S\0 1 1\n", 0, 1, TYPE "\"S\\x00\""),
    FAULT("S 1\0 1\n", 0, 3, ADDRESS "\"1\\x00\""),
    FAULT("S a\0b:1 1\n", 0, 3, "expected a build-id, found \"a\\x00b:1\""),
    FAULT("S 1 1\0\n", 0, 5, COUNT_FOUND "\"1\\x00\""),
    FAULT("S 1 1 \0\n", 0, 7, "expected the end of the line, found \"\\x00\""),
    FAULT("E cyc\0les\n", 0, 6, "expected the name of an event, found \"\\x00les\""),
};

TEST(test_faults)
{
    assert_faults(bat_preagg_read, faults, COUNT(faults));
}

/* Check that a text gives the same, be there many bytes behind it or none. */
static bool assert_read_alike(const char *text, size_t size)
{
    struct bat_profile *profiles[2];
    struct bat_error errors[2] = {{0}, {0}};
    enum bat_code codes[2];
    const unsigned before = blank_lines_behind;
    for (unsigned i = 0; i < 2; i++) {
        blank_lines_behind = 64 * i;
        profiles[i] = new_profile();
        codes[i] = read_lines(profiles[i], bat_preagg_read, text, size, 1, &errors[i]);
        bat_counts_sort(&profiles[i]->traces);
        bat_counts_sort(&profiles[i]->samples);
    }
    blank_lines_behind = before;
    assert_int_equal(codes[0], codes[1]);
    assert_memory_equal(&errors[0], &errors[1], sizeof(errors[0]));
    if (codes[0] == BAT_OK) {
        const struct bat_profile *left = profiles[0];
        const struct bat_profile *right = profiles[1];
        assert_int_equal(left->traces.count, right->traces.count);
        assert_int_equal(left->samples.count, right->samples.count);
        if (left->traces.count)
            assert_memory_equal(left->traces.items, right->traces.items,
                                left->traces.count * 5 * sizeof(uint64_t));
        if (left->samples.count)
            assert_memory_equal(left->samples.items, right->samples.items,
                                left->samples.count * 3 * sizeof(uint64_t));
    } else {
        assert_int_equal(errors[0].code, BAT_ERR_SYNTAX);
        assert_in_range(errors[0].column, 1, size);
    }
    release_kept(NULL); /* many texts are read */
    return codes[0] == BAT_OK;
}

/* Every byte in the place of every other: no crash, and what fails fails inside of its line. */
TEST(test_every_byte_everywhere)
{
    static const char sound[] = "T 1a X:2 -3 4\nB 1 2 3 4\nS ab:1 2\nE e\n";
    const size_t size = sizeof(sound) - 1;
    unsigned refused = 0;
    for (size_t at = 0; at + 1 < size; at++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            char text[sizeof(sound)];
            memcpy(text, sound, sizeof(sound));
            text[at] = (char)byte;
            refused += !assert_read_alike(text, size);
        }
    }
    assert_true(refused > size * 200);
}

/* --- Numbers of all lengths ----------------------------------------------------------------- */

/* The text of a number of these digits, as the C library reads it; false beyond 64 bits. */
static bool value_of(const char *digits, int base, uint64_t *value)
{
    unsigned __int128 sum = 0;
    for (; *digits; digits++) {
        const char digit[2] = {*digits, '\0'};
        sum = sum * (unsigned)base + strtoul(digit, NULL, base);
        if (sum > UINT64_MAX)
            return false;
    }
    *value = (uint64_t)sum;
    return true;
}

static void assert_number(const char *digits, int base)
{
    char text[128];
    snprintf(text, sizeof(text), base == 16 ? "S %s 1\n" : "S 1 %s\n", digits);
    uint64_t expected = 0;
    bool fits =
        value_of(digits, base, &expected) && (base == 16 || expected <= (uint64_t)INT64_MAX);
    struct bat_profile *profile = new_profile();
    enum bat_code code = read_lines(profile, bat_preagg_read, text, strlen(text), 1, NULL);
    assert_int_equal(code, fits ? BAT_OK : BAT_ERR_SYNTAX);
    if (fits)
        assert_sample(profile, base == 16 ? expected : 1, base == 16 ? 1 : expected);
}

TEST(test_numbers_of_all_lengths)
{
    static const char hexadecimal[] = "0123456789abcdefABCDEF";
    uint32_t seed = 1;
    for (unsigned length = 1; length <= 22; length++) {
        for (unsigned i = 0; i < 200; i++) {
            char digits[32] = {0};
            char decimal[32] = {0};
            for (unsigned j = 0; j < length; j++) {
                seed = seed * 1664525 + 1013904223;
                unsigned digit = seed >> 16;
                /* Zeros in front, some of the time, so that long ones may fit. */
                bool is_zero = i % 2 == 0 && j + 16 < length;
                digits[j] = is_zero ? '0' : hexadecimal[digit % 22];
                decimal[j] = i % 2 == 0 && j + 19 < length ? '0' : hexadecimal[digit % 10];
            }
            assert_number(digits, 16);
            assert_number(decimal, 10);
        }
    }
    /* Every digit at every place. */
    for (unsigned place = 0; place < 16; place++) {
        for (unsigned digit = 0; digit < 22; digit++) {
            char digits[] = "1000000000000000";
            digits[place] = hexadecimal[digit];
            assert_number(digits + place % 8, 16);
            assert_number(digits, 16);
            if (digit < 10)
                assert_number(digits + place % 8, 10);
        }
    }
}

/* Any byte at any place of a number of any length: the same verdict with bytes behind or without.
 */
TEST(test_number_with_any_byte)
{
    for (unsigned length = 1; length <= 17; length++) {
        for (unsigned place = 0; place < length; place++) {
            for (unsigned byte = 0; byte < 256; byte++) {
                char text[64];
                int size =
                    snprintf(text, sizeof(text), "S %.*s 7\n", (int)length, "1f9A0c8E7b6d5a4C3");
                text[2 + place] = (char)byte;
                assert_read_alike(text, (size_t)size);
                size = snprintf(text, sizeof(text), "S 7 %.*s\n", (int)length, "19283746550918273");
                text[4 + place] = (char)byte;
                assert_read_alike(text, (size_t)size);
            }
        }
    }
}

/* --- Sums, files, kinds --------------------------------------------------------------------- */

/* Sums beyond 64 bits, in counts and in mispredictions; traces are added late, samples at once. */
TEST(test_sums_too_large)
{
    static const char *const texts[] = {
        "S 1 9223372036854775807\nS 1 1\n",
        "T 1 2 3 9223372036854775807\nT 1 2 3 1\n",
        "B 1 2 9223372036854775807 1\nB 1 2 1 1\n",
        "T 1 2 -1 9223372036854775807\nB 1 2 1 1\n",
    };
    for (size_t i = 0; i < COUNT(texts); i++)
        assert_sum_too_large(bat_preagg_read, texts[i]);
    /* All records together have one, so that no total can wrap. */
    assert_int_equal(
        assert_sum_too_large(bat_preagg_read,
                             "S 1 9223372036854775807\nT 1 2 3 0\nT 1 2 4 1\nT 1 2 5 1\n"),
        3);
}

/* Several files are added to one another, and their sums have the same limit. */
TEST(test_several_files)
{
    struct bat_profile *profile = new_profile();
    struct bat_error error = {0};
    assert_ok(read_as_file(profile, "T 1 2 3 4\nT X:1 X:2 X:3 1\nR 5 6 7 8\nE a\nE b\n", &error));
    assert_ok(read_as_file(profile,
                           "T 1 2 3 4\nT 2 2 2 2\nS Y:1 1\nS Y:1 1\nR 9 6 7 1\n"
                           "S 1 9223372036854775700\nE b\nE c\n",
                           &error));
    assert_trace(profile, 1, 2, 3, 8, 0);
    assert_trace(profile, 2, 2, 2, 2, 0);
    assert_sample(profile, 0, 2);
    assert_int_equal(profile->returns.count, 2);
    assert_int_equal(profile->events.count, 3);
    assert_string_equal(bat_strings_get(&profile->events, 2), "c");
    assert_string_equal(bat_profile_foreign_id(profile), "X");
    struct bat_profile_counters counters = bat_profile_counters(profile);
    assert_int_equal(counters.lines, 13);
    assert_int_equal(counters.trace_records, 6);
    assert_int_equal(counters.sample_records, 3);
    assert_int_equal(counters.foreign_locations, 5);
    assert_int_equal(read_as_file(profile, "S 1 100\n", &error), BAT_ERR_RANGE);
    assert_int_equal(error.code, BAT_ERR_RANGE);
    assert_non_null(strstr(error.message, "2^63"));
}

TEST(test_main_kind)
{
    static const struct {
        const char *text;
        enum bat_profile_kind kind;
    } cases[] = {
        {"\n", BAT_PROFILE_BRANCHES},
        {"S 1 1\n", BAT_PROFILE_SAMPLES},
        {"T 1 2 3 4\n", BAT_PROFILE_BRANCHES},
        {"S 1 1\nF 2 3 4\n", BAT_PROFILE_BRANCHES},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bat_profile *profile = new_profile();
        read_text(profile, bat_preagg_read, cases[i].text);
        assert_int_equal(bat_profile_main_kind(profile), cases[i].kind);
    }
}

GROUP(end_texts_at_once, NULL)

GROUP(end_texts_late, NULL)
