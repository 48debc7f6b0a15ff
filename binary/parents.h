/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Parents of fragments that the note does not know: BAT.md 9.2. Internal to binary/. */
#ifndef BAT_BINARY_PARENTS_H
#define BAT_BINARY_PARENTS_H

#include "bat_binary.h"

/*
 * For a map whose hot_index is FRAGMENT: set parents by the names of symbols, and clear
 * hot_index_ambiguous if all fragments' parents are found. Time n log n in the symbols of tables.
 * Fails with BAT_ERR_MEMORY only.
 */
enum bat_code bat_binary_find_parents(struct bat_map *map, const struct bat_names *names,
                                      struct bat_error *error);

#endif
