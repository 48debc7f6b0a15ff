/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Chooses the decoder of a machine, and finds returns (instructions.h). */
#include "instructions.h"

#include <elf.h>

bool bat_instruction_decode(uint16_t machine, const uint8_t *bytes, size_t size, uint64_t address,
                            struct bat_instruction *instruction)
{
    switch (machine) {
    case EM_X86_64:
        return instruction_decode_x86(bytes, size, address, instruction);
    case EM_AARCH64:
        return instruction_decode_aarch64(bytes, size, address, instruction);
    case EM_RISCV:
        return instruction_decode_riscv(bytes, size, address, instruction);
    default:
        return false;
    }
}

size_t bat_instructions_skip(uint16_t machine, const uint8_t *bytes, size_t size)
{
    return machine == EM_X86_64 ? instructions_skip_x86(bytes, size) : 0;
}

size_t bat_instructions_skip_plain(uint16_t machine, const uint8_t *bytes, size_t size)
{
    return machine == EM_X86_64 ? instructions_skip_plain_x86(bytes, size) : 0;
}

/* --- Returns ------------------------------------------------------------------------------ */

#define X86_LENGTH_MAX 15u

static bool is_x86_prefix(uint8_t byte)
{
    switch (byte) {
    case 0x26: /* segments */
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:
    case 0x66: /* operand and address size */
    case 0x67:
    case 0xf0: /* LOCK */
    case 0xf2: /* REPNZ, BND */
    case 0xf3: /* REPZ */
        return true;
    default:
        return (byte & 0xf0) == 0x40; /* REX */
    }
}

static bool is_x86_return_opcode(uint8_t byte)
{
    return byte == 0xc3 || byte == 0xc2 || byte == 0xcb || byte == 0xca || byte == 0xcf;
}

/* The opcode byte answers most queries; only a possible return is decoded. */
static bool is_x86_return(const uint8_t *bytes, size_t size)
{
    size_t opcode = 0;
    size_t limit = size < X86_LENGTH_MAX ? size : X86_LENGTH_MAX;
    while (opcode < limit && is_x86_prefix(bytes[opcode]))
        opcode++;
    struct bat_instruction instruction;
    return opcode < limit && is_x86_return_opcode(bytes[opcode]) &&
           instruction_decode_x86(bytes, size, 0, &instruction) &&
           instruction.kind == BAT_INSTRUCTION_RETURN;
}

bool bat_is_return(uint16_t machine, const uint8_t *bytes, size_t size)
{
    if (machine == EM_X86_64)
        return is_x86_return(bytes, size);
    struct bat_instruction instruction;
    return bat_instruction_decode(machine, bytes, size, 0, &instruction) &&
           instruction.kind == BAT_INSTRUCTION_RETURN;
}
