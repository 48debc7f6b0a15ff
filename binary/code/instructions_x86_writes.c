/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Finds the registers that a common x86-64 instruction writes, by opcode maps with the layout of
 * those in instructions_x86_table.c.
 */
#include "instructions_x86.h"

#define RAX 0u
#define RSP 4u

/* Letters of the maps. */
enum {
    UNKNOWN = '.',
    NONE = '-',
    OPERAND = 'e', /* the ModRM byte's operand, if it is a register */
    OPERAND_BYTE = 'b',
    REGISTER = 'r', /* the ModRM byte's register */
    REGISTER_BYTE = 'q',
    OPCODE = 'o', /* the register in the opcode's lowest bits */
    OPCODE_BYTE = 'p',
    ACCUMULATOR = 'a',
    STACK = 's',
    POP = 'u', /* OPCODE and STACK */
    GROUP = 'g',
};

static const char one_byte[] =
    /*0123456789abcdef */
    "beqraa..beqraa.."  /* 0x */
    "beqraa..beqraa.."  /* 1x */
    "beqraa..beqraa.."  /* 2x */
    "beqraa..------.."  /* 3x */
    "................"  /* 4x */
    "ssssssssuuuuuuuu"  /* 5x */
    "...r....srsr...."  /* 6x */
    "----------------"  /* 7x */
    "gg.g--..beqr.r.."  /* 8x */
    "-.......a......."  /* 9x */
    "........--......"  /* ax */
    "ppppppppoooooooo"  /* bx */
    "be.s..be........"  /* cx */
    "bebe............"  /* dx */
    "........s-.-...."  /* ex */
    ".....-gg--..--bg"; /* fx */

static const char two_bytes[] =
    /*0123456789abcdef */
    "................"  /* 0x */
    "--------.......-"  /* 1x */
    "........----..--"  /* 2x */
    "................"  /* 3x */
    "rrrrrrrrrrrrrrrr"  /* 4x */
    ".---------------"  /* 5x */
    "----------------"  /* 6x */
    "-...---........-"  /* 7x */
    "----------------"  /* 8x */
    "bbbbbbbbbbbbbbbb"  /* 9x */
    "...-ee.....eee.r"  /* ax */
    "...e..rr..gerrrr"  /* bx */
    "..-...-.oooooooo"  /* cx */
    "-------.--------"  /* dx */
    "----------------"  /* ex */
    ".------.-------."; /* fx */

/* The letter of an opcode whose ModRM byte has opcode bits in its middle. */
static int group_letter(uint8_t opcode, bool is_two_bytes, uint8_t modrm)
{
    uint8_t extension = modrm >> 3 & 7;
    if (is_two_bytes) /* BT, BTS, BTR, BTC */
        return extension == 4 ? NONE : OPERAND;
    switch (opcode) {
    case 0x80: /* CMP is the last of them */
        return extension == 7 ? NONE : OPERAND_BYTE;
    case 0x81:
    case 0x83:
        return extension == 7 ? NONE : OPERAND;
    case 0xf6: /* TEST; NOT, NEG; others write two registers */
        return extension == 0 ? NONE : extension <= 3 ? OPERAND_BYTE : UNKNOWN;
    case 0xf7:
        return extension == 0 ? NONE : extension <= 3 ? OPERAND : UNKNOWN;
    default: /* 0xff: INC, DEC; CALL, PUSH */
        return extension <= 1 ? OPERAND : STACK;
    }
}

/* Without a REX prefix, byte registers 4 to 7 are AH to BH. */
static unsigned byte_register(unsigned number, uint8_t rex)
{
    return rex == 0 && number >= 4 ? number - 4 : number;
}

static uint16_t registers_of(int letter, uint8_t rex, uint8_t opcode, uint8_t modrm)
{
    unsigned in_opcode = (opcode & 7u) | (rex & X86_REX_B ? 8u : 0);
    unsigned operand = (modrm & 7u) | (rex & X86_REX_B ? 8u : 0);
    unsigned other = (modrm >> 3 & 7u) | (rex & X86_REX_R ? 8u : 0);
    bool is_register = modrm >> 6 == X86_MOD_REGISTER;
    switch (letter) {
    case OPERAND:
        return (uint16_t)(is_register ? 1u << operand : 0u);
    case OPERAND_BYTE:
        return (uint16_t)(is_register ? 1u << byte_register(operand, rex) : 0u);
    case REGISTER:
        return (uint16_t)(1u << other);
    case REGISTER_BYTE:
        return (uint16_t)(1u << byte_register(other, rex));
    case OPCODE:
        return (uint16_t)(1u << in_opcode);
    case OPCODE_BYTE:
        return (uint16_t)(1u << byte_register(in_opcode, rex));
    case ACCUMULATOR:
        return 1u << RAX;
    case STACK:
        return 1u << RSP;
    case POP:
        return (uint16_t)(1u << in_opcode | 1u << RSP);
    default:
        return 0;
    }
}

/* True for instructions that a jump through a table may start with: registers.c. */
static bool may_be_of_table(uint8_t opcode, uint8_t rex, uint8_t modrm)
{
    bool is_register = modrm >> 6 == X86_MOD_REGISTER;
    switch (opcode) {
    case 0x01: /* ADD */
        return is_register && (rex & X86_REX_W);
    case 0x63: /* MOVSXD */
        return !is_register;
    case 0x8b: /* MOV */
        return (modrm & 0xc7) == X86_RM_SIB;
    case 0x8d: /* LEA */
        return (modrm & 0xc7) == X86_RM_RIP;
    default:
        return false;
    }
}

bool x86_registers_lost(const uint8_t *bytes, size_t size, uint16_t *registers)
{
    struct bat_instruction instruction;
    if (!x86_decode_by_table(bytes, size, 0, &instruction))
        return false;
    /* Only prefixes precede the opcode; otherwise the table would not have decoded it. */
    size_t at = 0;
    while (x86_is_prefix(bytes[at]))
        at++;
    uint8_t rex = (bytes[at] & 0xf0) == 0x40 ? bytes[at++] : 0;
    bool is_two_bytes = bytes[at] == 0x0f;
    at += is_two_bytes;
    uint8_t opcode = bytes[at];
    uint8_t modrm = at + 1 < instruction.length ? bytes[at + 1] : 0;
    if (!is_two_bytes && may_be_of_table(opcode, rex, modrm))
        return false;
    int letter = (uint8_t)(is_two_bytes ? two_bytes : one_byte)[opcode];
    if (letter == GROUP)
        letter = group_letter(opcode, is_two_bytes, modrm);
    *registers = registers_of(letter, rex, opcode, modrm);
    return letter != UNKNOWN;
}
