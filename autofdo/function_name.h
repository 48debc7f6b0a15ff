/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What of a function's name a sample profile keeps. */
#ifndef BAT_AUTOFDO_FUNCTION_NAME_H
#define BAT_AUTOFDO_FUNCTION_NAME_H

#include <stddef.h>

/*
 * The length of a name without what the compiler hung on to it: ".llvm.123", ".part.1" and
 * ".__uniq.123", in this order from the end.
 */
size_t function_name_length(const char *name);

#endif
