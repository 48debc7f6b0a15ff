/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "key_sort.h"

#include <stdbool.h>
#include <string.h>

#define DIGIT_BITS 11u                       /* at most */
#define COUNTS_MAX ((size_t)6 << DIGIT_BITS) /* of 6 such digits, or 8 smaller ones */
#define DIGIT_BITS_SOME 8u
#define SOME 2048u /* up to so many keys the counts of larger digits cost too much */

/* Up to this many keys, which fit into caches, are put near their places first, by the highest
 * bits: so many of these at most. */
#define CACHED 131072u
#define HIGHEST_BITS 13u

/* Up to this many keys are inserted one by one, or so many behind keys that are sorted. */
#define FEW 32u
#define FEW_BEHIND 16u

/* How many of the first keys are sorted. */
static size_t count_sorted(const struct bat_sort_key *keys, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (keys[i - 1].key > keys[i].key)
            return i;
    return count;
}

/* Insert the keys behind the first ones, which are sorted, one by one. */
static void insert_keys(struct bat_sort_key *keys, size_t sorted, size_t count)
{
    for (size_t i = sorted; i < count; i++) {
        struct bat_sort_key key = keys[i];
        size_t place = i;
        for (; place > 0 && keys[place - 1].key > key.key; place--)
            keys[place] = keys[place - 1];
        keys[place] = key;
    }
}

/* Bits in which not all keys agree, and 1. */
static uint64_t find_different(const struct bat_sort_key *keys, size_t count)
{
    uint64_t different = 1;
    for (size_t i = 1; i < count; i++)
        different |= keys[i].key ^ keys[0].key;
    return different;
}

/* From counts of digits to where the keys with each of them begin. Returns the largest count. */
static size_t set_places(size_t *places, size_t digits)
{
    size_t start = 0;
    size_t most = 0;
    for (size_t value = 0; value < digits; value++) {
        const size_t number = places[value];
        most = number > most ? number : most;
        places[value] = start;
        start += number;
    }
    return most;
}

/*
 * Radix sort from the lowest bits up: all digits are counted first, and each takes a stable pass.
 * Addresses of real programs take three passes; qsort() takes six times as long. A function of its
 * own: with stack protection a call touches every page of the counts, even a call that sorts two
 * keys.
 */
__attribute__((noinline)) static struct bat_sort_key *
radix_sort(struct bat_sort_key *keys, struct bat_sort_key *spare, size_t count)
{
    const uint64_t different = find_different(keys, count);
    const unsigned bits = 64 - (unsigned)__builtin_clzll(different);
    const unsigned most = count <= SOME ? DIGIT_BITS_SOME : DIGIT_BITS;
    const unsigned digits = (bits + most - 1) / most;
    const unsigned width = (bits + digits - 1) / digits;
    const size_t mask = ((size_t)1 << width) - 1;
    size_t counts[COUNTS_MAX]; /* digit by digit */
    memset(counts, 0, ((size_t)digits << width) * sizeof(counts[0]));
    for (size_t i = 0; i < count; i++)
        for (unsigned digit = 0; digit < digits; digit++)
            counts[(size_t)digit << width | (keys[i].key >> (width * digit) & mask)]++;
    for (unsigned digit = 0; digit < digits; digit++) {
        const unsigned shift = width * digit;
        size_t *places = counts + ((size_t)digit << width);
        if ((different >> shift & mask) == 0)
            continue;
        set_places(places, mask + 1);
        for (size_t i = 0; i < count; i++)
            spare[places[keys[i].key >> shift & mask]++] = keys[i];
        struct bat_sort_key *sorted = spare;
        spare = keys;
        keys = sorted;
    }
    return keys;
}

/*
 * One pass by the highest bits, with about as many values as there are keys, puts these near their
 * places in spare: where a value has many keys these are sorted, and the others are inserted. False
 * if more than half of the keys have the same value: they are as before.
 */
__attribute__((noinline)) static bool sort_by_highest(struct bat_sort_key *keys,
                                                      struct bat_sort_key *spare, size_t count)
{
    const unsigned bits = 64 - (unsigned)__builtin_clzll(find_different(keys, count));
    const unsigned some = 64 - (unsigned)__builtin_clzll(count);
    const unsigned wanted = some < HIGHEST_BITS ? some : HIGHEST_BITS;
    const unsigned width = wanted < bits ? wanted : bits;
    const unsigned shift = bits - width;
    const size_t mask = ((size_t)1 << width) - 1;
    size_t places[(size_t)1 << HIGHEST_BITS];
    memset(places, 0, sizeof(places[0]) << width);
    for (size_t i = 0; i < count; i++)
        places[keys[i].key >> shift & mask]++;
    const size_t most = set_places(places, mask + 1);
    if (most > count / 2)
        return false;
    for (size_t i = 0; i < count; i++)
        spare[places[keys[i].key >> shift & mask]++] = keys[i];
    size_t first = 0;
    for (size_t value = 0; value <= mask && most > FEW; first = places[value++]) {
        const size_t size = places[value] - first;
        if (size > FEW && count_sorted(spare + first, size) < size &&
            radix_sort(spare + first, keys + first, size) == keys + first)
            memcpy(spare + first, keys + first, size * sizeof(*keys));
    }
    insert_keys(spare, 1, count);
    return true;
}

struct bat_sort_key *bat_sort_keys(struct bat_sort_key *keys, struct bat_sort_key *spare,
                                   size_t count)
{
    const size_t sorted = count_sorted(keys, count);
    if (count > FEW && count - sorted > FEW_BEHIND)
        return count <= CACHED && sort_by_highest(keys, spare, count)
                   ? spare
                   : radix_sort(keys, spare, count);
    insert_keys(keys, sorted, count);
    return keys;
}
