/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Decodes the condition of a branch (conditions.h). */
#include "conditions.h"
#include "spec/little_endian.h"

#include <elf.h>

/* Groups of conditions; the lowest bit says whether the test is negated. */
enum group {
    GROUP_X86 = 1u << 30,
    GROUP_B_COND = 2u << 30,
    GROUP_COMPARE = 3u << 30,
};

/* Of GROUP_COMPARE. */
#define TEST_ZERO (1u << 16)
#define TEST_BIT (1u << 17)

/* Numbers of B.cond. */
#define CONDITION_EQ 0u
#define CONDITION_GE 10u

/* Jcc: 70 to 7F, 0F 80 to 0F 8F; the lowest bit of the opcode negates. */
static uint32_t condition_x86(const uint8_t *bytes, uint64_t size)
{
    uint64_t i = 0;
    /* Skip branch hints. */
    while (i + 1 < size && (bytes[i] == 0x2e || bytes[i] == 0x3e))
        i++;
    if (i < size && bytes[i] >> 4 == 7)
        return GROUP_X86 | (bytes[i] & 15u);
    if (i + 1 < size && bytes[i] == 0x0f && bytes[i + 1] >> 4 == 8)
        return GROUP_X86 | (bytes[i + 1] & 15u);
    return CONDITION_UNKNOWN;
}

/* By Arm's encodings, C4.1, without the bits of the target. */
static uint32_t condition_aarch64(const uint8_t *bytes, uint64_t size)
{
    if (size < 4)
        return CONDITION_UNKNOWN;
    uint32_t word = bat_load32(bytes);
    if ((word & 0xff000010u) == 0x54000000u)
        return GROUP_B_COND | (word & 15u);
    uint32_t negated = word >> 24 & 1;
    if ((word & 0x7e000000u) == 0x34000000u) /* CBZ, CBNZ: size and register */
        return GROUP_COMPARE | TEST_ZERO | (word >> 31) << 8 | (word & 31u) << 1 | negated;
    if ((word & 0x7e000000u) == 0x36000000u) /* TBZ, TBNZ: bit and register */
        return GROUP_COMPARE | TEST_BIT | (word >> 31) << 12 | (word >> 19 & 31u) << 6 |
               (word & 31u) << 1 | negated;
    return CONDITION_UNKNOWN;
}

uint32_t condition_in(uint16_t machine, const uint8_t *bytes, uint64_t size)
{
    switch (machine) {
    case EM_X86_64:
        return condition_x86(bytes, size);
    case EM_AARCH64:
        return condition_aarch64(bytes, size);
    default:
        return CONDITION_UNKNOWN;
    }
}

uint32_t condition_of_any_register(uint32_t condition)
{
    if (condition >> 30 != GROUP_COMPARE >> 30)
        return condition;
    bool is_sign = condition & TEST_BIT && (condition >> 6 & 31u) == 31;
    return GROUP_B_COND | (is_sign ? CONDITION_GE : CONDITION_EQ) | (condition & 1u);
}

uint32_t condition_at(const struct bat_elf *elf, uint64_t address)
{
    uint64_t size;
    const uint8_t *bytes = bat_elf_at_address(elf, address, &size);
    return bytes ? condition_in(bat_elf_machine(elf), bytes, size) : CONDITION_UNKNOWN;
}

uint32_t condition_number_x86(uint32_t condition)
{
    return condition >> 30 == GROUP_X86 >> 30 ? condition & 15u : CONDITIONS_X86;
}

uint32_t condition_order(uint32_t condition)
{
    enum {
        LOWER = CONDITION_IS_ORDER | CONDITION_IS_LOWER | CONDITION_IS_STRICT,
        LOWER_EQUAL = CONDITION_IS_ORDER | CONDITION_IS_LOWER,
        HIGHER = CONDITION_IS_ORDER | CONDITION_IS_STRICT,
        HIGHER_EQUAL = CONDITION_IS_ORDER,
        SIGNED = CONDITION_IS_SIGNED,
        EQUAL = CONDITION_IS_EQUALITY,
        UNEQUAL = CONDITION_IS_EQUALITY | CONDITION_IS_STRICT,
        NEGATIVE = CONDITION_IS_SIGN | CONDITION_IS_LOWER,
        POSITIVE = CONDITION_IS_SIGN,
        OVERFLOW = CONDITION_IS_OVERFLOW,
        NO_OVERFLOW = CONDITION_IS_OVERFLOW | CONDITION_IS_STRICT,
    };
    static const uint8_t x86[16] = {[0] = OVERFLOW,
                                    [1] = NO_OVERFLOW,
                                    [2] = LOWER,
                                    [3] = HIGHER_EQUAL,
                                    [4] = EQUAL,
                                    [5] = UNEQUAL,
                                    [6] = LOWER_EQUAL,
                                    [7] = HIGHER,
                                    [8] = NEGATIVE,
                                    [9] = POSITIVE,
                                    [10] = OVERFLOW,
                                    [11] = NO_OVERFLOW,
                                    [12] = LOWER | SIGNED,
                                    [13] = HIGHER_EQUAL | SIGNED,
                                    [14] = LOWER_EQUAL | SIGNED,
                                    [15] = HIGHER | SIGNED};
    static const uint8_t aarch64[16] = {[0] = EQUAL,
                                        [1] = UNEQUAL,
                                        [2] = HIGHER_EQUAL,
                                        [3] = LOWER,
                                        [4] = NEGATIVE,
                                        [5] = POSITIVE,
                                        [6] = OVERFLOW,
                                        [7] = NO_OVERFLOW,
                                        [8] = HIGHER,
                                        [9] = LOWER_EQUAL,
                                        [10] = HIGHER_EQUAL | SIGNED,
                                        [11] = LOWER | SIGNED,
                                        [12] = HIGHER | SIGNED,
                                        [13] = LOWER_EQUAL | SIGNED};
    switch (condition >> 30) {
    case GROUP_X86 >> 30:
        return x86[condition & 15u];
    case GROUP_B_COND >> 30:
        return aarch64[condition & 15u];
    default:
        return 0;
    }
}
