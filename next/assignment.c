/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "assignment.h"

#include <stdlib.h>

/* What a bidder would do at the present prices. */
struct bid {
    uint32_t offer; /* BAT_NONE: nothing is worth its price */
    float raise;    /* of the price: up to where the second best is as good */
};

static struct bid find_bid(const struct assignment_offers *offers, const float *prices,
                           uint32_t bidder)
{
    struct bid bid = {.offer = BAT_NONE};
    float best = 0;
    float second = 0;
    for (uint32_t i = offers->first[bidder]; i < offers->first[bidder + 1]; i++) {
        float gain = offers->values[i] - prices[offers->objects[i]];
        if (gain > best) {
            second = best;
            best = gain;
            bid.offer = i;
        } else if (gain > second) {
            second = gain;
        }
    }
    bid.raise = best - second + ASSIGNMENT_STEP;
    return bid;
}

enum bat_code assignment_find(const struct assignment_offers *offers, uint32_t *taken,
                              struct bat_error *error)
{
    float *prices = calloc((size_t)offers->object_count + 1, sizeof(*prices));
    uint32_t *owners = malloc(((size_t)offers->object_count + 1) * sizeof(*owners));
    uint32_t *waiting = malloc(((size_t)offers->bidder_count + 1) * sizeof(*waiting));
    bool is_fine = prices && owners && waiting;
    uint32_t count = 0;
    for (uint32_t i = 0; i < offers->object_count && is_fine; i++)
        owners[i] = BAT_NONE;
    for (uint32_t i = offers->bidder_count; i-- > 0 && is_fine;) {
        taken[i] = BAT_NONE;
        waiting[count++] = i;
    }
    while (count > 0) {
        uint32_t bidder = waiting[--count];
        struct bid bid = find_bid(offers, prices, bidder);
        taken[bidder] = bid.offer;
        if (bid.offer == BAT_NONE)
            continue;
        uint32_t object = offers->objects[bid.offer];
        if (owners[object] != BAT_NONE) {
            taken[owners[object]] = BAT_NONE;
            waiting[count++] = owners[object];
        }
        owners[object] = bidder;
        prices[object] += bid.raise;
    }
    free(prices);
    free(owners);
    free(waiting);
    return is_fine ? BAT_OK : bat_fail_memory(error, "to assign blocks");
}
