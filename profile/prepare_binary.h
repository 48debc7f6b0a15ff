/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The map and the functions of a binary, which translation needs: threads find them while profiles
 * are read. Internal to the library.
 */
#pragma once

#include "bat_profile.h"
#include "binary/functions/functions.h"
#include "binary/sparse_note.h"

/* True if this was started for this binary and these symbols, and was not taken yet. */
bool bat_preparation_is_for(const struct bat_preparation *preparation,
                            const struct bat_binary *binary, const struct bat_elf *symbols);

/*
 * Wait for the threads. On success the caller owns *functions, which have no names yet, and
 * *sparse: the tables of the binary's note; it is empty if the binary has its map. Errors in the
 * note have BAT_PLACE_SECTION.
 */
enum bat_code bat_preparation_take(struct bat_preparation *preparation,
                                   struct bat_functions **functions, struct bat_sparse_map *sparse,
                                   struct bat_error *error);

/* The same at once, by at most so many threads; 0: as many as are of use. */
enum bat_code bat_preparation_load(struct bat_binary *binary, struct bat_elf *symbols,
                                   unsigned threads, struct bat_functions **functions,
                                   struct bat_sparse_map *sparse, struct bat_error *error);
