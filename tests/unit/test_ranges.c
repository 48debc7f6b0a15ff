/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sets of ranges, against a list that is searched from end to end. */
#include "support/ranges.h"
#include "unit_test.h"

#define RANGES 400u
#define SETS 3u

struct range {
    uint64_t low;
    uint64_t high;
    uint32_t set;
    bool is_there;
};

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* The set finds exactly the ranges that overlap. */
static void check_find(const struct bat_ranges *ranges, const uint32_t *sets,
                       const struct range *all, uint32_t set, uint64_t low, uint64_t high)
{
    uint32_t items[RANGES];
    bool found[RANGES] = {false};
    size_t expected = 0;
    size_t count = bat_ranges_find(ranges, sets[set], low, high, items, RANGES);
    for (size_t i = 0; i < count; i++) {
        assert_false(found[items[i]]);
        found[items[i]] = true;
    }
    for (uint32_t i = 0; i < RANGES; i++) {
        bool overlaps =
            all[i].is_there && all[i].set == set && all[i].low < high && all[i].high > low;
        assert_int_equal(found[i], overlaps);
        expected += overlaps;
    }
    assert_int_equal(count, expected);
    /* With less room, the count is the same, and the first ones are there. */
    uint32_t few[2];
    assert_int_equal(bat_ranges_find(ranges, sets[set], low, high, few, 2), expected);
    for (size_t i = 0; i < expected && i < 2; i++)
        assert_int_equal(few[i], items[i]);
}

TEST(test_ranges)
{
    struct bat_ranges ranges = {.nodes = NULL};
    uint32_t sets[SETS] = {0};
    struct range all[RANGES] = {{.is_there = false}};
    uint32_t random = 1;
    for (unsigned step = 0; step < 20000; step++) {
        uint32_t i = next_random(&random) % RANGES;
        struct range *range = &all[i];
        if (range->is_there) {
            bat_ranges_remove(&ranges, &sets[range->set], range->low, range->high, i);
            range->is_there = false;
        } else {
            uint64_t low = next_random(&random) % 1000;
            *range = (struct range){low, low + 1 + next_random(&random) % (i % 7 ? 20 : 900),
                                    next_random(&random) % SETS, true};
            assert_ok(bat_ranges_add(&ranges, &sets[range->set], range->low, range->high, i));
        }
        uint64_t low = next_random(&random) % 1000;
        if (step % 20 == 0)
            check_find(&ranges, sets, all, step / 20 % SETS, low, low + next_random(&random) % 50);
    }
    for (uint32_t i = 0; i < RANGES; i++)
        if (all[i].is_there)
            bat_ranges_remove(&ranges, &sets[all[i].set], all[i].low, all[i].high, i);
    for (uint32_t i = 0; i < SETS; i++)
        assert_int_equal(sets[i], 0);
    bat_ranges_free(&ranges);
}
