/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reads from the symbol table which functions compilers have split, and where AArch64 code holds
 * data. Both need what struct bat_function_symbol does not have: aliases, the order of the symbols,
 * and the mapping symbols $x and $d. Internal to binary/code/.
 */
#pragma once

#include "elfnote/symbol_table.h"
#include "reader.h"

/*
 * Set is_split of wanted functions; in a binary with relocations whole_of of all functions
 * (split_functions.c).
 */
enum bat_code code_find_split(struct bat_code_reader *reader, const struct symbol_table *table,
                              struct bat_error *error);
