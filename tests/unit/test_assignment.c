/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Assignments of greatest value: against all assignments of a few. */
#include "next/assignment.h"
#include "unit_test.h"

#define MOST 5u

static uint32_t random_state = 7;

/* The offers of up to MOST bidders for as many objects. */
struct market {
    struct assignment_offers offers;
    uint32_t first[MOST + 1];
    uint32_t objects[MOST * MOST];
    float values[MOST * MOST];
};

static void make_market(struct market *market)
{
    *market = (struct market){.offers = {.bidder_count = 1 + any_below(&random_state, MOST),
                                         .object_count = 1 + any_below(&random_state, MOST),
                                         .first = market->first,
                                         .objects = market->objects,
                                         .values = market->values}};
    uint32_t count = 0;
    for (uint32_t i = 0; i < market->offers.bidder_count; i++) {
        market->first[i] = count;
        for (uint32_t k = 0; k < market->offers.object_count; k++) {
            if (any_below(&random_state, 4) == 0)
                continue;
            market->objects[count] = k;
            market->values[count++] = (float)any_below(&random_state, 11) / 10;
        }
    }
    market->first[market->offers.bidder_count] = count;
}

/* The greatest value of the bidders from one on, without the objects that are used. */
static float greatest(const struct market *market, uint32_t bidder, uint32_t used)
{
    if (bidder >= MOST || bidder >= market->offers.bidder_count)
        return 0;
    float best = greatest(market, bidder + 1, used);
    for (uint32_t i = market->first[bidder]; i < market->first[bidder + 1]; i++) {
        uint32_t bit = 1u << market->objects[i];
        if (used & bit)
            continue;
        float value = market->values[i] + greatest(market, bidder + 1, used | bit);
        best = value > best ? value : best;
    }
    return best;
}

TEST(test_values_are_greatest)
{
    for (unsigned i = 0; i < 400; i++) {
        struct market market;
        uint32_t taken[MOST];
        uint32_t used = 0;
        float sum = 0;
        struct bat_error error;
        make_market(&market);
        assert_ok(assignment_find(&market.offers, taken, &error));
        for (uint32_t k = 0; k < market.offers.bidder_count; k++) {
            if (taken[k] == BAT_NONE)
                continue;
            assert_in_range(taken[k], market.first[k], market.first[k + 1] - 1);
            assert_int_equal(used & 1u << market.objects[taken[k]], 0);
            used |= 1u << market.objects[taken[k]];
            assert_true(market.values[taken[k]] > 0);
            sum += market.values[taken[k]];
        }
        assert_true(sum >= greatest(&market, 0, 0) - (MOST + 1) * ASSIGNMENT_STEP);
    }
}

/* The best pairs one by one would be worth less: 1 + 0 instead of 0.9 + 0.8. */
TEST(test_not_greedy)
{
    const uint32_t first[] = {0, 2, 3};
    const uint32_t objects[] = {0, 1, 0};
    const float values[] = {1, 0.9f, 0.8f};
    const struct assignment_offers offers = {2, 2, first, objects, values};
    uint32_t taken[2];
    struct bat_error error;
    assert_ok(assignment_find(&offers, taken, &error));
    assert_int_equal(taken[0], 1);
    assert_int_equal(taken[1], 2);
}
