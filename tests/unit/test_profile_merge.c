/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * profile/merge.c, read_profile.c: profiles that are added to others, and what cannot be read or
 * added: the profile is as it was then, wherever memory fails (the linker sends the library's
 * allocations through the __wrap_ functions here, see tests/CMakeLists.txt).
 */
#include "profile_dump.h"
#include "profile_text.h"
#include "unit_test.h"

/* --- Memory that fails ---------------------------------------------------------------------- */

static unsigned long calls_left = (unsigned long)-1; /* until one fails */
static bool has_failed;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *pointer, size_t size);

static bool fails(void)
{
    if (calls_left == (unsigned long)-1 || calls_left-- != 0)
        return false;
    calls_left = (unsigned long)-1;
    has_failed = true;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *pointer, size_t size)
{
    return fails() ? NULL : __real_realloc(pointer, size);
}

/* --- Profiles ------------------------------------------------------------------------------- */

/* Two of each form, which have some records in common. */
static const char preagg_text[] = "E cycles:u\nT 10 20 30 4\nR 11 21 31 5\nB 12 22 6 2\nS 16 10\n"
                                  "T X:5 20 30 1\nT abcd:5 20 30 1\n";
static const char other_preagg_text[] =
    "E cycles:u\nE instructions\nT 10 20 30 40\nR 13 21 31 50\nB 12 22 60 20\nS 17 10\n"
    "T ef01:5 20 30 1\nT abcd:5 20 30 1\n";
static const char fdata_text[] = "boltedcollection\n1 main 5 1 f 0 2 10\n1 main 5 1 g 0 0 1\n";
static const char other_fdata_text[] =
    "boltedcollection\n1 f 5 1 main 0 2 10\n1 main 5 1 f 0 1 100\n4 h 5 4 data 0 7\n";
/* fdata, but of samples; and a count with which others add up to 2^63. */
static const char basic_fdata_text[] = "no_lbr cycles\nboltedcollection\n1 main 5 10\n";
static const char large_fdata_text[] = "boltedcollection\n1 x 5 1 y 0 0 9223372036854775807\n";
static const char large_text[] = "T 10 20 30 9223372036854775807\n";

static void add_text(struct bat_profile *profile, const char *text)
{
    struct bat_error error = {0};
    if (bat_profile_read_memory(profile, text, strlen(text), NULL, &error) != BAT_OK)
        fail_msg("%s", error.message);
}

/* What texts hold, read in this order into one profile. */
static struct bat_profile *profile_of(const char *text, const char *second, const char *third)
{
    const char *const texts[] = {text, second, third};
    struct bat_profile *profile = new_profile();
    for (size_t i = 0; i < 3; i++)
        if (texts[i])
            add_text(profile, texts[i]);
    return profile;
}

/* More records than a table's first room. */
static char *many_records(unsigned first, unsigned count)
{
    char *text = kept_memory(NULL, count * 64 + 1);
    char *at = text;
    for (unsigned i = first; i < first + count; i++)
        at += sprintf(at, "T %x %x %x %u\nS %x %u\n", i + 1, 2 * i, 3 * i, i, i, i);
    return text;
}

TEST(test_merge_is_reading_both)
{
    struct bat_profile *left = profile_of(preagg_text, fdata_text, NULL);
    struct bat_profile *right = profile_of(other_preagg_text, other_fdata_text, NULL);
    struct bat_profile *both = profile_of(preagg_text, fdata_text, other_preagg_text);
    add_text(both, other_fdata_text);
    char *right_before = dump_profile(right);
    assert_ok(bat_profile_merge(left, right, NULL));
    assert_dump(left, dump_profile(both));
    assert_dump(right, right_before);
    /* Into an empty one, and nothing into one. */
    struct bat_profile *empty = new_profile();
    assert_ok(bat_profile_merge(left, empty, NULL));
    assert_dump(left, dump_profile(both));
    assert_ok(bat_profile_merge(empty, left, NULL));
    assert_dump(empty, dump_profile(both));
}

static void assert_not_merged(struct bat_profile *profile, const char *text, enum bat_code code)
{
    struct bat_profile *other = profile_of(text, NULL, NULL);
    char *before = dump_profile(profile);
    struct bat_error error = {0};
    assert_int_equal(bat_profile_merge(profile, other, &error), code);
    assert_int_equal(error.code, code);
    assert_dump(profile, before);
    /* Reading it is the same. */
    before = dump_profile(profile);
    assert_int_equal(bat_profile_read_memory(profile, text, strlen(text), NULL, &error), code);
    assert_dump(profile, before);
}

TEST(test_what_does_not_belong_together)
{
    struct bat_profile *profile = profile_of(preagg_text, fdata_text, NULL);
    assert_not_merged(profile, basic_fdata_text, BAT_ERR_MISMATCH);
    assert_not_merged(profile, large_text, BAT_ERR_RANGE);
    char *before = dump_profile(profile);
    assert_int_equal(bat_profile_merge(profile, profile, NULL), BAT_ERR_ARGUMENT);
    assert_dump(profile, before);
}

/* Checks that other's counts do not fit, and that profile is as before. */
static void check_too_large(struct bat_profile *profile, struct bat_profile *other)
{
    char *before = dump_profile(profile);
    struct bat_error error = {0};
    assert_int_equal(bat_profile_merge(profile, other, &error), BAT_ERR_RANGE);
    assert_dump(profile, before);
    before = dump_profile(profile);
    assert_int_equal(bat_profile_take(profile, other, &error), BAT_ERR_RANGE);
    assert_dump(profile, before);
}

/* fdata comes last: all that was added before it is taken back. */
TEST(test_undone_at_the_end)
{
    struct bat_profile *profile = profile_of(preagg_text, fdata_text, NULL);
    add_text(profile, "boltedcollection\n1 f 1 1 g 1 9223372036854775807 1\n"
                      "1 f 1 1 g 1 9223372036854775807 1\n");
    struct bat_profile *other = profile_of(other_preagg_text, other_fdata_text, NULL);
    add_text(other, "boltedcollection\n1 f 1 1 g 1 2 1\n");
    check_too_large(profile, other);
}

/* Mispredictions of one trace beyond 64 bits are found out when others were added already. */
TEST(test_undone_in_the_middle)
{
    struct bat_profile *profile = profile_of(preagg_text, fdata_text, NULL);
    const uint64_t key[3] = {0x700, 1, 2};
    assert_ok(bat_counts_add(&profile->traces, key, 1, UINT64_MAX));
    struct bat_profile *other = profile_of(other_preagg_text, other_fdata_text, NULL);
    for (uint64_t i = 0; i < 100; i++) {
        const uint64_t one[3] = {0x6d0 + i, 1, 2};
        assert_ok(bat_counts_add(&other->traces, one, 1, 1));
    }
    check_too_large(profile, other);
}

/* Each form, and lines that cannot be read behind many that can. */
TEST(test_failed_reads)
{
    static const char *const bad[] = {"T 40 50 60 1\nS 17 1\nE x\nT Y:1 2 3 4\nT 1 2 3\n",
                                      "boltedcollection\n1 other 5 1 f 0 2 10\n1 more 5 1\n",
                                      "hello\n",
                                      "",
                                      "PERFILE2",
                                      large_fdata_text};
    struct bat_profile *profile = profile_of(preagg_text, fdata_text, NULL);
    for (size_t i = 0; i < COUNT(bad); i++) {
        char *before = dump_profile(profile);
        struct bat_error error = {0};
        enum bat_code code = bat_profile_read_memory(profile, bad[i], strlen(bad[i]), NULL, &error);
        assert_int_not_equal(code, BAT_OK);
        assert_int_equal(error.code, code);
        assert_dump(profile, before);
    }
    /* What follows is read as if nothing had been. */
    add_text(profile, other_preagg_text);
    struct bat_profile *expected = profile_of(preagg_text, fdata_text, other_preagg_text);
    assert_dump(profile, dump_profile(expected));
}

/* Call merge or read with the n-th allocation failing, for each n, until none does. */
TEST(test_without_memory)
{
    char *many = many_records(0, 1000);
    char *more = many_records(500, 1500);
    struct bat_profile *expected = profile_of(many, fdata_text, preagg_text);
    add_text(expected, more);
    add_text(expected, other_fdata_text);
    struct bat_profile *from = profile_of(more, other_fdata_text, NULL);
    unsigned long failures = 0;
    for (unsigned reads = 0; reads < 2; reads++) {
        has_failed = true;
        for (unsigned long n = 0; has_failed; n++) {
            struct bat_profile *profile = profile_of(many, fdata_text, preagg_text);
            char *before = dump_profile(profile);
            struct bat_error error = {0};
            has_failed = false;
            calls_left = n;
            enum bat_code code =
                reads ? bat_profile_read_memory(profile, more, strlen(more), NULL, &error)
                      : bat_profile_merge(profile, from, &error);
            calls_left = (unsigned long)-1;
            if (code == BAT_OK) {
                assert_false(has_failed);
                free(before);
                if (!reads)
                    assert_dump(profile, dump_profile(expected));
            } else {
                assert_int_equal(code, BAT_ERR_MEMORY);
                assert_dump(profile, before);
                failures++;
            }
        }
    }
    assert_true(failures > 10);
}
