/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the decoder is measured against: a straight-line reader that trusts every byte. It reads
 * LEB128 numbers a byte at a time, checks nothing, and stores the same things in arrays of the
 * same shape as struct bat_map's, whose sizes it is told beforehand.
 */
#ifndef BENCH_UNCHECKED_H
#define BENCH_UNCHECKED_H

#include "bat.h"

/*
 * Arrays for a map of the sizes that like states, allocated as the library does it. Free with
 * bat_map_free(). Ends the process where memory runs out.
 */
struct bat_map *unchecked_allocate(const struct bat_map *like);

/*
 * Read a sound version 3 note whose hot indices count in the hot table into map, which must have
 * been allocated for it. by_address, fragment_start and fragments are left out.
 */
void unchecked_decode(const uint8_t *section, struct bat_map *map);

#endif
