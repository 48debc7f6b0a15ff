/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Chooses between the readings of hot indices by symbols: BAT.md 7.2. Internal to binary/. */
#ifndef BAT_BINARY_HOT_INDEX_READING_H
#define BAT_BINARY_HOT_INDEX_READING_H

#include "bat_binary.h"

/*
 * For a map whose hot_index_ambiguous is set: choose the reading of hot indices that gives more
 * fragments the name of their parent, and clear hot_index_ambiguous unless both give equally many.
 * Without sound symbols the map stays as it is. Fails with BAT_ERR_MEMORY only.
 */
enum bat_code bat_binary_choose_reading(struct bat_binary *binary, struct bat_error *error);

#endif
