/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* profile/read/fdata_read.c and merge.c: fdata, by the rules of spec/profiles.md 3. */
#include "profile_text.h"
#include "unit_test.h"

/* --- What must be there --------------------------------------------------------------------- */

/* The word of an end: its kind above the number of its name, as it stands in the file. */
static uint64_t end_of(const struct bat_profile *profile, unsigned kind, const char *name)
{
    uint32_t number = bat_strings_find(&profile->fdata.names, name, strlen(name));
    if (number == BAT_NONE)
        fail_msg("there is no name %s", name);
    return (uint64_t)kind << 32 | number;
}

struct expected_end {
    unsigned kind;
    const char *name;
    uint64_t offset;
};

static void assert_branch(const struct bat_profile *profile, struct expected_end from,
                          struct expected_end to, uint64_t count, uint64_t mispredictions)
{
    const uint64_t key[4] = {end_of(profile, from.kind, from.name), from.offset,
                             end_of(profile, to.kind, to.name), to.offset};
    const uint64_t *item = bat_counts_find(&profile->fdata.branches, key);
    if (!item)
        fail_msg("there is no record from %s to %s", from.name, to.name);
    assert_int_equal(item[4], count);
    assert_int_equal(item[5], mispredictions);
}

static void assert_named_sample(const struct bat_profile *profile, struct expected_end end,
                                uint64_t count)
{
    const uint64_t key[2] = {end_of(profile, end.kind, end.name), end.offset};
    const uint64_t *item = bat_counts_find(&profile->fdata.samples, key);
    assert_non_null(item);
    assert_int_equal(item[2], count);
}

#define END(kind, name, offset)                                                                    \
    (struct expected_end)                                                                          \
    {                                                                                              \
        kind, name, offset                                                                         \
    }

/* --- Records -------------------------------------------------------------------------------- */

TEST(test_branches)
{
    struct bat_profile *profile = new_profile();
    read_text(profile, bat_fdata_read,
              "boltedcollection\n"
              "1 main 1a 1 f/a.c/1 0 2 30\n"
              "1 main 1a 1 f/a.c/1 0 1 12\n"
              "0 [unknown] 0 1 main ff 0 7\n"
              "1 main 1a 1 f/a.c/2 0 0 5\n"
              "1 main 1A 0 [unknown] 0 0 1\n"
              "2 jitted 10 1 main 0 1 2\n");
    assert_int_equal(profile->fdata.branches.count, 5);
    assert_int_equal(profile->fdata.samples.count, 0);
    /* The mispredictions come first. */
    assert_branch(profile, END(1, "main", 0x1a), END(1, "f/a.c/1", 0), 42, 3);
    assert_branch(profile, END(0, "[unknown]", 0), END(1, "main", 0xff), 7, 0);
    assert_branch(profile, END(1, "main", 0x1a), END(1, "f/a.c/2", 0), 5, 0);
    assert_branch(profile, END(1, "main", 0x1a), END(0, "[unknown]", 0), 1, 0);
    assert_branch(profile, END(2, "jitted", 0x10), END(1, "main", 0), 2, 1);
    assert_true(profile->fdata.bolted);
    assert_false(profile->fdata.no_lbr);
    assert_int_equal(bat_profile_counters(profile).fdata_records, 6);
    assert_int_equal(bat_profile_distinct(profile), 5);
    assert_int_equal(bat_profile_main_kind(profile), BAT_PROFILE_BRANCHES);
}

/* Kinds 3 to 5 are memory accesses: no mispredictions. */
TEST(test_memory_records)
{
    struct bat_profile *profile = new_profile();
    read_text(profile, bat_fdata_read,
              "4 main 10 4 table 8 100\n"
              "4 main 10 3 [heap] 7f00 20\n"
              "3 x 10 5 y 8 1\n"
              "5 x 10 5 y 8 2\n"
              "1 main 10 4 table 8 1 3\n"); /* what counts is the first kind */
    assert_branch(profile, END(4, "main", 0x10), END(4, "table", 8), 100, 0);
    assert_branch(profile, END(4, "main", 0x10), END(3, "[heap]", 0x7f00), 20, 0);
    assert_branch(profile, END(3, "x", 0x10), END(5, "y", 8), 1, 0);
    assert_branch(profile, END(5, "x", 0x10), END(5, "y", 8), 2, 0);
    assert_branch(profile, END(1, "main", 0x10), END(4, "table", 8), 3, 1);
    assert_false(profile->fdata.bolted);
}

TEST(test_basic_samples)
{
    /* Either order of the two header lines will do. */
    static const char *const headers[] = {
        "no_lbr cycles:u instructions:u\nboltedcollection\n",
        "boltedcollection\nno_lbr cycles:u instructions:u\n",
        "\n boltedcollection \r\n\tno_lbr  cycles:u\tinstructions:u cycles:u\r\n",
    };
    for (size_t i = 0; i < COUNT(headers); i++) {
        char text[512];
        snprintf(text, sizeof(text), "%s1 main 1a 3\n1 f 0 4\n1 main 1a 5\n0 [unknown] 0 9\n",
                 headers[i]);
        struct bat_profile *profile = new_profile();
        read_text(profile, bat_fdata_read, text);
        assert_true(profile->fdata.bolted);
        assert_true(profile->fdata.no_lbr);
        assert_int_equal(profile->fdata.samples.count, 3);
        assert_named_sample(profile, END(1, "main", 0x1a), 8);
        assert_named_sample(profile, END(1, "f", 0), 4);
        assert_named_sample(profile, END(0, "[unknown]", 0), 9);
        assert_int_equal(profile->events.count, 2);
        assert_string_equal(bat_strings_get(&profile->events, 0), "cycles:u");
        assert_string_equal(bat_strings_get(&profile->events, 1), "instructions:u");
        assert_int_equal(bat_profile_counters(profile).fdata_records, 4);
        assert_int_equal(bat_profile_main_kind(profile), BAT_PROFILE_SAMPLES);
    }
    struct bat_profile *profile = new_profile();
    read_text(profile, bat_fdata_read, "no_lbr\n1 f 0 4\n");
    assert_int_equal(profile->events.count, 0);
    assert_false(profile->fdata.bolted);
}

/*
 * A backslash takes the meaning from what stands behind it; names are kept as they are written, but
 * for control characters.
 */
TEST(test_escapes)
{
    struct bat_profile *profile = new_profile();
    read_text(profile, bat_fdata_read,
              "1 operator\\ new(unsigned\\ long) 1 1 a\\\\b 2 0 1\n"
              "1 \\  1 1 \\\\ 2 0 2\n"
              "1 a\\ 1 1 1 a\\\t 2 0 3\n" /* "a 1" at 1, "a<tab>" at 2 */
              "1 a\\b 1 1 \xc3\xa4\x7f 2 0 4\n");
    assert_branch(profile, END(1, "operator\\ new(unsigned\\ long)", 1), END(1, "a\\\\b", 2), 1, 0);
    assert_branch(profile, END(1, "\\ ", 1), END(1, "\\\\", 2), 2, 0);
    assert_branch(profile, END(1, "a\\ 1", 1), END(1, "a\\x09", 2), 3, 0);
    assert_branch(profile, END(1, "a\\b", 1), END(1, "\xc3\xa4\\x7f", 2), 4, 0);
}

TEST(test_blanks)
{
    struct bat_profile *profile = new_profile();
    read_text(profile, bat_fdata_read,
              "\n\r\n \t\n"
              " 1\tmain  1a \t 1 f 0   2 30 \t\n"
              "1 main 1a 1 f 0 2 30\r\n"
              "\n");
    assert_int_equal(profile->fdata.branches.count, 1);
    assert_branch(profile, END(1, "main", 0x1a), END(1, "f", 0), 60, 4);
}

TEST(test_largest_numbers)
{
    struct bat_profile *profile = new_profile();
    read_text(profile, bat_fdata_read,
              "1 a ffffffffffffffff 1 b 00000000000000000001 9223372036854775807 "
              "9223372036854775807\n");
    assert_branch(profile, END(1, "a", UINT64_MAX), END(1, "b", 1), INT64_MAX, INT64_MAX);
}

/* Names that are like the words of the header, or begin like them. */
TEST(test_words)
{
    struct bat_profile *profile = new_profile();
    read_text(profile, bat_fdata_read, "1 no_lbr 1 1 boltedcollection 2 0 1\n");
    assert_branch(profile, END(1, "no_lbr", 1), END(1, "boltedcollection", 2), 1, 0);
    assert_false(profile->fdata.bolted);
    assert_false(profile->fdata.no_lbr);
}

/* --- What is refused ------------------------------------------------------------------------ */

#define KIND "expected the kind of a location (0 to 5), found "
#define OFFSET "expected a hexadecimal offset, found "
#define COUNT_FOUND "expected a decimal count, found "
#define TOO_LATE "expected this line in front of all records, found "

static const struct text_fault faults[] = {
    FAULT("6 a 1 1 b 2 0 1\n", 0, 1, KIND "\"6\""),
    FAULT("/ a 1 1 b 2 0 1\n", 0, 1, KIND "\"/\""),
    FAULT("11 a 1 1 b 2 0 1\n", 0, 1, KIND "\"11\""),
    FAULT("\n 1 a 1 x b 2 0 1\n", 1, 8, KIND "\"x\""),
    FAULT("boltedcollections\n", 0, 1, KIND "\"boltedcollections\""),
    FAULT("bolted\n", 0, 1, KIND "\"bolted\""),
    FAULT("no_lbr2 a\n", 0, 1, KIND "\"no_lbr2\""),
    FAULT("boltedcollection 1\n", 0, 18, "expected the end of the line, found \"1\""),
    FAULT("T 1 2 3 4\n", 0, 1, KIND "\"T\""),
    /* Fields too few, too many. */
    FAULT("1\n", 0, 2, "expected a name, found the end of the line"),
    FAULT("1 a\n", 0, 4, OFFSET "the end of the line"),
    FAULT("1 a 1\n", 0, 6, KIND "the end of the line"),
    FAULT("1 a 1 1 b 2\n", 0, 12, COUNT_FOUND "the end of the line"),
    FAULT("1 a 1 1 b 2 0\n", 0, 14, COUNT_FOUND "the end of the line"),
    FAULT("1 a 1 1 b 2 0 1 2\n", 0, 17, "expected the end of the line, found \"2\""),
    FAULT("4 a 1 4 b 2 0 1\n", 0, 15, "expected the end of the line, found \"1\""),
    FAULT("no_lbr\n1 a 1\n", 1, 6, COUNT_FOUND "the end of the line"),
    FAULT("no_lbr\n1 a 1 1 b 2 0 1\n", 1, 9, "expected the end of the line, found \"b\""),
    /* A backslash before the line's end escapes nothing. */
    FAULT("1 a\\\n", 0, 5, OFFSET "the end of the line"),
    FAULT("1 a\\ 1\n", 0, 7, OFFSET "the end of the line"),
    /* Numbers. */
    FAULT("1 a 0x1 1 b 2 0 1\n", 0, 5, OFFSET "\"0x1\""),
    FAULT("1 a -1 1 b 2 0 1\n", 0, 5, OFFSET "\"-1\""),
    FAULT("1 a 10000000000000000 1 b 2 0 1\n", 0, 5, OFFSET "\"10000000000000000\""),
    FAULT("1 a 1 1 b 2 -1 1\n", 0, 13, COUNT_FOUND "\"-1\""),
    FAULT("1 a 1 1 b 2 0 1a\n", 0, 15, COUNT_FOUND "\"1a\""),
    FAULT("1 a 1 1 b 2 0 18446744073709551616\n", 0, 15,
          "expected a count below 2^63, found \"18446744073709551616\""),
    FAULT("1 a 1 1 b 2 18446744073709551616 0\n", 0, 13,
          "expected a count below 2^63, found \"18446744073709551616\""),
    FAULT("1 a 1 1 b 2 0 1\n\n1 a 1 1 b 2 0 q\n", 2, 15, COUNT_FOUND "\"q\""),
    /* Headers that come too late would say something else of the records before. */
    FAULT("1 a 1 1 b 2 0 1\nno_lbr\n1 a 1 2\n", 1, 1, TOO_LATE "\"no_lbr\""),
    FAULT("1 a 1 1 b 2 0 1\n\n  boltedcollection\n", 2, 3, TOO_LATE "\"boltedcollection\""),
    FAULT("no_lbr\n1 a 1 1\nboltedcollection\n", 2, 1, TOO_LATE "\"boltedcollection\""),
    /* Zero bytes. */
    FAULT("\0"
          "1 a 1 1 b 2 0 1\n",
          0, 1, KIND "\"\\x001\""),
    FAULT("1 a\0 1 1 b 2 0 1\n", 0, 4, "expected a name, found \"\\x00\""),
    FAULT("1 \0 1 1 b 2 0 1\n", 0, 3, "expected a name, found \"\\x00\""),
    FAULT("1 a\\\0b 1 1 b 2 0 1\n", 0, 5, "expected a name, found \"\\x00b\""),
    FAULT("1 a 1\0 1 b 2 0 1\n", 0, 5, OFFSET "\"1\\x00\""),
    FAULT("1 a 1 1 b 2 0 1\0\n", 0, 15, COUNT_FOUND "\"1\\x00\""),
    FAULT("no_lbr cyc\0les\n", 0, 11, "expected the name of an event, found \"\\x00les\""),
    FAULT("boltedcollection\0\n", 0, 1, KIND "\"boltedcollection\\x00\""),
};

TEST(test_faults)
{
    assert_faults(bat_fdata_read, faults, COUNT(faults));
}

/* The same header again, as in files put one behind the other, says nothing new. */
TEST(test_repeated_header)
{
    struct bat_profile *profile = new_profile();
    read_text(profile, bat_fdata_read,
              "boltedcollection\n1 a 1 1 b 2 0 1\nboltedcollection\n1 a 1 1 b 2 0 1\n");
    assert_branch(profile, END(1, "a", 1), END(1, "b", 2), 2, 0);
    profile = new_profile();
    read_text(profile, bat_fdata_read, "no_lbr x\n1 a 1 1\nno_lbr y\n1 a 1 2\n");
    assert_named_sample(profile, END(1, "a", 1), 3);
    assert_int_equal(profile->events.count, 2);
}

/* Every byte in the place of every other: what fails, fails inside of its line. */
TEST(test_every_byte_everywhere)
{
    static const char sound[] = "boltedcollection\nno_lbr e\n1 a\\ b 1a 12\n4 x 2 3\n";
    const size_t size = sizeof(sound) - 1;
    unsigned refused = 0;
    for (size_t at = 0; at + 1 < size; at++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            char text[sizeof(sound)];
            memcpy(text, sound, sizeof(sound));
            text[at] = (char)byte;
            struct bat_profile *profile = new_profile();
            struct bat_error error = {0};
            if (read_lines(profile, bat_fdata_read, text, size, 1, &error) != BAT_OK) {
                refused++;
                assert_int_equal(error.code, BAT_ERR_SYNTAX);
                assert_in_range(error.line, 1, 5);
                assert_in_range(error.column, 1, size);
            }
        }
    }
    assert_true(refused > size * 100);
}

TEST(test_sums_too_large)
{
    static const char *const texts[] = {
        "1 a 1 1 b 2 0 9223372036854775807\n1 a 1 1 b 2 0 1\n",
        "1 a 1 1 b 2 0 1\n1 a 1 1 c 2 0 9223372036854775807\n",
        "4 a 1 4 b 2 9223372036854775807\n4 a 1 4 b 2 1\n",
        "no_lbr\n1 a 1 9223372036854775807\n1 a 1 1\n",
    };
    for (size_t i = 0; i < COUNT(texts); i++)
        assert_sum_too_large(bat_fdata_read, texts[i]);
}

/* --- Several files: merge.c ----------------------------------------------------------------- */

TEST(test_several_files)
{
    struct bat_profile *profile = new_profile();
    struct bat_error error = {0};
    assert_ok(read_as_file(profile,
                           "boltedcollection\n1 a 1 1 b 2 1 10\n1 b 3 1 c 4 0 5\n"
                           "4 c 5 4 t 6 7\n",
                           &error));
    /* The names come in another order, so that their numbers differ. */
    assert_ok(read_as_file(profile,
                           "boltedcollection\n1 d 0 1 c 0 0 1\n4 c 5 4 t 6 1\n"
                           "1 b 3 1 c 4 2 20\n1 a 1 1 b 2 1 1\n1 b 2 1 a 1 0 9\n",
                           &error));
    assert_int_equal(profile->fdata.names.count, 5);
    assert_int_equal(profile->fdata.branches.count, 5);
    assert_branch(profile, END(1, "a", 1), END(1, "b", 2), 11, 2);
    assert_branch(profile, END(1, "b", 3), END(1, "c", 4), 25, 2);
    assert_branch(profile, END(4, "c", 5), END(4, "t", 6), 8, 0);
    assert_branch(profile, END(1, "d", 0), END(1, "c", 0), 1, 0);
    assert_branch(profile, END(1, "b", 2), END(1, "a", 1), 9, 0);
    assert_int_equal(bat_profile_counters(profile).fdata_records, 8);
    assert_int_equal(bat_profile_counters(profile).lines, 10);
    /* A pre-aggregated profile may come along. */
    assert_ok(read_as_file(profile, "T 1 2 3 4\n", &error));
    assert_true(profile->fdata.bolted);
    assert_int_equal(bat_profile_distinct(profile), 6);
    /* And the sums' limit holds over all files. */
    assert_int_equal(
        read_as_file(profile, "boltedcollection\n1 a 1 1 b 2 0 9223372036854775807\n", &error),
        BAT_ERR_RANGE);
    assert_int_equal(error.code, BAT_ERR_RANGE);
}

TEST(test_several_files_of_samples)
{
    struct bat_profile *profile = new_profile();
    struct bat_error error = {0};
    assert_ok(read_as_file(profile, "no_lbr x y\n1 a 1 10\n1 b 1 1\n", &error));
    assert_ok(read_as_file(profile, "no_lbr y z\n1 b 1 2\n1 a 1 5\n", &error));
    assert_named_sample(profile, END(1, "a", 1), 15);
    assert_named_sample(profile, END(1, "b", 1), 3);
    assert_int_equal(profile->events.count, 3);
    assert_true(profile->fdata.no_lbr);
    assert_false(profile->fdata.bolted);
}

/* Two fdata files belong together only if their headers say the same. */
TEST(test_headers_that_differ)
{
    static const char *const texts[] = {
        "1 a 1 1 b 2 0 1\n",
        "boltedcollection\n1 a 1 1 b 2 0 1\n",
        "no_lbr\n1 a 1 1\n",
        "no_lbr\nboltedcollection\n1 a 1 1\n",
    };
    for (size_t first = 0; first < COUNT(texts); first++) {
        for (size_t second = 0; second < COUNT(texts); second++) {
            struct bat_profile *profile = new_profile();
            struct bat_error error = {0};
            assert_ok(read_as_file(profile, texts[first], &error));
            enum bat_code code = read_as_file(profile, texts[second], &error);
            assert_int_equal(code, first == second ? BAT_OK : BAT_ERR_MISMATCH);
            assert_int_equal(error.code, code);
            if (code != BAT_OK) {
                assert_non_null(strstr(error.message, "expected fdata "));
                assert_non_null(strstr(error.message, "found "));
            }
        }
    }
}

GROUP(end_texts_at_once, NULL)

GROUP(end_texts_late, NULL)
