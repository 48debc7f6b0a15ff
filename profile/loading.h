/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The map and the functions of a binary, which translation needs: threads find them while profiles
 * are read. Internal to the library.
 */
#ifndef BAT_PROFILE_LOADING_H
#define BAT_PROFILE_LOADING_H

#include "bat_binary.h"
#include "functions.h"

struct bat_loading;

/*
 * Start the threads. If binary has its map already, that map is used. symbols may be NULL: then the
 * binary's own symbols are read. Returns NULL if there is no memory.
 */
struct bat_loading *bat_loading_begin(struct bat_binary *binary, struct bat_elf *symbols);

/* True if loading was started for this binary and these symbols, and was not taken yet. */
bool bat_loading_is_for(const struct bat_loading *loading, const struct bat_binary *binary,
                        const struct bat_elf *symbols);

/*
 * Wait for the threads. On success the binary has its map, and the caller owns *functions, which
 * have no names yet. Errors in the note have BAT_PLACE_SECTION.
 */
enum bat_code bat_loading_take(struct bat_loading *loading, struct bat_functions **functions,
                               struct bat_error *error);

/* Waits for the threads too. NULL is allowed. */
void bat_loading_free(struct bat_loading *loading);

#endif
