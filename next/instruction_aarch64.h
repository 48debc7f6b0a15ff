/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Hashes of what an instruction of AArch64 is. Internal to next/. */
#pragma once

#include "unit.h"

/*
 * The pages that ADRP left in registers: an address takes two instructions, ADRP and one with the
 * lower 12 bits. Only needed where no relocations of the linker tell both.
 */
struct next_pages {
    uint64_t page[32];
    uint32_t known; /* a bit for each register */
};

/*
 * Describe the instruction at an address of the program; its offset is not set. bytes are those up
 * to the end of its block. The instructions of a part must come in their order, with the same
 * *pages, all zero at first. False if size is too small. Constant time but for relocations:
 * logarithmic.
 */
bool next_describe_aarch64(const struct next_program *program, struct next_pages *pages,
                           const uint8_t *bytes, size_t size, uint64_t address,
                           struct next_instruction *instruction, uint32_t *length);

/* Describe the instruction at an address of the program; its offset is not set. False if it cannot
 * be decoded. *length is its length in bytes. Constant time. */
bool next_describe_x86(const struct next_program *program, const uint8_t *bytes, size_t size,
                       uint64_t address, struct next_instruction *instruction, uint32_t *length);
