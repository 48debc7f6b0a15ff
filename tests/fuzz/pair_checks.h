/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What holds for any pair of a BOLTed binary and its input, and for any profile. */
#pragma once

#include "binary/original/original.h"
#include "fuzz.h"

/*
 * Translate addresses, and move and translate a profile, all made of the bytes: places and traces
 * lie in the input's functions, no sample is lost or counted twice, and the result is the same each
 * time. binary must have its map. In a damaged input code may be in no function, and branches may
 * lead out of it.
 */
void fuzz_check_pair(struct bat_binary *binary, const struct bat_original *original,
                     bool is_damaged_input, struct fuzz_bytes *bytes);
