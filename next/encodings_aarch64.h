/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The fields of AArch64's instructions: which bits tell the mnemonic, which name registers, which
 * are numbers. Encodings are from the Arm Architecture Reference Manual, chapter C4 "A64
 * instruction set encoding". Internal to next/.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What a register field of 5 bits may hold. Bits that name no register have other meanings. */
enum aarch64_register {
    AARCH64_NONE,
    AARCH64_GENERAL, /* 31 is the zero register */
    AARCH64_ALIAS,   /* the same, and with it the mnemonic is another one: SUBS to it is CMP */
    AARCH64_STACK,   /* 31 is the stack pointer */
    AARCH64_VECTOR,
};

/* Encodings that share a mnemonic have one family. The others have no family. */
enum aarch64_family {
    AARCH64_NO_FAMILY,
    AARCH64_ADD,     /* ADD, SUB with numbers and registers */
    AARCH64_LOGICAL, /* AND, ORR, EOR and their like */
    AARCH64_MOVE,
    AARCH64_MEMORY, /* loads and stores of one register; its opcode is aarch64_access() */
    AARCH64_PAIR,   /* ... of two */
};

enum aarch64_number {
    AARCH64_NO_NUMBER,
    AARCH64_NUMBER_ADDED,    /* of ADD, SUB */
    AARCH64_NUMBER_MASK,     /* of AND, ORR, EOR: a pattern of bits */
    AARCH64_NUMBER_MOVED,    /* of MOVZ, MOVN, MOVK */
    AARCH64_NUMBER_BITS,     /* of UBFM, SBFM, BFM: shifts, extensions; in the shape as it is */
    AARCH64_NUMBER_COMPARED, /* of CCMP, CCMN */
    AARCH64_NUMBER_NEAR,     /* of loads and stores: an offset of 9 bits */
    AARCH64_NUMBER_SCALED,   /* ... of 12 bits, times the size */
    AARCH64_NUMBER_PAIR,     /* ... of pairs: of 7 bits, times the size */
    AARCH64_NUMBER_ADDRESS,  /* of ADR, ADRP */
    AARCH64_NUMBER_LITERAL,  /* of loads of literals */
    AARCH64_TARGET,          /* of B, BL */
    AARCH64_TARGET_IF,       /* of B.cond, with its condition */
    AARCH64_TARGET_ZERO,     /* of CBZ, CBNZ */
    AARCH64_TARGET_BIT,      /* of TBZ, TBNZ */
    AARCH64_TARGET_COMPARED, /* of CB<cc> */
    AARCH64_NUMBERS,
};

/* One class of encodings: all words for which word & mask is value. */
struct aarch64_encoding {
    uint32_t mask;
    uint32_t value;
    uint32_t opcode; /* the bits that tell the mnemonic */
    uint8_t d;       /* enum aarch64_register: bits 0 to 4 */
    uint8_t n;       /* ... bits 5 to 9 */
    uint8_t m;       /* ... bits 16 to 20 */
    uint8_t a;       /* ... bits 10 to 14 */
    uint8_t family;  /* enum aarch64_family */
    uint8_t number;  /* enum aarch64_number */
};

#define AARCH64_PAGE_MASK UINT64_C(0xfff)

#define AARCH64_D(word) ((word)&31u)
#define AARCH64_N(word) ((word) >> 5 & 31u)
#define AARCH64_A(word) ((word) >> 10 & 31u)
#define AARCH64_M(word) ((word) >> 16 & 31u)

/* The class of any word. Those that are not known have one of their own, with three registers.
 * Constant time. */
const struct aarch64_encoding *aarch64_encoding_of(uint32_t word);

/* The bits of a number that are not compared as they are: those of the number, the form of an
 * offset (LDR, LDUR), and whether a condition is negated. */
uint32_t aarch64_number_bits(enum aarch64_number number);

/* ... and of these, the ones that say where a target is. */
uint32_t aarch64_target_bits(enum aarch64_number number);

/* What a word of AARCH64_MEMORY does, the same for all forms of addresses: bits of the opcode. */
uint32_t aarch64_access(uint32_t word);

/* The bytes that a load or store reads or writes of one register, as a power of 2. */
unsigned aarch64_access_scale(const struct aarch64_encoding *encoding, uint32_t word);

/* The general registers that a word writes: a bit for each. Those that a call's function writes are
 * not its own, and neither are the status of exclusive stores and what atomic operations load. */
uint32_t aarch64_written(uint32_t word);

/* The page or address that ADR or ADRP computes at an address. */
uint64_t aarch64_address(uint32_t word, uint64_t address);

/* The number that AND, ORR or EOR has: a pattern of ones that is rotated and repeated. False if the
 * encoding is reserved. */
bool aarch64_mask_number(uint32_t word, uint64_t *number);

/* The signed number in bits low .. low + width - 1. */
static inline int64_t aarch64_signed(uint32_t word, unsigned low, unsigned width)
{
    return (int32_t)(word << (32 - low - width)) >> (32 - width);
}
