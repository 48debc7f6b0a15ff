/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Decodes branches of RISC-V. Encodings are from "The RISC-V Instruction Set Manual, Volume I",
 * chapters "RV32I" and "C Standard Extension". An instruction is one or two little-endian halves of
 * 2 bytes; there are two if the lowest two bits of the first are 3.
 */
#include "instructions.h"
#include "spec/little_endian.h"

/* The registers that hold a return address. */
enum { REGISTER_RA = 1, REGISTER_T0 = 5 };

static bool is_link(uint32_t number)
{
    return number == REGISTER_RA || number == REGISTER_T0;
}

/* The lowest `width` bits of value as a signed number. */
static uint64_t extend(uint32_t value, unsigned width)
{
    uint64_t sign = UINT64_C(1) << (width - 1);
    return ((uint64_t)value ^ sign) - sign;
}

/* The bits from high down to low of word, shifted so that the lowest is bit `to`. */
static uint32_t bits(uint32_t word, unsigned high, unsigned low, unsigned to)
{
    return (word >> low & ((UINT32_C(1) << (high - low + 1)) - 1)) << to;
}

/* --- Four bytes --------------------------------------------------------------------------- */

/* A jump through a register is a return, a call or neither, by the manual's hints. */
static uint8_t register_jump_kind(uint32_t kept, uint32_t target)
{
    if (kept != 0)
        return BAT_INSTRUCTION_INDIRECT_CALL;
    return is_link(target) ? BAT_INSTRUCTION_RETURN : BAT_INSTRUCTION_INDIRECT_JUMP;
}

static void decode_word(uint32_t word, uint64_t address, struct bat_instruction *instruction)
{
    uint32_t kept = bits(word, 11, 7, 0);
    switch (word & 0x7f) {
    case 0x6f: /* JAL */
        instruction->kind = kept == 0 ? BAT_INSTRUCTION_JUMP : BAT_INSTRUCTION_CALL;
        instruction->target = address + extend(bits(word, 31, 31, 20) | bits(word, 19, 12, 12) |
                                                   bits(word, 20, 20, 11) | bits(word, 30, 21, 1),
                                               21);
        break;
    case 0x67: /* JALR */
        instruction->kind = register_jump_kind(kept, bits(word, 19, 15, 0));
        break;
    case 0x63: /* BEQ, BNE, BLT, BGE, BLTU, BGEU */
        instruction->kind = BAT_INSTRUCTION_CONDITIONAL;
        instruction->target = address + extend(bits(word, 31, 31, 12) | bits(word, 7, 7, 11) |
                                                   bits(word, 30, 25, 5) | bits(word, 11, 8, 1),
                                               13);
        break;
    case 0x73:
        if (word == 0x10200073 || word == 0x30200073) /* SRET, MRET */
            instruction->kind = BAT_INSTRUCTION_RETURN;
        else if (word == 0x00100073) /* EBREAK */
            instruction->kind = BAT_INSTRUCTION_TRAP;
        break;
    case 0x13:
        if (word == 0x00000013) /* ADDI x0, x0, 0 */
            instruction->kind = BAT_INSTRUCTION_NOP;
        break;
    default:
        break;
    }
}

/* --- Two bytes ---------------------------------------------------------------------------- */

/* C.JR, C.JALR, C.EBREAK: encoded as C.MV and C.ADD with x0 as the second operand. */
static void decode_compressed_register(uint32_t half, struct bat_instruction *instruction)
{
    uint32_t target = bits(half, 11, 7, 0);
    if (bits(half, 6, 2, 0) != 0)
        return;
    bool keeps = bits(half, 12, 12, 0);
    if (target == 0)
        instruction->kind = keeps ? BAT_INSTRUCTION_TRAP : BAT_INSTRUCTION_OTHER;
    else
        instruction->kind = register_jump_kind(keeps ? REGISTER_RA : 0, target);
}

static void decode_half(uint32_t half, uint64_t address, struct bat_instruction *instruction)
{
    switch (half & 0xe003) {
    case 0xa001: /* C.J */
        instruction->kind = BAT_INSTRUCTION_JUMP;
        instruction->target =
            address + extend(bits(half, 12, 12, 11) | bits(half, 11, 11, 4) | bits(half, 10, 9, 8) |
                                 bits(half, 8, 8, 10) | bits(half, 7, 7, 6) | bits(half, 6, 6, 7) |
                                 bits(half, 5, 3, 1) | bits(half, 2, 2, 5),
                             12);
        break;
    case 0xc001: /* C.BEQZ */
    case 0xe001: /* C.BNEZ */
        instruction->kind = BAT_INSTRUCTION_CONDITIONAL;
        instruction->target =
            address + extend(bits(half, 12, 12, 8) | bits(half, 11, 10, 3) | bits(half, 6, 5, 6) |
                                 bits(half, 4, 3, 1) | bits(half, 2, 2, 5),
                             9);
        break;
    case 0x8002:
        decode_compressed_register(half, instruction);
        break;
    case 0x0001:
        if (half == 0x0001) /* C.NOP */
            instruction->kind = BAT_INSTRUCTION_NOP;
        break;
    default:
        break;
    }
}

bool instruction_decode_riscv(const uint8_t *bytes, size_t size, uint64_t address,
                              struct bat_instruction *instruction)
{
    if (size < 2)
        return false;
    uint32_t half = bat_load16(bytes);
    bool is_word = (half & 3) == 3;
    /* Zeros are no instruction; instructions of more than 4 bytes are reserved. */
    if (half == 0 || (is_word && (size < 4 || (half & 0x1f) == 0x1f)))
        return false;
    *instruction = (struct bat_instruction){.length = is_word ? 4 : 2};
    if (is_word)
        decode_word(bat_load32(bytes), address, instruction);
    else
        decode_half(half, address, instruction);
    return true;
}
