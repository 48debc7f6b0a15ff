/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* profile/exceptions: call sites of exception tables written by hand. */
#include "binary/code/exceptions.h"
#include "unit_test.h"

#define TABLE 0x403000u    /* address of the table */
#define FUNCTION 0x401000u /* of the function it belongs to */

/* As GCC writes them: no LPStart, types by way of pointers, numbers as ULEB128. */
static const uint8_t gcc_table[] = {
    0xff,                   /* LPStart: omitted, the function's start */
    0x9b, 0x19,             /* types: indirect, pcrel, sdata4; how far behind they are */
    0x01, 0x0d,             /* call sites: ULEB128, 13 bytes of them */
    0x10, 0x05, 0x80, 1, 1, /* 0x10 .. 0x15 lands at 0x80, action 1 */
    0x15, 0x30, 0x00, 0,    /* 0x15 .. 0x45 lands nowhere */
    0x45, 0x05, 0x60, 0,    /* 0x45 .. 0x4a lands at 0x60 */
    0x01, 0x00,             /* an action */
};

/* As BOLT writes them: landing pads count from an LPStart, numbers as 32 bits. */
static const uint8_t bolt_table[] = {
    0x1b, 0xff, 0xdf, 0xff, 0xff, /* LPStart: pcrel, sdata4; here - 0x2001 = FUNCTION */
    0xff,                         /* no types */
    0x03, 0x0d,                   /* call sites: udata4, 13 bytes of them */
    0x20, 0,    0,    0,    0x04, 0, 0, 0, 0x08, 0, 0, 0, 0,
};

TEST(call_sites_are_read)
{
    struct bat_call_site_walk walk;
    struct bat_call_site site;
    assert_true(bat_call_site_begin(&walk, gcc_table, sizeof(gcc_table), TABLE, FUNCTION));
    assert_true(bat_call_site_next(&walk, &site));
    assert_int_equal(site.start, 0x10);
    assert_int_equal(site.end, 0x15);
    assert_int_equal(site.landing_pad, 0x80);
    assert_true(bat_call_site_next(&walk, &site));
    assert_int_equal(site.start, 0x15);
    assert_int_equal(site.end, 0x45);
    assert_int_equal(site.landing_pad, BAT_NO_OFFSET);
    assert_true(bat_call_site_next(&walk, &site));
    assert_int_equal(site.landing_pad, 0x60);
    assert_false(bat_call_site_next(&walk, &site));
}

/* Of four call sites: a typed handler; the same and a clean-up; a handler of all; a clean-up. */
static const uint8_t typed_table[] = {
    0xff,                   /* no LPStart */
    0x03, 0x22,             /* types: udata4; they end 34 bytes behind here */
    0x01, 0x10,             /* call sites: ULEB128, 16 bytes of them */
    0x10, 5,    0x70, 1,    /* action 1 */
    0x15, 5,    0x60, 3,    /* action 3 */
    0x1a, 5,    0x50, 7,    /* action 7 */
    0x1f, 5,    0x40, 0,    /* none */
    1,    0,                /* 1: type 1, the last */
    1,    1,                /* 3: type 1, then action 5 */
    0,    0,                /* 5: a clean-up */
    2,    0,                /* 7: type 2 */
    0,    0,    0,    0,    /* type 2: all */
    0x44, 0,    0x40, 0x00, /* type 1 */
};

TEST(what_takes_all_exceptions_is_known)
{
    static const bool wanted[] = {false, true, true, true};
    struct bat_call_site_walk walk;
    struct bat_call_site site;
    assert_true(bat_call_site_begin(&walk, typed_table, sizeof(typed_table), TABLE, FUNCTION));
    for (size_t i = 0; i < 4; i++) {
        assert_true(bat_call_site_next(&walk, &site));
        assert_int_equal(site.catches_all, wanted[i]);
    }
    assert_false(bat_call_site_next(&walk, &site));
}

/* Types that end in front of the actions are damaged. */
TEST(types_before_the_actions_are_none)
{
    uint8_t bytes[sizeof(typed_table)];
    struct bat_call_site_walk walk;
    struct bat_call_site site;
    memcpy(bytes, typed_table, sizeof(bytes));
    bytes[2] = 1;
    assert_true(bat_call_site_begin(&walk, bytes, sizeof(bytes), TABLE, FUNCTION));
    for (size_t i = 0; i < 3; i++)
        assert_true(bat_call_site_next(&walk, &site));
    assert_false(site.catches_all);
}

/* Actions and types that are cut off are not read. */
TEST(cut_actions_take_nothing)
{
    for (size_t size = 5 + 16; size < sizeof(typed_table); size++) {
        uint8_t *bytes = test_malloc(size);
        memcpy(bytes, typed_table, size);
        struct bat_call_site_walk walk;
        struct bat_call_site site;
        assert_true(bat_call_site_begin(&walk, bytes, size, TABLE, FUNCTION));
        for (size_t i = 0; i < 4; i++) {
            assert_true(bat_call_site_next(&walk, &site));
            /* Of types that are cut off none is known; the clean-up of action 5 ends at 27. */
            assert_int_equal(site.catches_all, i == 3 || (i == 1 && size >= 27));
        }
        test_free(bytes);
    }
}

TEST(landing_pads_count_from_their_start)
{
    struct bat_call_site_walk walk;
    struct bat_call_site site;
    assert_true(bat_call_site_begin(&walk, bolt_table, sizeof(bolt_table), TABLE, FUNCTION));
    assert_true(bat_call_site_next(&walk, &site));
    assert_int_equal(site.start, 0x20);
    assert_int_equal(site.end, 0x24);
    /* LPStart stands one byte into the table: TABLE + 1 - 0x2001 is the function's start. */
    assert_int_equal(site.landing_pad, 8);
    assert_false(bat_call_site_next(&walk, &site));
}

/* Wherever the table is cut off, fewer call sites are found, and nothing beyond is read. */
TEST(a_table_that_is_cut_off_ends_early)
{
    for (size_t size = 0; size <= sizeof(gcc_table); size++) {
        uint8_t *bytes = test_malloc(size + 1);
        memcpy(bytes + 1, gcc_table, size);
        struct bat_call_site_walk walk;
        struct bat_call_site site;
        /* The header says that there are 13 bytes of call sites. */
        bool begins = bat_call_site_begin(&walk, bytes + 1, size, TABLE, FUNCTION);
        assert_int_equal(begins, size >= 5 + 13);
        unsigned found = 0;
        while (bat_call_site_next(&walk, &site))
            found++;
        assert_int_equal(found, begins ? 3 : 0);
        test_free(bytes);
    }
}

TEST(a_damaged_call_site_ends_the_walk)
{
    uint8_t bytes[sizeof(gcc_table)];
    struct bat_call_site_walk walk;
    struct bat_call_site site;
    memcpy(bytes, gcc_table, sizeof(bytes));
    bytes[4] = 0x0c; /* one byte less: the last call site has no action */
    assert_true(bat_call_site_begin(&walk, bytes, sizeof(bytes), TABLE, FUNCTION));
    assert_true(bat_call_site_next(&walk, &site));
    assert_true(bat_call_site_next(&walk, &site));
    assert_false(bat_call_site_next(&walk, &site));
    assert_false(bat_call_site_next(&walk, &site));

    memcpy(bytes, gcc_table, sizeof(bytes));
    bytes[3] = 0x31; /* numbers relative to a base that is not known here */
    assert_true(bat_call_site_begin(&walk, bytes, sizeof(bytes), TABLE, FUNCTION));
    assert_false(bat_call_site_next(&walk, &site));
}

TEST(unknown_encodings_are_refused)
{
    uint8_t bytes[sizeof(bolt_table)];
    struct bat_call_site_walk walk;
    struct bat_call_site site;
    static const uint8_t encodings[] = {0x3b, 0x9b, 0x17};
    for (size_t i = 0; i < sizeof(encodings); i++) {
        memcpy(bytes, bolt_table, sizeof(bytes));
        bytes[0] = encodings[i];
        assert_false(bat_call_site_begin(&walk, bytes, sizeof(bytes), TABLE, FUNCTION));
        assert_false(bat_call_site_next(&walk, &site));
    }
}

/* A range beyond 64 bits ends with them. */
TEST(a_huge_range_does_not_wrap)
{
    static const uint8_t table[] = {
        0xff, 0xff, 0x04, 0x19, /* udata8, 25 bytes */
        0x10, 0,    0,    0,    0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0x20, 0, 0, 0, 0, 0,    0,    0,    0,
    };
    struct bat_call_site_walk walk;
    struct bat_call_site site;
    assert_true(bat_call_site_begin(&walk, table, sizeof(table), TABLE, FUNCTION));
    assert_true(bat_call_site_next(&walk, &site));
    assert_int_equal(site.end, UINT64_MAX);
    assert_int_equal(site.landing_pad, 0x20);
}
