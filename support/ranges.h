/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Sets of ranges, which may overlap, and those of a set that overlap another range. Internal to the
 * library.
 */
#pragma once

#include "bat.h"

struct bat_range_node;

/* The memory of any number of sets. A set is the number of its root, 0 if it is empty. */
struct bat_ranges {
    struct bat_range_node *nodes; /* from 1 on */
    uint32_t count;
    uint32_t free; /* a list by `left` */
    size_t capacity;
    uint64_t seed;
};

void bat_ranges_free(struct bat_ranges *ranges);

/* Add [low, high) with an item. Fails with BAT_ERR_MEMORY. Logarithmic in the set, on average. */
enum bat_code bat_ranges_add(struct bat_ranges *ranges, uint32_t *set, uint64_t low, uint64_t high,
                             uint32_t item);

/* Remove what was added like this; it must be there. Logarithmic, on average. */
void bat_ranges_remove(struct bat_ranges *ranges, uint32_t *set, uint64_t low, uint64_t high,
                       uint32_t item);

/*
 * Put the items whose ranges overlap [low, high) into items, at most max of them, in the order of
 * their ranges. Returns how many there are. Logarithmic for each.
 */
size_t bat_ranges_find(const struct bat_ranges *ranges, uint32_t set, uint64_t low, uint64_t high,
                       uint32_t *items, size_t max);
