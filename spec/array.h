/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Large arrays. Internal to the library. */
#pragma once

#include <stddef.h>

/*
 * Allocates count elements of size bytes, not cleared; at least one byte, so that NULL always means
 * out of memory. Large arrays use huge pages where the system has them: a map is written once from
 * end to end, and the page faults would cost as much as the decoding.
 */
void *bat_array_new(size_t count, size_t size);

/*
 * Enlarges an array from bat_array_new() (NULL: a new one) to count elements of size bytes; the
 * content stays. Returns NULL if out of memory; the array is unchanged then.
 */
void *bat_array_grow(void *array, size_t count, size_t size);

/*
 * Cut an array from bat_array_new() down to count elements of size bytes; the content stays. Never
 * fails: if memory cannot be given back, the larger array stays.
 */
void *bat_array_shrink(void *array, size_t count, size_t size);
