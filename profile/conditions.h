/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Which condition a conditional branch tests, so that two branches can be compared: the same one,
 * or its opposite. Internal to the library.
 */
#ifndef BAT_PROFILE_CONDITIONS_H
#define BAT_PROFILE_CONDITIONS_H

#include "bat_elf.h"

#define CONDITION_UNKNOWN 0u

/* What a branch tests that is taken exactly when the other is not. */
#define CONDITION_OPPOSITE(condition) ((condition) ^ 1u)

/*
 * The condition of the conditional branch at a file's address, for x86-64 (Jcc) and AArch64
 * (B.cond, CBZ, CBNZ, TBZ, TBNZ); CONDITION_UNKNOWN for others. A number with no other meaning than
 * that equal ones test the same, registers included.
 */
uint32_t condition_at(const struct bat_elf *elf, uint64_t address);

/* The number of x86-64's condition in it, 0 (JO) to 15 (JG); CONDITIONS_X86 for others. */
#define CONDITIONS_X86 16u
uint32_t condition_number_x86(uint32_t condition);

#endif
