/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Decodes branches of AArch64, and instructions that name an address relative to their own.
 * Encodings are from the Arm Architecture Reference Manual, chapter C4 "A64 instruction set
 * encoding". An instruction is one little-endian word.
 */
#include "instructions.h"
#include "spec/little_endian.h"

#define WORD_SIZE 4u

/* The signed number in bits low .. low + width - 1 of the word, times 4: a distance in bytes. */
static uint64_t distance(uint32_t word, unsigned low, unsigned width)
{
    uint32_t top = word << (32 - low - width);
    return (uint64_t)(int64_t)((int32_t)top >> (32 - width)) * WORD_SIZE;
}

/* Unconditional branch (register). Forms with pointer authentication share these bits. */
static uint8_t register_branch_kind(uint32_t word)
{
    switch (word >> 21 & 0xf) {
    case 0x0: /* BR, BRAAZ, BRABZ */
    case 0x8: /* BRAA, BRAB */
        return BAT_INSTRUCTION_INDIRECT_JUMP;
    case 0x1: /* BLR, BLRAAZ, BLRABZ */
    case 0x9: /* BLRAA, BLRAB */
        return BAT_INSTRUCTION_INDIRECT_CALL;
    case 0x2: /* RET, RETAA, RETAB */
    case 0x4: /* ERET, ERETAA, ERETAB */
    case 0x5: /* DRPS */
        return BAT_INSTRUCTION_RETURN;
    default:
        return BAT_INSTRUCTION_OTHER;
    }
}

/* Decode a branch with a target. False for other words. */
static bool decode_direct(uint32_t word, uint64_t address, struct bat_instruction *instruction)
{
    if ((word & 0x7c000000) == 0x14000000) { /* B, BL */
        instruction->kind = word >> 31 ? BAT_INSTRUCTION_CALL : BAT_INSTRUCTION_JUMP;
        instruction->target = address + distance(word, 0, 26);
        return true;
    }
    instruction->kind = BAT_INSTRUCTION_CONDITIONAL;
    if ((word & 0xff000000) == 0x54000000 || /* B.cond, BC.cond */
        (word & 0x7e000000) == 0x34000000) { /* CBZ, CBNZ */
        instruction->target = address + distance(word, 5, 19);
        return true;
    }
    if ((word & 0x7e000000) == 0x36000000) { /* TBZ, TBNZ */
        instruction->target = address + distance(word, 5, 14);
        return true;
    }
    if ((word & 0x7e000000) == 0x74000000) { /* CB<cc>, CBB<cc>, CBH<cc> */
        instruction->target = address + distance(word, 5, 9);
        return true;
    }
    return false;
}

/* True for ADR and loads of literals; ADRP names a page, not an address. */
static bool has_reference(uint32_t word, uint64_t address, uint64_t *reference)
{
    if ((word & 0x9f000000) == 0x10000000) { /* ADR */
        *reference = address + distance(word, 5, 19) + (word >> 29 & 3);
        return true;
    }
    if ((word & 0x3b000000) == 0x18000000) { /* LDR, LDRSW, PRFM (literal) */
        *reference = address + distance(word, 5, 19);
        return true;
    }
    return false;
}

static uint8_t other_kind(uint32_t word)
{
    if ((word & 0xfe000000) == 0xd6000000)
        return register_branch_kind(word);
    if ((word & 0xffc0001f) == 0x5500001f) /* RETAASPPC, RETABSPPC */
        return BAT_INSTRUCTION_RETURN;
    if ((word & 0xffff0000) == 0 ||        /* UDF */
        (word & 0xffe0001f) == 0xd4200000) /* BRK */
        return BAT_INSTRUCTION_TRAP;
    if (word == 0xd503201f)
        return BAT_INSTRUCTION_NOP;
    return BAT_INSTRUCTION_OTHER;
}

/* True for groups of encodings that are not allocated (table C4-1). */
static bool is_unallocated(uint32_t word)
{
    unsigned group = word >> 25 & 0xf;
    bool is_reserved = group == 0 && word >> 31 == 0 && word >> 16 != 0;
    return group == 1 || group == 3 || is_reserved;
}

bool instruction_decode_aarch64(const uint8_t *bytes, size_t size, uint64_t address,
                                struct bat_instruction *instruction)
{
    if (size < WORD_SIZE)
        return false;
    uint32_t word = bat_load32(bytes);
    if (is_unallocated(word))
        return false;
    *instruction = (struct bat_instruction){.length = WORD_SIZE};
    if (!decode_direct(word, address, instruction)) {
        instruction->kind = other_kind(word);
        instruction->has_reference = has_reference(word, address, &instruction->reference);
    }
    return true;
}

uint64_t bat_long_jump_target(const uint8_t *bytes, uint64_t at, uint64_t start)
{
    uint32_t jump = bat_load32(bytes + at);
    uint32_t wanted = jump >> 5 & 31;
    uint64_t value = 0;
    if ((jump & 0xfffffc1f) != 0xd61f0000)
        return 0;
    for (uint64_t i = at < 16 ? 0 : at - 16; i < at; i += 4) {
        uint32_t word = bat_load32(bytes + i);
        if ((word & 31) != wanted)
            continue;
        unsigned shift = (word >> 21 & 3) * 16;
        uint64_t half = (uint64_t)(word >> 5 & 0xffff) << shift;
        if ((word & 0x9f000000) == 0x90000000) { /* ADRP */
            uint64_t pages = (uint64_t)(word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3);
            pages = (pages ^ 0x100000) - 0x100000;
            value = ((start + i) & ~UINT64_C(0xfff)) + (pages << 12);
        } else if ((word & 0xffc003e0) == (0x91000000 | wanted << 5) && value) { /* ADD */
            value += word >> 10 & 0xfff;
        } else if ((word & 0xff800000) == 0xd2800000) { /* MOVZ */
            value = half;
        } else if ((word & 0xff800000) == 0xf2800000) { /* MOVK */
            value = (value & ~(UINT64_C(0xffff) << shift)) | half;
        } else {
            value = 0;
        }
    }
    return value;
}
