/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Assigns each object to at most one bidder, so that the sum of the values is greatest. Internal to
 * next/. */
#pragma once

#include "bat.h"

struct assignment_offers {
    uint32_t bidder_count;
    uint32_t object_count;
    const uint32_t *first;   /* bidder j's offers are [first[j], first[j + 1]) */
    const uint32_t *objects; /* of each offer */
    const float *values;     /* ... 0 to 1; 0 is never assigned */
};

/* How far from the greatest the sum may be, for each bidder. */
#define ASSIGNMENT_STEP 0.001f

/*
 * Fill taken[j], for each bidder, with an offer, or BAT_NONE. By an auction: who is outbid bids for
 * something else. Time is linear in the offers for each of at most 1 / ASSIGNMENT_STEP prices;
 * mostly for a few. Fails with BAT_ERR_MEMORY.
 */
enum bat_code assignment_find(const struct assignment_offers *offers, uint32_t *taken,
                              struct bat_error *error);
