/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Decodes x86-64 instructions by opcode maps and with Zydis. Internal to binary/code/. */
#pragma once

#include <Zydis/Zydis.h>

#include "instructions.h"

/*
 * ModRM and SIB values with a special meaning (Intel SDM, volume 2, tables 2-2 and 2-3); REX bits.
 */
enum {
    X86_MOD_REGISTER = 3, /* the operand is a register, not memory */
    X86_RM_SIB = 4,       /* a SIB byte follows */
    X86_RM_RIP = 5,       /* with mod 0: relative to the next instruction */
    X86_SIB_NO_INDEX = 4, /* unless REX.X is set */
    X86_SIB_NO_BASE = 5,  /* with mod 0, whatever REX.B is */
    X86_SIB_SCALE_8 = 8,
    X86_REX_W = 8,
};

/* For LLVM, a LOCK prefix in first place is an instruction by itself. */
#define X86_LOCK_PREFIX 0xf0

/*
 * True if there is a segment prefix, also one without meaning in 64-bit mode or NOTRACK. BOLT does
 * not recognize a jump table in instructions with one.
 */
static inline bool x86_has_segment_prefix(const ZydisDecodedInstruction *decoded)
{
    for (ZyanU8 i = 0; i < decoded->raw.prefix_count; i++) {
        ZyanU8 value = decoded->raw.prefixes[i].value;
        bool is_old = (value & 0xe7) == 0x26; /* ES, CS, SS, DS */
        if (is_old || value == 0x64 || value == 0x65)
            return true;
    }
    return false;
}

/*
 * Decode a common instruction, in a tenth of Zydis' time. False for others and truncated ones: use
 * Zydis. The result is the same as by Zydis.
 */
bool x86_decode_by_table(const uint8_t *bytes, size_t size, uint64_t address,
                         struct bat_instruction *instruction);

/* Decode any instruction with Zydis. */
bool x86_decode_by_zydis(const uint8_t *bytes, size_t size, uint64_t address,
                         struct bat_instruction *instruction);

/* True for LEAVE, and POP of any operand. */
bool x86_is_pop(const uint8_t *bytes, size_t size);
