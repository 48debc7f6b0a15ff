/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Parts of the names of functions and fragments. Internal to binary/. */
#ifndef BAT_BINARY_NAMES_H
#define BAT_BINARY_NAMES_H

#include "bat_binary.h"

/*
 * The length of the function's name in a fragment's: 1 for "f.cold.0", and for "f/2.cold" too,
 * since BOLT's numbers behind names of local symbols are no part of them. 0 if it is no
 * fragment's name.
 */
size_t bat_name_stem(const char *name);

/*
 * True if a symbol at the address has the name of length bytes, BOLT's number behind it not
 * counted. Logarithmic.
 */
bool bat_names_have(const struct bat_names *names, uint64_t address, const char *name,
                    size_t length);

/* The largest size that a symbol at the address has; 0 if none of them says. Logarithmic. */
uint64_t bat_names_size(const struct bat_names *names, uint64_t address);

#endif
