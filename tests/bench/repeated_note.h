/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Large notes: a real one, many times. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The note of a file (a BOLTed binary, or a raw note) with that many copies of its functions, one
 * behind the other from 0x10000000 on. *size gets the number of bytes. The caller frees it with
 * free(). Ends the process if that fails.
 */
uint8_t *repeated_note(const char *path, uint32_t copies, size_t *size);
