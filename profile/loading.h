/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What translation needs of a binary, found by threads of their own while profiles are read: its
 * map and its functions. Internal to the library.
 */
#ifndef BAT_PROFILE_LOADING_H
#define BAT_PROFILE_LOADING_H

#include "bat_binary.h"
#include "functions.h"

struct bat_loading;

/*
 * Begin. A map that binary has already is taken as it is. symbols may be NULL: the binary's own.
 * NULL if there is no memory.
 */
struct bat_loading *bat_loading_begin(struct bat_binary *binary, struct bat_elf *symbols);

/* True if this was begun for that binary and has not been taken. */
bool bat_loading_is_for(const struct bat_loading *loading, const struct bat_binary *binary,
                        const struct bat_elf *symbols);

/*
 * Wait for all. On success the binary has its map, and *functions, without names, are the
 * caller's. Errors in the note have BAT_PLACE_SECTION.
 */
enum bat_code bat_loading_take(struct bat_loading *loading, struct bat_functions **functions,
                               struct bat_error *error);

/* Waits too. NULL is allowed. */
void bat_loading_free(struct bat_loading *loading);

#endif
