/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The order in which libstdc++'s unordered_map returns its keys: that of calls in merge-fdata. */
#ifndef BAT_TOOLS_BATTRANSLATE_HASH_MAP_ORDER_H
#define BAT_TOOLS_BATTRANSLATE_HASH_MAP_ORDER_H

#include <stdint.h>

/*
 * The numbers of count different keys in the order of a map into which they were inserted one after
 * the other. The caller frees it; NULL if there is no memory. Linear in the keys.
 */
uint32_t *hash_map_order(const uint64_t *keys, uint32_t count);

#endif
