/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Compares instructions at two addresses of one program, or of the input and the output: copies do
 * the same, but have other distances to the addresses that they name. For x86-64 and AArch64.
 * Internal to the library.
 */
#pragma once

#include "bat_elf.h"
#include "instructions.h"

/* An instruction of a file. bytes points into the file, at instruction.length bytes. */
struct bat_code_at {
    uint64_t address;
    const uint8_t *bytes;
    struct bat_instruction instruction;
};

/* Decode the instruction at an address of a file. False if there is none. */
bool bat_code_read(const struct bat_elf *elf, uint64_t address, struct bat_code_at *code);

/*
 * A hash that is equal for copies of one instruction, and rarely for others. Targets of branches
 * and jumps do not count, targets of calls do.
 */
uint64_t bat_code_hash(uint16_t machine, const struct bat_code_at *code);

/* True if two instructions, neither of them a branch or jump, are copies. */
bool bat_code_same(uint16_t machine, const struct bat_code_at *left,
                   const struct bat_code_at *right);

/*
 * True if two instructions may be copies although one is in the input and the other in the output:
 * the addresses that they name do not count.
 */
bool bat_code_alike(uint16_t machine, const struct bat_code_at *left,
                    const struct bat_code_at *right);
