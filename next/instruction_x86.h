/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Hashes of what an instruction of x86-64 is. Internal to next/. */
#pragma once

#include "unit.h"

/* Describe the instruction at an address of the program; its offset is not set. False if it cannot
 * be decoded. *length is its length in bytes. Constant time. */
bool next_describe_x86(const struct next_program *program, const uint8_t *bytes, size_t size,
                       uint64_t address, struct next_instruction *instruction, uint32_t *length);
