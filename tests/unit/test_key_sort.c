/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* functions/key_sort: the keys ascend, and equal keys keep their order. */
#include "support/key_sort.h"
#include "unit_test.h"

/* xorshift64 */
static uint64_t next_random(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

/* Sort count keys below limit, of which the first ones ascend already, and every fourth of the
 * others is lower by some bits; their values are their positions before. */
static void check_near(size_t ascending, size_t count, uint64_t limit, unsigned lower)
{
    struct bat_sort_key *keys = test_calloc(count + 1, sizeof(*keys));
    struct bat_sort_key *spare = test_calloc(count + 1, sizeof(*spare));
    uint64_t *before = test_calloc(count + 1, sizeof(*before));
    uint64_t random = 88172645463325252u + count;
    for (size_t i = 0; i < count; i++) {
        before[i] = i < ascending ? i : next_random(&random) % limit >> (i % 4 ? 0 : lower);
        keys[i] = (struct bat_sort_key){before[i], i};
    }
    const struct bat_sort_key *sorted = bat_sort_keys(keys, spare, count);
    assert_true(sorted == keys || sorted == spare);
    for (size_t i = 0; i < count; i++) {
        assert_true(sorted[i].value < count);
        assert_int_equal(sorted[i].key, before[sorted[i].value]);
        if (i == 0)
            continue;
        assert_true(sorted[i - 1].key <= sorted[i].key);
        if (sorted[i - 1].key == sorted[i].key)
            assert_true(sorted[i - 1].value < sorted[i].value);
    }
    test_free(keys);
    test_free(spare);
    test_free(before);
}

static void check_behind(size_t ascending, size_t count, uint64_t limit)
{
    check_near(ascending, count, limit, 0);
}

static void check(size_t count, uint64_t limit)
{
    check_behind(0, count, limit);
}

TEST(few_keys)
{
    for (size_t count = 0; count < 300; count++) {
        check(count, UINT64_MAX);
        check(count, 7);
    }
}

/* Some behind many that are sorted. */
TEST(added_keys)
{
    for (size_t sorted = 0; sorted < 200; sorted += 13)
        for (size_t added = 0; added < 40; added++)
            check_behind(sorted, sorted + added, 2 * sorted + 1);
    check_behind(3000, 3010, 4000);
    check_behind(3000, 3100, 4000);
}

/* Many that are near each other, among others. */
TEST(near_keys)
{
    for (size_t count = 65; count < 5000; count += 67)
        check_near(0, count, UINT64_MAX, 40);
    check_near(0, 100000, UINT64_MAX, 40);
}

/* Counts up to 5000 and around 2048, where the algorithm changes, and large ones. */
TEST(many_keys)
{
    for (size_t count = 300; count < 5000; count += 67)
        check(count, count);
    check(2047, UINT64_MAX);
    check(2048, UINT64_MAX);
    check(2049, UINT64_MAX);
    check(100000, UINT64_MAX);
    check(100000, 1000);
    check(200000, UINT64_MAX);
}
