/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where entries are in the output binary. Internal to validate/. */
#ifndef BAT_VALIDATE_PLACES_H
#define BAT_VALIDATE_PLACES_H

#include "bat.h"

/*
 * The first entry of table (as a number from 0, entry_count if there is none) whose output offset
 * is greater than size. One at size itself is a block that was deleted: it stands at its
 * function's end. Logarithmic.
 */
uint32_t bat_first_beyond(const struct bat_map *map, const struct bat_function *table,
                          uint64_t size);

/* True if the entry's address is 0 modulo 2^32: what BOLT takes for a block that it did not emit.
 */
bool bat_is_at_address_0(const struct bat_map *map, uint32_t table, uint32_t entry);

/*
 * True if an entry that lies outside its table is a stray one (BAT.md 6.1), which BOLT writes: a
 * branch that later passes took to another part of the function, or something that has no output
 * address, for which BOLT takes 0 (a function of nops alone that stays where it was). Its offset
 * still counts from the table's start, modulo 2^32. Logarithmic.
 */
bool bat_is_stray(const struct bat_map *map, uint32_t table, uint32_t entry);

#endif
