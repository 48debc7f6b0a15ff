/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "plt_slots.h"
#include "spec/little_endian.h"

/* Instruction words, from the Arm Architecture Reference Manual (chapter C4, A64 encodings). */

static bool is_nop(uint32_t word)
{
    return word == 0xd503201f;
}

/* BR and its forms with pointer authentication; *target is the register. */
static bool is_indirect_jump(uint32_t word, unsigned *target)
{
    *target = (word >> 5) & 31;
    return (word & 0xfffffc1f) == 0xd61f0000 || (word & 0xfffff800) == 0xd61f0800 ||
           (word & 0xfffff800) == 0xd71f0800;
}

/* LDR Xt, [Xn, #imm] */
static bool is_load(uint32_t word)
{
    return (word & 0xffc00000) == 0xf9400000;
}

static bool is_adrp(uint32_t word)
{
    return (word & 0x9f000000) == 0x90000000;
}

/* ADD Xd, Xn, #imm */
static bool is_add(uint32_t word)
{
    return (word & 0xff800000) == 0x91000000;
}

static unsigned destination(uint32_t word)
{
    return word & 31;
}

/* The last instruction before `end` that sets the register, or SIZE_MAX. */
static size_t definition(const uint8_t *bytes, size_t start, size_t end, unsigned reg)
{
    for (size_t at = end; at > start;) {
        at -= 4;
        uint32_t word = bat_load32(bytes + at);
        if ((is_load(word) || is_adrp(word) || is_add(word)) && destination(word) == reg)
            return at;
    }
    return SIZE_MAX;
}

static uint64_t adrp_page(uint32_t word, uint64_t address)
{
    uint64_t pages = ((word >> 29) & 3) | ((uint64_t)((word >> 5) & 0x7ffff) << 2);
    pages = (pages ^ 0x100000) - 0x100000; /* 21 bits, signed */
    return (address & ~(uint64_t)0xfff) + (pages << 12);
}

/*
 * An entry forms the address of its slot's page with ADRP and loads its jump target from there.
 * Returns false for any other code. start and jump are offsets in the section.
 */
static bool entry_slot(const struct bat_section *section, const uint8_t *bytes, size_t start,
                       size_t jump, uint64_t *slot)
{
    unsigned target;
    is_indirect_jump(bat_load32(bytes + jump), &target);
    size_t load = definition(bytes, start, jump, target);
    if (load == SIZE_MAX || !is_load(bat_load32(bytes + load)))
        return false;
    uint32_t word = bat_load32(bytes + load);
    size_t page = definition(bytes, start, load, (word >> 5) & 31);
    if (page == SIZE_MAX || !is_adrp(bat_load32(bytes + page)))
        return false;
    *slot = adrp_page(bat_load32(bytes + page), section->address + page) +
            (uint64_t)((word >> 10) & 0xfff) * 8;
    return true;
}

/* Entries have no fixed size: each ends with its jump, and the next starts after the NOPs. */
void plt_slots_aarch64(struct plt_slots *slots, const struct bat_section *section,
                       const uint8_t *bytes, uint64_t size)
{
    size_t end = (size_t)(size & ~(uint64_t)3);
    size_t start = 0;
    for (size_t at = 0; at < end; at += 4) {
        uint64_t slot;
        unsigned target;
        if (!is_indirect_jump(bat_load32(bytes + at), &target))
            continue;
        if (entry_slot(section, bytes, start, at, &slot))
            plt_slots_add(slots, section, start, slot);
        while (at + 4 < end && is_nop(bat_load32(bytes + at + 4)))
            at += 4;
        start = at + 4;
    }
}
