/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "key_sort.h"

#include <stdbool.h>

#define DIGITS 6u
#define DIGIT_BITS 11u
#define DIGIT_VALUES (1u << DIGIT_BITS)

/* Up to this many keys are inserted one by one, */
#define FEW 16u

/* ... and up to this many by merging: for so few, the counts of a radix sort cost too much. */
#define SOME 2048u

static unsigned digit_of(uint64_t key, unsigned digit)
{
    return (unsigned)(key >> (DIGIT_BITS * digit)) & (DIGIT_VALUES - 1);
}

/* One stable pass by one digit. */
static void pass(const struct bat_sort_key *from, struct bat_sort_key *to, size_t count,
                 unsigned digit)
{
    size_t counts[DIGIT_VALUES] = {0};
    for (size_t i = 0; i < count; i++)
        counts[digit_of(from[i].key, digit)]++;
    size_t start = 0;
    for (unsigned value = 0; value < DIGIT_VALUES; value++) {
        size_t number = counts[value];
        counts[value] = start;
        start += number;
    }
    for (size_t i = 0; i < count; i++)
        to[counts[digit_of(from[i].key, digit)]++] = from[i];
}

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
 * Radix sort from the lowest bits up. Addresses of real programs take three passes; qsort() takes
 * five times as long. A function of its own: with stack protection a call touches every page of the
 * counts, even a call that sorts two keys.
 */
__attribute__((noinline)) static struct bat_sort_key *
radix_sort(struct bat_sort_key *keys, struct bat_sort_key *spare, size_t count)
{
    uint64_t different = 0; /* bits in which not all keys agree */
    for (size_t i = 1; i < count; i++)
        different |= keys[i].key ^ keys[0].key;
    struct bat_sort_key *sorted = keys;
    for (unsigned digit = 0; digit < DIGITS; digit++) {
        if (digit_of(different, digit) == 0)
            continue;
        struct bat_sort_key *to = sorted == keys ? spare : keys;
        pass(sorted, to, count, digit);
        sorted = to;
    }
    return sorted;
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
