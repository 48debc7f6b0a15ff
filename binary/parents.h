/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Parents of fragments by symbols, where the note leaves them open. Internal to binary/. */
#pragma once

#include "bat_binary.h"

/*
 * For a map whose hot_index_ambiguous is set: choose the reading of hot indices (BAT.md 7.2) that
 * gives more fragments the name of their parent, and clear hot_index_ambiguous unless both give
 * equally many. For one whose hot_index is FRAGMENT: set parents (BAT.md 9.2), and clear it if all
 * are found. Without sound symbols the map stays as it is. Fails with BAT_ERR_MEMORY only.
 */
enum bat_code bat_binary_choose_reading(struct bat_binary *binary, struct bat_error *error);
