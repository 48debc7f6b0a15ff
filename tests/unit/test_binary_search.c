/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* spec/binary_search: the same answers as counting all elements one by one. */
#include "spec/order.h"
#include "unit_test.h"

struct element {
    uint8_t before;
    uint32_t narrow;
    uint64_t wide;
};

#define COUNT_MAX 40u

/* Elements 0, 0, 3, 3, 6, 6, ... around the largest value of 32 bits for the wide field. */
static void fill(struct element *elements, uint32_t *numbers)
{
    memset(elements, 0xff, COUNT_MAX * sizeof(*elements));
    for (uint32_t i = 0; i < COUNT_MAX; i++) {
        elements[i].narrow = numbers[i] = i / 2 * 3;
        elements[i].wide = UINT32_MAX - 20 + (uint64_t)(i / 2 * 3);
    }
}

TEST(test_same_as_counting)
{
    struct element elements[COUNT_MAX];
    uint32_t numbers[COUNT_MAX];
    fill(elements, numbers);
    for (uint32_t count = 0; count <= COUNT_MAX; count++) {
        for (uint64_t key = 0; key < COUNT_MAX * 2; key++) {
            const uint64_t wide_key = UINT32_MAX - 21 + key;
            uint32_t below = 0, up_to = 0, wide_below = 0, wide_up_to = 0;
            for (uint32_t i = 0; i < count; i++) {
                below += elements[i].narrow < key;
                up_to += elements[i].narrow <= key;
                wide_below += elements[i].wide < wide_key;
                wide_up_to += elements[i].wide <= wide_key;
            }
            assert_int_equal(BAT_COUNT_BELOW(elements, count, narrow, key), below);
            assert_int_equal(BAT_COUNT_UP_TO(elements, count, narrow, key), up_to);
            assert_int_equal(BAT_COUNT_BELOW(elements, count, wide, wide_key), wide_below);
            assert_int_equal(BAT_COUNT_UP_TO(elements, count, wide, wide_key), wide_up_to);
            assert_int_equal(BAT_NUMBERS_BELOW(numbers, count, key), below);
            assert_int_equal(BAT_NUMBERS_UP_TO(numbers, count, key), up_to);
        }
    }
}

/* A key of 64 bits is not cut down to the field's 32, and the largest key is above all. */
TEST(test_large_keys)
{
    const uint32_t numbers[] = {1, 2, UINT32_MAX};
    const uint64_t wide[] = {1, 2, UINT64_MAX};
    assert_int_equal(BAT_NUMBERS_BELOW(numbers, 3u, UINT64_C(0x100000002)), 3);
    assert_int_equal(BAT_NUMBERS_UP_TO(numbers, 3u, UINT64_MAX), 3);
    assert_int_equal(BAT_NUMBERS_BELOW(wide, 3u, UINT64_MAX), 2);
    assert_int_equal(BAT_NUMBERS_UP_TO(wide, 3u, UINT64_MAX), 3);
}

TEST(test_no_array)
{
    const struct element *elements = NULL;
    const uint64_t *numbers = NULL;
    assert_int_equal(BAT_COUNT_BELOW(elements, 0u, wide, 1), 0);
    assert_int_equal(BAT_COUNT_UP_TO(elements, 0u, narrow, 1), 0);
    assert_int_equal(BAT_NUMBERS_UP_TO(numbers, (size_t)0, 1), 0);
}

TEST(test_type_of_count)
{
    const uint64_t numbers[] = {1};
    const uint32_t count = 1;
    const size_t large_count = 1;
    assert_int_equal(sizeof(BAT_NUMBERS_BELOW(numbers, count, 1)), sizeof(uint32_t));
    assert_int_equal(sizeof(BAT_NUMBERS_BELOW(numbers, large_count, 1)), sizeof(size_t));
}

/* An order of the caller's own, from a range that does not begin with the first element. */
TEST(test_own_order)
{
    const char *names[] = {"zebra", "a", "bb", "bb", "ccc", "dddd"};
    for (size_t length = 0; length < 6; length++) {
        struct bat_search search = {.low = 1, .high = 6};
        while (bat_search_next(&search))
            bat_search_go(&search, strlen(names[search.middle]) < length);
        const size_t expected[] = {1, 1, 2, 4, 5, 6};
        assert_int_equal(search.low, expected[length]);
    }
}
