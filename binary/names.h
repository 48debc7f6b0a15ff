/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Parts of the names of functions and fragments. Internal to binary/. */
#pragma once

#include "bat_binary.h"

/*
 * The length of the function's name in a fragment's name: 1 for "f.cold.0", and for "f/2.cold" too,
 * because the number that BOLT appends to names of local symbols does not count. 0 if it is not a
 * fragment's name.
 */
size_t bat_name_stem(const char *name);

/* True if one of the count symbols from first on is named as a fragment of a symbol at parent. */
bool bat_names_after_parent(const struct bat_names *names, size_t first, size_t count,
                            uint64_t parent);

/* The largest size of the symbols at the address; 0 if none has a size. Logarithmic. */
uint64_t bat_names_size(const struct bat_names *names, uint64_t address);
