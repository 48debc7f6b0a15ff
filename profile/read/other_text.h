/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files of profilers that are no profiles which can be read. Internal to profile/read. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * What a file is by its first block, which a newline ends, and what to do instead, for "expected a
 * profile, found ...". NULL if that is not known.
 */
const char *bat_other_text(const uint8_t *text, size_t size);
