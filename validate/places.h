/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Addresses of entries in the output binary. Internal to validate/. */
#ifndef BAT_VALIDATE_PLACES_H
#define BAT_VALIDATE_PLACES_H

#include "bat.h"

/*
 * The first entry of table (counted from 0; entry_count if there is none) whose output offset is
 * greater than size. An entry at size itself is allowed: BOLT puts deleted blocks at their
 * function's end. Logarithmic.
 */
uint32_t bat_first_beyond(const struct bat_map *map, const struct bat_table *table, uint64_t size);

/* True if the entry's address is 0 modulo 2^32; BOLT writes that for a block that it did not emit.
 */
bool bat_is_at_address_0(const struct bat_map *map, uint32_t table, uint32_t entry);

/*
 * True if an entry that lies outside its table is a stray entry (BAT.md 6.1) as BOLT writes it: a
 * branch that later passes moved to another part of the function, or an entry without output
 * address, for which BOLT takes 0 (in functions of nops only that were not moved). Its offset is
 * relative to the table's start, modulo 2^32. Logarithmic.
 */
bool bat_is_stray(const struct bat_map *map, uint32_t table, uint32_t entry);

#endif
