/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "key_sort.h"

#include <stdbool.h>
#include <string.h>

#define DIGITS 6u
#define DIGIT_BITS 11u /* at most */

/* Up to this many keys are inserted one by one, */
#define FEW 16u

/* ... and up to this many by merging: for so few, the counts of a radix sort cost too much. */
#define SOME 2048u

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

/* Merge the sorted keys before middle with the sorted keys from middle on. */
static void merge_keys(const struct bat_sort_key *from, struct bat_sort_key *to, size_t middle,
                       size_t count)
{
    size_t left = 0;
    size_t right = middle;
    for (size_t i = 0; i < count; i++) {
        bool takes_left = right == count || (left < middle && from[left].key <= from[right].key);
        to[i] = takes_left ? from[left++] : from[right++];
    }
}

/* Returns the array with the result, keys or spare. */
static struct bat_sort_key *merge_sort(struct bat_sort_key *keys, struct bat_sort_key *spare,
                                       size_t count)
{
    for (size_t i = 0; i < count; i += FEW)
        insert_keys(keys + i, 1, count - i < FEW ? count - i : FEW);
    for (size_t width = FEW; width < count; width *= 2) {
        for (size_t i = 0; i < count; i += 2 * width) {
            size_t left = count - i;
            merge_keys(keys + i, spare + i, left < width ? left : width,
                       left < 2 * width ? left : 2 * width);
        }
        struct bat_sort_key *sorted = spare;
        spare = keys;
        keys = sorted;
    }
    return keys;
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
    uint64_t different = 1; /* bits in which not all keys agree */
    for (size_t i = 1; i < count; i++)
        different |= keys[i].key ^ keys[0].key;
    const unsigned bits = 64 - (unsigned)__builtin_clzll(different);
    const unsigned digits = (bits + DIGIT_BITS - 1) / DIGIT_BITS;
    const unsigned width = (bits + digits - 1) / digits;
    const size_t mask = ((size_t)1 << width) - 1;
    size_t places[DIGITS][(size_t)1 << DIGIT_BITS];
    memset(places, 0, digits * sizeof(places[0]));
    for (size_t i = 0; i < count; i++)
        for (unsigned digit = 0; digit < digits; digit++)
            places[digit][keys[i].key >> (width * digit) & mask]++;
    for (unsigned digit = 0; digit < digits; digit++) {
        const unsigned shift = width * digit;
        if ((different >> shift & mask) == 0)
            continue;
        size_t start = 0;
        for (size_t value = 0; value <= mask; value++) {
            const size_t number = places[digit][value];
            places[digit][value] = start;
            start += number;
        }
        for (size_t i = 0; i < count; i++)
            spare[places[digit][keys[i].key >> shift & mask]++] = keys[i];
        struct bat_sort_key *sorted = spare;
        spare = keys;
        keys = sorted;
    }
    return keys;
}

struct bat_sort_key *bat_sort_keys(struct bat_sort_key *keys, struct bat_sort_key *spare,
                                   size_t count)
{
    const size_t sorted = count_sorted(keys, count);
    if (count - sorted <= FEW) {
        insert_keys(keys, sorted, count);
        return keys;
    }
    return count <= SOME ? merge_sort(keys, spare, count) : radix_sort(keys, spare, count);
}
