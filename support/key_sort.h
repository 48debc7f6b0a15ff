/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sorts by numbers in linear time. Internal to the library. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct bat_sort_key {
    uint64_t key;
    uint64_t value; /* moved with the key */
};

/*
 * Sort count keys; equal ones keep their order. spare must have space for count keys. Returns the
 * array that holds the result, keys or spare.
 */
struct bat_sort_key *bat_sort_keys(struct bat_sort_key *keys, struct bat_sort_key *spare,
                                   size_t count);
