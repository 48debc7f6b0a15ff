/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Option structures of callers, whose first member is their size (bat.h). Internal to the library.
 */
#pragma once

#include "bat.h"

/*
 * Copy the structure that a caller gave into *own, own_size bytes, in which members that the caller
 * does not have are 0. given may be NULL: all are 0. Fails with BAT_ERR_ARGUMENT for a size that
 * cannot be, or if a member is set that this library does not have. name is the structure's.
 */
enum bat_code bat_options_copy(void *own, size_t own_size, const void *given, const char *name,
                               struct bat_error *error);
