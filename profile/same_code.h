/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Instructions that do the same at two places of one program: copies of one another, with other
 * distances to what they name. For x86-64 and AArch64. Internal to the library.
 */
#ifndef BAT_PROFILE_SAME_CODE_H
#define BAT_PROFILE_SAME_CODE_H

#include "bat_elf.h"
#include "instructions.h"

/* An instruction of a file. bytes has instruction.length bytes, and is the file's. */
struct bat_code_at {
    uint64_t address;
    const uint8_t *bytes;
    struct bat_instruction instruction;
};

/* Decode what stands at an address of a file. False if there is no instruction. */
bool bat_code_read(const struct bat_elf *elf, uint64_t address, struct bat_code_at *code);

/*
 * A number that copies of one instruction have in common, and others rarely. Where branches and
 * jumps lead does not count, what calls lead to does.
 */
uint64_t bat_code_hash(uint16_t machine, const struct bat_code_at *code);

/* True if two instructions, neither of them a branch or jump, are copies. */
bool bat_code_same(uint16_t machine, const struct bat_code_at *left,
                   const struct bat_code_at *right);

#endif
