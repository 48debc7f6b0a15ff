/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "encodings_aarch64.h"

enum {
    NONE = AARCH64_NONE,
    R = AARCH64_GENERAL,
    Z = AARCH64_ALIAS,
    S = AARCH64_STACK,
    V = AARCH64_VECTOR,
};

/* --- The classes -----------------------------------------------------------------------------
 * The first that fits counts. Columns: mask, value, opcode; registers d, n, m, a; family, number.
 */

/* Data processing with numbers. */
static const struct aarch64_encoding immediates[] = {
    /* ADR, ADRP: one mnemonic, because linkers replace ADRP by ADR. */
    {0x1f000000, 0x10000000, 0, R, 0, 0, 0, 0, AARCH64_NUMBER_ADDRESS},
    /* ADD, SUB; ADDS, SUBS */
    {0x3f800000, 0x11000000, 0x60000000, S, S, 0, 0, AARCH64_ADD, AARCH64_NUMBER_ADDED},
    {0x3f800000, 0x31000000, 0x60000000, Z, S, 0, 0, AARCH64_ADD, AARCH64_NUMBER_ADDED},
    /* ANDS; AND, ORR, EOR */
    {0x7f800000, 0x72000000, 0x60000000, Z, Z, 0, 0, AARCH64_LOGICAL, AARCH64_NUMBER_MASK},
    {0x1f800000, 0x12000000, 0x60000000, S, Z, 0, 0, AARCH64_LOGICAL, AARCH64_NUMBER_MASK},
    /* MOVK; MOVZ, MOVN */
    {0x7f800000, 0x72800000, 0, R, 0, 0, 0, 0, AARCH64_NUMBER_MOVED},
    {0x1f800000, 0x12800000, 0, R, 0, 0, 0, AARCH64_MOVE, AARCH64_NUMBER_MOVED},
    /* SBFM, BFM, UBFM */
    {0x1f800000, 0x13000000, 0x60000000, R, R, 0, 0, 0, AARCH64_NUMBER_BITS},
    /* EXTR */
    {0x1f800000, 0x13800000, 0x60000000, R, R, R, 0, 0, 0},
    {0, 0, 0xfffffc00, R, R, 0, 0, 0, 0},
};

/* Branches, exceptions, system. */
static const struct aarch64_encoding branches[] = {
    /* B.cond, BC.cond; CBZ, CBNZ; TBZ, TBNZ; CB<cc> */
    {0xff000000, 0x54000000, 0, 0, 0, 0, 0, 0, AARCH64_TARGET_IF},
    {0x7e000000, 0x34000000, 0, R, 0, 0, 0, 0, AARCH64_TARGET_ZERO},
    {0x7e000000, 0x36000000, 0, R, 0, 0, 0, 0, AARCH64_TARGET_BIT},
    {0x7e000000, 0x74000000, 0, R, 0, R, 0, 0, AARCH64_TARGET_COMPARED},
    /* B, BL */
    {0x7c000000, 0x14000000, 0x80000000, 0, 0, 0, 0, 0, AARCH64_TARGET},
    /* BRAA, BLRAA and their like; BR, BLR, RET and others with pointer authentication */
    {0xff000000, 0xd7000000, 0x00fffc00, S, R, 0, 0, 0, 0},
    {0xff000000, 0xd6000000, 0x00fffc1f, 0, R, 0, 0, 0, 0},
    /* SVC, BRK and their like */
    {0xff000000, 0xd4000000, 0x00e0001f, 0, 0, 0, 0, 0, 0},
    /* MSR, MRS; hints, barriers, SYS */
    {0xffd00000, 0xd5100000, 0x00200000, R, 0, 0, 0, 0, 0},
    {0xffc00000, 0xd5000000, 0x003fffe0, R, 0, 0, 0, 0, 0},
    {0, 0, 0xffffffe0, R, 0, 0, 0, 0, 0},
};

/* Loads and stores. */
static const struct aarch64_encoding accesses[] = {
    /* LDTR, STTR; LDNP, STNP */
    {0x3f200c00, 0x38000800, 0xc0c00000, R, S, 0, 0, 0, AARCH64_NUMBER_NEAR},
    {0x3f800000, 0x28000000, 0x40400000, R, S, 0, R, 0, AARCH64_NUMBER_PAIR},
    {0x3f800000, 0x2c000000, 0x00400000, V, S, 0, V, 0, AARCH64_NUMBER_PAIR},
    /* One register: offset of 12 bits, other offsets, register offset */
    {0x3f000000, 0x39000000, 0, R, S, 0, 0, AARCH64_MEMORY, AARCH64_NUMBER_SCALED},
    {0x3f000000, 0x3d000000, 0, V, S, 0, 0, AARCH64_MEMORY, AARCH64_NUMBER_SCALED},
    {0x3f200000, 0x38000000, 0, R, S, 0, 0, AARCH64_MEMORY, AARCH64_NUMBER_NEAR},
    {0x3f200000, 0x3c000000, 0, V, S, 0, 0, AARCH64_MEMORY, AARCH64_NUMBER_NEAR},
    {0x3f200c00, 0x38200800, 0, R, S, R, 0, AARCH64_MEMORY, 0},
    {0x3f200c00, 0x3c200800, 0, V, S, R, 0, AARCH64_MEMORY, 0},
    /* Two */
    {0x3e000000, 0x28000000, 0x44400000, R, S, 0, R, AARCH64_PAIR, AARCH64_NUMBER_PAIR},
    {0x3e000000, 0x2c000000, 0x04400000, V, S, 0, V, AARCH64_PAIR, AARCH64_NUMBER_PAIR},
    /* Literals: LDR of either size, LDRSW, PRFM; of vectors */
    {0xbf000000, 0x18000000, 0, R, 0, 0, 0, 0, AARCH64_NUMBER_LITERAL},
    {0xbf000000, 0x98000000, 0x40000000, R, 0, 0, 0, 0, AARCH64_NUMBER_LITERAL},
    {0x3f000000, 0x1c000000, 0, V, 0, 0, 0, 0, AARCH64_NUMBER_LITERAL},
    /* Exclusive and ordered ones, CAS */
    {0x3f000000, 0x08000000, 0xc0e08000, R, S, R, R, 0, 0},
    /* LDAPUR, STLUR; of tags */
    {0x3f200c00, 0x19000000, 0xc0c00000, R, S, 0, 0, 0, AARCH64_NUMBER_NEAR},
    {0xff200000, 0xd9200000, 0x00c00c00, S, S, 0, 0, 0, AARCH64_NUMBER_NEAR},
    /* Atomic operations; with pointer authentication */
    {0x3f200c00, 0x38200000, 0xc0c0f000, R, S, R, 0, 0, 0},
    {0xff200400, 0xf8200400, 0x00800800, R, S, 0, 0, 0, 0},
    /* Several vectors, their elements, the same with an increment */
    {0xbfbf0000, 0x0c000000, 0x0040f000, V, S, 0, 0, 0, 0},
    {0xbfa00000, 0x0c800000, 0x0040f000, V, S, R, 0, 0, 0},
    {0xbf9f0000, 0x0d000000, 0x0060e000, V, S, 0, 0, 0, 0},
    {0xbf800000, 0x0d800000, 0x0060e000, V, S, R, 0, 0, 0},
    {0, 0, 0xffe0fc00, R, S, R, 0, 0, 0},
};

/* Data processing with registers. */
static const struct aarch64_encoding registers[] = {
    /* ORR, AND, EOR, BIC, ORN, EON; ANDS, BICS */
    {0x7f000000, 0x6a000000, 0x60200000, Z, R, R, 0, AARCH64_LOGICAL, 0},
    {0x1f000000, 0x0a000000, 0x60200000, R, Z, R, 0, AARCH64_LOGICAL, 0},
    /* ADD, SUB; ADDS, SUBS; of an extended register */
    {0x3f200000, 0x0b000000, 0x60000000, R, Z, R, 0, AARCH64_ADD, 0},
    {0x3f200000, 0x2b000000, 0x60000000, Z, Z, R, 0, AARCH64_ADD, 0},
    {0x3f200000, 0x0b200000, 0x60000000, S, S, R, 0, AARCH64_ADD, 0},
    {0x3f200000, 0x2b200000, 0x60000000, Z, S, R, 0, AARCH64_ADD, 0},
    /* ADC, SBC */
    {0x1fe0fc00, 0x1a000000, 0x60000000, R, Z, R, 0, 0, 0},
    /* CCMP, CCMN */
    {0x1fe00800, 0x1a400000, 0x40000000, 0, R, R, 0, 0, 0},
    {0x1fe00800, 0x1a400800, 0x40000000, 0, R, 0, 0, 0, AARCH64_NUMBER_COMPARED},
    /* CSEL, CSINC, CSINV, CSNEG */
    {0x1fe00000, 0x1a800000, 0x40000400, R, Z, Z, 0, 0, 0},
    /* Two sources, one, three */
    {0x5fe00000, 0x1ac00000, 0x2000fc00, R, R, R, 0, 0, 0},
    {0x5fe00000, 0x5ac00000, 0x201ffc00, R, R, 0, 0, 0, 0},
    {0x1f000000, 0x1b000000, 0x60e08000, R, R, R, Z, 0, 0},
    {0, 0, 0xffe0fc00, R, R, R, 0, 0, 0},
};

/* Floating point and vectors. */
static const struct aarch64_encoding vectors[] = {
    /* Scalars: to and from integers, fixed point */
    {0x5f20fc00, 0x1e200000, 0x001f0000, V, V, 0, 0, 0, 0},
    {0x5f200000, 0x1e000000, 0x001f0000, V, V, 0, 0, 0, 0},
    /* One source; comparison; constant; conditional comparison; two sources; FCSEL; three */
    {0x5f207c00, 0x1e204000, 0x001f8000, V, V, 0, 0, 0, 0},
    {0x5f20fc00, 0x1e202000, 0x00000010, 0, V, V, 0, 0, 0},
    {0x5f201c00, 0x1e201000, 0, V, 0, 0, 0, 0, 0},
    {0x5f200c00, 0x1e200400, 0x00000010, 0, V, V, 0, 0, 0},
    {0x5f200c00, 0x1e200800, 0x0000f000, V, V, V, 0, 0, 0},
    {0x5f200c00, 0x1e200c00, 0, V, V, V, 0, 0, 0},
    {0x5f000000, 0x1f000000, 0x00208000, V, V, V, V, 0, 0},
    /* Vectors, and their elements as scalars: three of a kind, first the bitwise ones */
    {0x8f20fc00, 0x0e201c00, 0x30c0f800, V, V, V, 0, 0, 0},
    {0x8f200400, 0x0e200400, 0x3080f800, V, V, V, 0, 0, 0},
    /* Three that differ */
    {0x8f200c00, 0x0e200000, 0x3000f000, V, V, V, 0, 0, 0},
    /* Two; all elements of one; of half precision; AES and SHA */
    {0x8f3e0c00, 0x0e200800, 0x3081f000, V, V, 0, 0, 0, 0},
    {0x8f3e0c00, 0x0e300800, 0x3081f000, V, V, 0, 0, 0, 0},
    {0x8f7e0c00, 0x0e780800, 0x3081f000, V, V, 0, 0, 0, 0},
    {0x8f3e0c00, 0x0e280800, 0x3081f000, V, V, 0, 0, 0, 0},
    /* DUP, INS, UMOV, SMOV; SHA of three; TBL, TBX; ZIP, UZP, TRN; EXT */
    {0x8fe08400, 0x0e000400, 0x30007800, V, V, 0, 0, 0, 0},
    {0xff208c00, 0x5e000000, 0x10007000, V, V, V, 0, 0, 0},
    {0xbf208c00, 0x0e000000, 0x00001000, V, V, V, 0, 0, 0},
    {0xbf208c00, 0x0e000800, 0x00007000, V, V, V, 0, 0, 0},
    {0xbfe08400, 0x2e000000, 0, V, V, V, 0, 0, 0},
    /* Three, later additions and half precision */
    {0x8f208400, 0x0e008400, 0x3000f800, V, V, V, 0, 0, 0},
    {0x8f60c400, 0x0e400400, 0x30803800, V, V, V, 0, 0, 0},
    /* MOVI, MVNI, FMOV; shifts; with one element of the third */
    {0x9ff80400, 0x0f000400, 0x2000f800, V, 0, 0, 0, 0, 0},
    {0x8f800400, 0x0f000400, 0x3000f800, V, V, 0, 0, 0, 0},
    {0x8f000400, 0x0f000000, 0x3000f000, V, V, V, 0, 0, 0},
    /* SHA3, SHA512, SM3: four registers, a rotation, three */
    {0xff808000, 0xce000000, 0x00600000, V, V, V, V, 0, 0},
    {0xffe00000, 0xce800000, 0, V, V, V, 0, 0, 0},
    {0xff000000, 0xce000000, 0x00e0fc00, V, V, V, 0, 0, 0},
    {0, 0, 0xffe0fc00, V, V, V, 0, 0, 0},
};

/* Scalable vectors and matrices, what is reserved. */
static const struct aarch64_encoding others[] = {
    {0, 0, 0xffe0fc00, V, V, V, 0, 0, 0},
};

/* The groups of encodings by bits 25 to 28 (table C4-1). */
static const struct aarch64_encoding *group_of(uint32_t word)
{
    unsigned group = word >> 25 & 15;
    if (group >> 1 == 4)
        return immediates;
    if (group >> 1 == 5)
        return branches;
    if ((group & 5) == 4)
        return accesses;
    if ((group & 7) == 5)
        return registers;
    return (group & 7) == 7 ? vectors : others;
}

const struct aarch64_encoding *aarch64_encoding_of(uint32_t word)
{
    const struct aarch64_encoding *encoding = group_of(word);
    while ((word & encoding->mask) != encoding->value)
        encoding++;
    return encoding;
}

/* --- Numbers --------------------------------------------------------------------------------- */

uint32_t aarch64_number_bits(enum aarch64_number number)
{
    static const uint32_t bits[AARCH64_NUMBERS] = {
        [AARCH64_NUMBER_ADDED] = 0x007ffc00,   [AARCH64_NUMBER_MASK] = 0x007ffc00,
        [AARCH64_NUMBER_MOVED] = 0x607fffe0,   [AARCH64_NUMBER_COMPARED] = 0x001f0000,
        [AARCH64_NUMBER_NEAR] = 0x001ff000,    [AARCH64_NUMBER_SCALED] = 0x013ffc00,
        [AARCH64_NUMBER_PAIR] = 0x003f8000,    [AARCH64_NUMBER_ADDRESS] = 0xe0ffffe0,
        [AARCH64_NUMBER_LITERAL] = 0x00ffffe0, [AARCH64_TARGET] = 0x03ffffff,
        [AARCH64_TARGET_IF] = 0x00ffffff,      [AARCH64_TARGET_ZERO] = 0x01ffffe0,
        [AARCH64_TARGET_BIT] = 0x0107ffe0,     [AARCH64_TARGET_COMPARED] = 0x00003fe0,
    };
    return bits[number];
}

uint32_t aarch64_target_bits(enum aarch64_number number)
{
    switch (number) {
    case AARCH64_NUMBER_ADDRESS:
    case AARCH64_NUMBER_LITERAL:
    case AARCH64_TARGET:
    case AARCH64_TARGET_COMPARED:
        return aarch64_number_bits(number);
    case AARCH64_TARGET_IF:
    case AARCH64_TARGET_ZERO:
        return 0x00ffffe0;
    case AARCH64_TARGET_BIT:
        return 0x0007ffe0;
    default:
        return 0;
    }
}

uint32_t aarch64_access(uint32_t word)
{
    if (word & 1u << 26) /* vectors: STR, LDR of any size */
        return word & 0x04400000;
    if ((word & 0x80800000) == 0x80000000) /* STR, LDR of 4 and 8 bytes */
        return word & 0x80c00000;
    if ((word & 0x80800000) == 0x00800000) /* LDRSB, LDRSH to 4 and 8 bytes */
        return word & 0xc0800000;
    return word & 0xc0c00000;
}

unsigned aarch64_access_scale(const struct aarch64_encoding *encoding, uint32_t word)
{
    bool is_vector = word >> 26 & 1;
    if (encoding->number == AARCH64_NUMBER_PAIR)
        return is_vector ? 2 + (word >> 30) : 2 + (word >> 31);
    bool is_quad = is_vector && (word >> 23 & 1);
    return is_quad ? 4 : word >> 30;
}

static bool is_load(const struct aarch64_encoding *encoding, uint32_t word)
{
    if (encoding->number == AARCH64_NUMBER_PAIR)
        return word >> 22 & 1;
    return (word >> 22 & 3) != 0;
}

/* True if the register d is read only: of stores, and of branches that test it. */
static bool reads_d(const struct aarch64_encoding *encoding, uint32_t word)
{
    switch (encoding->number) {
    case AARCH64_TARGET_ZERO:
    case AARCH64_TARGET_BIT:
    case AARCH64_TARGET_COMPARED:
        return true;
    case AARCH64_NUMBER_PAIR:
        return !is_load(encoding, word);
    default:
        return encoding->family == AARCH64_MEMORY && !is_load(encoding, word);
    }
}

uint32_t aarch64_written(uint32_t word)
{
    const struct aarch64_encoding *encoding = aarch64_encoding_of(word);
    bool is_pair = encoding->number == AARCH64_NUMBER_PAIR;
    uint32_t written = 0;
    if (encoding->d != NONE && encoding->d != V && !reads_d(encoding, word))
        written |= UINT32_C(1) << AARCH64_D(word);
    if (is_pair && encoding->a == R && is_load(encoding, word))
        written |= UINT32_C(1) << AARCH64_A(word);
    bool moves_base =
        is_pair ? word >> 23 & 1 : encoding->number == AARCH64_NUMBER_NEAR && (word >> 10 & 1);
    if (moves_base)
        written |= UINT32_C(1) << AARCH64_N(word);
    return written;
}

uint64_t aarch64_address(uint32_t word, uint64_t address)
{
    uint64_t distance = (uint64_t)aarch64_signed(word, 5, 19) * 4 + (word >> 29 & 3);
    if (word >> 31)
        return (address & ~AARCH64_PAGE_MASK) + distance * (AARCH64_PAGE_MASK + 1);
    return address + distance;
}

bool aarch64_mask_number(uint32_t word, uint64_t *number)
{
    unsigned width = 64;
    unsigned length = word >> 10 & 63;
    unsigned rotation = word >> 16 & 63;
    /* The width of the repeated element is above the length's highest zero. */
    unsigned zeros = (word >> 22 & 1) << 6 | (~length & 63);
    while (width > 1 && !(zeros & width))
        width /= 2;
    if (width < 2 || (width == 64 && word >> 31 == 0))
        return false;
    unsigned ones = (length & (width - 1)) + 1;
    rotation &= width - 1;
    if (ones == width)
        return false;
    uint64_t element = (UINT64_C(1) << ones) - 1;
    if (rotation != 0)
        element = element >> rotation | element << (width - rotation);
    if (width < 64)
        element &= (UINT64_C(1) << width) - 1;
    for (unsigned i = width; i < 64; i *= 2)
        element |= element << i;
    *number = word >> 31 ? element : element & UINT32_MAX;
    return true;
}
