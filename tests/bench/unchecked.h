/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The contender of the decoder: a straight-line reader that trusts every byte. It reads LEB128
 * numbers a byte at a time, checks nothing, and stores the same values in arrays like those of
 * struct bat_map, whose sizes are given.
 */
#pragma once

#include "bat.h"

/*
 * Arrays for a map with the sizes of `like`, allocated as the library does it. Free with
 * bat_map_free(). Ends the process if there is no memory.
 */
struct bat_map *unchecked_allocate(const struct bat_map *like);

/*
 * Read a sound version 3 note, whose hot indices count in the hot table, into map, which must be
 * allocated for it. by_address, fragment_start and fragments are left out.
 */
void unchecked_decode(const uint8_t *section, struct bat_map *map);
