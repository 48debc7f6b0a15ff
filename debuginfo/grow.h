/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Arrays that grow. Internal to debuginfo/. */
#ifndef BAT_DEBUGINFO_GROW_H
#define BAT_DEBUGINFO_GROW_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Grow an array of count elements of size bytes so that one more fits. array is the address of the
 * pointer to it. False if there is no memory.
 */
bool debug_grow(void *array, size_t *capacity, size_t count, size_t size);

/* Give back the memory behind the first count elements of size bytes. They may move. */
void debug_shrink(void *array, size_t count, size_t size);

#endif
