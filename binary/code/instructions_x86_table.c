/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Decodes common x86-64 instructions by opcode maps, which say what bytes follow an opcode. Their
 * layout is that of the manual (Intel SDM, volume 2, appendix A). An opcode has a letter only if
 * all its encodings are instructions, whatever the ModRM byte is; group_shape() decides the
 * exceptions. All else is left to Zydis: x87, VEX, EVEX, privileged and rare instructions, prefixes
 * in unusual places.
 */
#include <string.h>

#include "instructions_x86.h"
#include "spec/little_endian.h"

#define LENGTH_MAX 15u

/* --- Shapes of instructions ------------------------------------------------------------------- */

/* What follows an opcode, and the instruction's kind. */
struct shape {
    _Alignas(8) bool has_modrm; /* an element of 8 bytes is found without a multiplication */
    uint8_t number_size;        /* bytes of an immediate: 1, 4 or 8; fewer for smaller operands */
    bool has_no_sign;
    bool is_target; /* the number is a branch's distance */
    bool is_bare;   /* with prefixes other than REX it is left to Zydis */
    uint8_t kind;   /* enum bat_instruction_kind */
};

/* Letters of the maps. */
enum {
    UNKNOWN = '.',
    PREFIX = 'p',
    GROUP = 'g', /* depends on the next byte, or on prefixes */
    NOTHING = '-',
    MODRM = 'm',
    MODRM_BYTE = 'b',  /* ModRM and a byte */
    MODRM_COUNT = 'c', /* ModRM and a byte without sign */
    MODRM_WORD = 'w',  /* ModRM and four bytes, or two */
    BYTE = 'B',
    WORD = 'W',
    MOVE = 'V', /* four bytes, eight or two */
    NOP = 'n',
    MODRM_NOP = 'N',
    CONDITIONAL_NEAR = 'j',
    CONDITIONAL = 'J',
    JUMP_NEAR = 'y',
    JUMP = 'Y',
    CALL = 'C',
    MODRM_CALL = 'D',
    RETURN = 'r',
};

static const struct shape shapes[] = {
    [NOTHING] = {0},
    [MODRM] = {.has_modrm = true},
    [MODRM_BYTE] = {.has_modrm = true, .number_size = 1},
    [MODRM_COUNT] = {.has_modrm = true, .number_size = 1, .has_no_sign = true},
    [MODRM_WORD] = {.has_modrm = true, .number_size = 4},
    [BYTE] = {.number_size = 1},
    [WORD] = {.number_size = 4},
    [MOVE] = {.number_size = 8},
    [NOP] = {.is_bare = true, .kind = BAT_INSTRUCTION_NOP},
    [MODRM_NOP] = {.has_modrm = true, .kind = BAT_INSTRUCTION_NOP},
    [CONDITIONAL_NEAR] = {.number_size = 1,
                          .is_target = true,
                          .is_bare = true,
                          .kind = BAT_INSTRUCTION_CONDITIONAL},
    [CONDITIONAL] = {.number_size = 4,
                     .is_target = true,
                     .is_bare = true,
                     .kind = BAT_INSTRUCTION_CONDITIONAL},
    [JUMP_NEAR] = {.number_size = 1,
                   .is_target = true,
                   .is_bare = true,
                   .kind = BAT_INSTRUCTION_JUMP},
    [JUMP] = {.number_size = 4, .is_target = true, .is_bare = true, .kind = BAT_INSTRUCTION_JUMP},
    [CALL] = {.number_size = 4, .is_target = true, .is_bare = true, .kind = BAT_INSTRUCTION_CALL},
    [MODRM_CALL] = {.has_modrm = true, .is_bare = true, .kind = BAT_INSTRUCTION_INDIRECT_CALL},
    [RETURN] = {.is_bare = true, .kind = BAT_INSTRUCTION_RETURN},
};

/* --- Opcode maps ------------------------------------------------------------------------------ */

static const char one_byte[] =
    /*0123456789abcdef */
    "mmmmBW..mmmmBW.."  /* 0x */
    "mmmmBW..mmmmBW.."  /* 1x */
    "mmmmBWp.mmmmBWp."  /* 2x */
    "mmmmBWp.mmmmBWp."  /* 3x */
    "................"  /* 4x: REX */
    "----------------"  /* 5x */
    "...mppp.WwBb...."  /* 6x */
    "jjjjjjjjjjjjjjjj"  /* 7x */
    "bw.bmmmmmmmm.g.."  /* 8x */
    "g---------.---.."  /* 9x */
    "....----BW------"  /* ax */
    "BBBBBBBBVVVVVVVV"  /* bx */
    "cc.r..gg.-..-..."  /* cx */
    "mmmm............"  /* dx */
    "........CY.y...."  /* ex */
    "..pp.-gg--..--gg"; /* fx */

static const char two_bytes[] =
    /*0123456789abcdef */
    "................"  /* 0x */
    "mmggmmgg.......N"  /* 1x */
    "........mmmgmmmm"  /* 2x */
    "................"  /* 3x */
    "mmmmmmmmmmmmmmmm"  /* 4x */
    ".mmmmmmmmmmmmmmm"  /* 5x */
    "mmmmmmmmmmmmmmmm"  /* 6x */
    "c...mmm.......mm"  /* 7x */
    "JJJJJJJJJJJJJJJJ"  /* 8x */
    "mmmmmmmmmmmmmmmm"  /* 9x */
    "..-mcm.....mcm.m"  /* ax */
    "mm.m..mm..gmmmmm"  /* bx */
    "mmc...c.--------"  /* cx */
    "mmmmmmm.mmmmmmmm"  /* dx */
    "mmmmmmmgmmmmmmmm"  /* ex */
    ".mmmmmm.mmmmmmm."; /* fx */

/* Prefixes that belong to the opcode, for opcodes of two bytes. */
enum {
    MANDATORY_NONE = 1,
    MANDATORY_66 = 2,
    MANDATORY_F3 = 4,
    MANDATORY_F2 = 8,
};

/* For each opcode of two bytes, the prefixes with which it is valid, as a hexadecimal digit. */
static const char mandatory_of[] =
    /*0123456789abcdef */
    "0000000000000000"  /* 0x */
    "ff33333300000003"  /* 1x */
    "0000000033f3ff33"  /* 2x */
    "0000000000000000"  /* 3x */
    "3333333333333333"  /* 4x */
    "0f553333fff7ffff"  /* 5x */
    "3333333333332237"  /* 6x */
    "f000333000000077"  /* 7x */
    "1111111111111111"  /* 8x */
    "1111111111111111"  /* 9x */
    "0013330000033303"  /* ax */
    "3303003300333333"  /* bx */
    "33f0003011111111"  /* cx */
    "a333332033333333"  /* dx */
    "333333e333333333"  /* ex */
    "0333333033333330"; /* fx */

static unsigned hex(char digit)
{
    return (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

/* --- Instructions ----------------------------------------------------------------------------- */

/* Where the parts of an instruction are, of which LENGTH_MAX bytes can be read. */
struct layout {
    const struct shape *shape;
    uint8_t modrm; /* 0 if there is none */
    size_t operand_at;
    size_t number_at;
    size_t length;
};

/* The meaning of a prefix for the opcode. */
static unsigned mandatory_by(uint8_t prefix)
{
    return prefix == 0x66   ? MANDATORY_66
           : prefix == 0xf2 ? MANDATORY_F2
           : prefix == 0xf3 ? MANDATORY_F3
                            : MANDATORY_NONE; /* a segment */
}

/* The letter of a one-byte opcode with the letter GROUP. */
static int group_shape(uint8_t opcode, uint8_t rex, uint8_t modrm)
{
    uint8_t extension = modrm >> 3 & 7;
    switch (opcode) {
    case 0x8d: /* LEA */
        return modrm >> 6 == X86_MOD_REGISTER ? UNKNOWN : MODRM;
    case 0x90: /* NOP; with REX it may be XCHG */
        return rex ? UNKNOWN : NOP;
    case 0xc6: /* MOV */
        return extension == 0 ? MODRM_BYTE : UNKNOWN;
    case 0xc7:
        return extension == 0 ? MODRM_WORD : UNKNOWN;
    case 0xf6: /* TEST; NOT, NEG, MUL, IMUL, DIV, IDIV */
        return extension == 0 ? MODRM_BYTE : extension > 1 ? MODRM : UNKNOWN;
    case 0xf7:
        return extension == 0 ? MODRM_WORD : extension > 1 ? MODRM : UNKNOWN;
    case 0xfe: /* INC, DEC */
        return extension <= 1 ? MODRM : UNKNOWN;
    default: /* 0xff: INC, DEC, CALL, PUSH */
        return extension == 2 ? MODRM_CALL : extension <= 1 || extension == 6 ? MODRM : UNKNOWN;
    }
}

/* The letter of a two-byte opcode with the letter GROUP. */
static int group_shape_of_two(uint8_t opcode, uint8_t modrm)
{
    if (opcode == 0xba) /* BT, BTS, BTR, BTC */
        return (modrm >> 3 & 7) >= 4 ? MODRM_COUNT : UNKNOWN;
    return modrm >> 6 == X86_MOD_REGISTER ? UNKNOWN : MODRM;
}

/* The letter of the opcode at *at, which moves behind it. */
static inline int read_opcode(const uint8_t *bytes, size_t *at, unsigned mandatory, uint8_t rex)
{
    uint8_t opcode = bytes[(*at)++];
    if (opcode != 0x0f)
        return one_byte[opcode] == GROUP ? group_shape(opcode, rex, bytes[*at]) : one_byte[opcode];
    opcode = bytes[(*at)++];
    if (!(hex(mandatory_of[opcode]) & mandatory))
        return UNKNOWN;
    return two_bytes[opcode] == GROUP ? group_shape_of_two(opcode, bytes[*at]) : two_bytes[opcode];
}

/* The letter of the opcode behind a prefix. */
static int read_prefixed(const uint8_t *bytes, size_t *at, unsigned *mandatory, uint8_t *rex)
{
    *mandatory = mandatory_by(bytes[0]);
    if ((bytes[1] & 0xf0) == 0x40)
        *rex = bytes[(*at)++];
    const bool is_one_byte = bytes[*at] != 0x0f;
    const int letter = read_opcode(bytes, at, *mandatory, *rex);
    if (letter == UNKNOWN || letter == PREFIX || (is_one_byte && *mandatory > MANDATORY_66) ||
        shapes[(size_t)letter].is_bare)
        return UNKNOWN;
    return letter;
}

/* The bytes behind a ModRM byte that belong to its memory operand, with a SIB byte for rm 4. */
static const uint8_t memory_sizes[] = {0, 0, 0, 0, 1, 4, 0, 0,  /* mod 0 */
                                       1, 1, 1, 1, 2, 1, 1, 1,  /* mod 1 */
                                       4, 4, 4, 4, 5, 4, 4, 4,  /* mod 2 */
                                       0, 0, 0, 0, 0, 0, 0, 0}; /* mod 3 */

/* Branches, which have four bytes whatever is in front of them, have no prefixes here. */
static inline size_t number_size(const struct shape *shape, unsigned mandatory, uint8_t rex)
{
    if (shape->number_size < 4 || (rex & X86_REX_W))
        return shape->number_size;
    return mandatory == MANDATORY_66 ? 2 : 4;
}

/* False for instructions with several prefixes, and others that Zydis has to decode. */
static inline bool lay_out(const uint8_t *bytes, struct layout *layout)
{
    size_t at = 0;
    unsigned mandatory = MANDATORY_NONE;
    uint8_t rex = 0;
    if ((bytes[0] & 0xf0) == 0x40)
        rex = bytes[at++];
    int letter = read_opcode(bytes, &at, MANDATORY_NONE, rex);
    if (letter == PREFIX && !rex) {
        /* Copies: what a function gets the address of would be in memory for all instructions. */
        size_t prefixed_at = at;
        unsigned prefixed_mandatory;
        uint8_t prefixed_rex = 0;
        letter = read_prefixed(bytes, &prefixed_at, &prefixed_mandatory, &prefixed_rex);
        at = prefixed_at;
        mandatory = prefixed_mandatory;
        rex = prefixed_rex;
    }
    if (letter == UNKNOWN || letter == PREFIX)
        return false;
    const struct shape *shape = &shapes[(size_t)letter];
    *layout = (struct layout){.shape = shape, .operand_at = at};
    if (shape->has_modrm) {
        layout->modrm = bytes[at++];
        layout->operand_at = at;
        at += memory_sizes[(layout->modrm >> 3 & 0x18) | (layout->modrm & 7)];
        if ((layout->modrm & 0xc7) == X86_RM_SIB && (bytes[layout->operand_at] & 7) == X86_RM_RIP)
            at += 4;
    }
    layout->number_at = at;
    layout->length = at + number_size(shape, mandatory, rex);
    return true;
}

/* True for instructions after which control goes on. */
static inline bool passes(const struct shape *shape, bool passes_calls)
{
    switch (shape->kind) {
    case BAT_INSTRUCTION_OTHER:
    case BAT_INSTRUCTION_NOP:
        return true;
    case BAT_INSTRUCTION_CALL:
    case BAT_INSTRUCTION_INDIRECT_CALL:
        return passes_calls;
    default:
        return false;
    }
}

static inline size_t skip(const uint8_t *bytes, size_t size, bool passes_calls)
{
    size_t at = 0;
    struct layout layout;
    while (size - at >= LENGTH_MAX && lay_out(bytes + at, &layout) &&
           passes(layout.shape, passes_calls))
        at += layout.length;
    return at;
}

size_t instructions_skip_x86(const uint8_t *bytes, size_t size)
{
    return skip(bytes, size, true);
}

size_t instructions_skip_plain_x86(const uint8_t *bytes, size_t size)
{
    return skip(bytes, size, false);
}

/* A signed number of 0, 1, 2, 4 or 8 bytes. */
static inline uint64_t read_number(const uint8_t *bytes, size_t size)
{
    if (size <= 1)
        return size == 0 ? 0 : (uint64_t)(int8_t)bytes[0];
    if (size == 4)
        return (uint64_t)(int32_t)bat_load32(bytes);
    return size == 2 ? (uint64_t)(int16_t)bat_load16(bytes) : bat_load64(bytes);
}

static inline bool decode(const uint8_t *bytes, size_t size, uint64_t address,
                          struct bat_instruction *instruction)
{
    struct layout layout;
    if (!lay_out(bytes, &layout) || layout.length > size)
        return false;
    uint64_t next = address + layout.length;
    uint64_t number = read_number(bytes + layout.number_at, layout.length - layout.number_at);
    *instruction =
        (struct bat_instruction){.length = (uint8_t)layout.length, .kind = layout.shape->kind};
    if (layout.shape->is_target)
        instruction->target = next + number;
    else
        instruction->immediate = layout.shape->has_no_sign ? (uint8_t)number : number;
    if ((layout.modrm & 0xc7) == X86_RM_RIP) {
        instruction->has_reference = true;
        instruction->reference = next + read_number(bytes + layout.operand_at, 4);
    }
    return true;
}

/* Near the end of the code. Not inline: an array on the stack costs each call some time. */
static __attribute__((noinline)) bool decode_last(const uint8_t *bytes, size_t size,
                                                  uint64_t address,
                                                  struct bat_instruction *instruction)
{
    uint8_t padded[LENGTH_MAX] = {0};
    memcpy(padded, bytes, size);
    return decode(padded, size, address, instruction);
}

bool x86_decode_by_table(const uint8_t *bytes, size_t size, uint64_t address,
                         struct bat_instruction *instruction)
{
    return size < LENGTH_MAX ? decode_last(bytes, size, address, instruction)
                             : decode(bytes, LENGTH_MAX, address, instruction);
}
