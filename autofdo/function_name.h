/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What of a function's name a sample profile keeps. */
#ifndef BAT_AUTOFDO_FUNCTION_NAME_H
#define BAT_AUTOFDO_FUNCTION_NAME_H

#include <stddef.h>

/*
 * The length of a name without what the compiler hung on to it after it had made a profile's names:
 * ".llvm.123" and ".part.1", in this order from the end. ".__uniq.123" is there before, and stays.
 */
size_t function_name_length(const char *name);

#endif
