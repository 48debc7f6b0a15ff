/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The condition that a conditional branch tests, as a number: tells whether two branches test the
 * same condition or opposite ones. Internal to the library.
 */
#pragma once

#include "bat_elf.h"

#define CONDITION_UNKNOWN 0u

/* The condition of a branch that is taken exactly when one with this condition is not. */
#define CONDITION_OPPOSITE(condition) ((condition) ^ 1u)

/*
 * The condition of the conditional branch at an address of the file, for x86-64 (Jcc) and AArch64
 * (B.cond, CBZ, CBNZ, TBZ, TBNZ); CONDITION_UNKNOWN for other instructions. Equal numbers mean the
 * same test, registers included.
 */
uint32_t condition_at(const struct bat_elf *elf, uint64_t address);

/*
 * The same for tests of any register: of AArch64, CBZ, TBZ and B.EQ are one condition, CBNZ, TBNZ
 * and B.NE the opposite; TBZ and TBNZ of bits 31 and 63 are B.GE and B.LT.
 */
uint32_t condition_of_any_register(uint32_t condition);

/* The same for the instruction at the start of size bytes, of a machine. */
uint32_t condition_in(uint16_t machine, const uint8_t *bytes, uint64_t size);

/* The number of x86-64's condition, 0 (JO) to 15 (JG); CONDITIONS_X86 for others. */
#define CONDITIONS_X86 16u
uint32_t condition_number_x86(uint32_t condition);

/* What a condition says of the order of two numbers, or of a result: flags. */
#define CONDITION_IS_ORDER 1u
#define CONDITION_IS_LOWER 2u  /* the first is lower; else higher */
#define CONDITION_IS_STRICT 4u /* ... and not equal */
#define CONDITION_IS_SIGNED 8u

#define CONDITION_IS_EQUALITY 16u /* no order: if both are equal; with STRICT: if not */
#define CONDITION_IS_SIGN 32u     /* ... if a result is negative; without LOWER: if not */
/* A result overflowed, or of two numbers one is none (NaN); with STRICT: not. */
#define CONDITION_IS_OVERFLOW 64u

/* What a condition of x86-64 (Jcc) or AArch64 (B.cond) tests. */
uint32_t condition_order(uint32_t condition);
