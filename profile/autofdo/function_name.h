/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The part of a function's name that a sample profile keeps. */
#ifndef BAT_PROFILE_AUTOFDO_FUNCTION_NAME_H
#define BAT_PROFILE_AUTOFDO_FUNCTION_NAME_H

#include <stddef.h>

/*
 * The length of a name without the suffixes that the compiler appends after it has matched names
 * with a profile: ".llvm.123" and ".part.1", in this order from the end. ".__uniq.123" is appended
 * before that, and stays.
 */
size_t function_name_length(const char *name);

#endif
