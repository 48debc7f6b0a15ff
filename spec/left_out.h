/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the minimal build (cmake --preset minimal) leaves out. Files in folders called "minimal"
 * stand in for those that it does not have: they define the same functions, which refuse.
 */
#pragma once

#include "bat.h"

/* Fail with a sentence; what is a noun, such as "reading JSON". */
static inline enum bat_code bat_fail_left_out(struct bat_error *error, const char *what)
{
    return bat_fail(error, BAT_ERR_UNSUPPORTED,
                    "%s is left out of this build of batkit (cmake --preset minimal)", what);
}
