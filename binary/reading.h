/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How hot indices are meant, by symbols: BAT.md 7.2. Internal to binary/. */
#ifndef BAT_BINARY_READING_H
#define BAT_BINARY_READING_H

#include "bat_binary.h"

/*
 * For a map whose hot_index_ambiguous is set: read the fragments' parents in the way that fits
 * their symbols better, and clear hot_index_ambiguous if the symbols told the two apart. Without
 * sound symbols the map stays as it is. Fails with BAT_ERR_MEMORY only.
 */
enum bat_code bat_binary_choose_reading(struct bat_binary *binary, struct bat_error *error);

#endif
