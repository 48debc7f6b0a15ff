/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The order in which LLVM 22's StringMap returns its keys, which is that of merge-fdata's output.
 */
#ifndef BAT_TOOLS_BATTRANSLATE_STRING_MAP_ORDER_H
#define BAT_TOOLS_BATTRANSLATE_STRING_MAP_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "support/string_table.h"

/*
 * The numbers of all strings in the order of a map into which they were inserted as order says
 * (NULL: ascending). The caller frees it; NULL if there is no memory. If the strings were chosen to
 * collide in the map, the order is that of the insertions: time is linear in the strings.
 */
uint32_t *string_map_order(const struct bat_strings *strings, const uint32_t *order);

#endif
