/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Hashes and compares instructions without the distances in them (same_code.h). */
#include "same_code.h"
#include "spec/little_endian.h"

#include <elf.h>
#include <string.h>
#include <xxhash.h>

#define DISTANCE_SIZE 4u  /* bytes of x86-64's distances in memory operands */
#define DISTANCE_FIRST 2u /* first byte where one can be: behind an opcode and a ModRM byte */

bool bat_code_read(const struct bat_elf *elf, uint64_t address, struct bat_code_at *code)
{
    uint64_t available;
    code->address = address;
    code->bytes = bat_elf_at_address(elf, address, &available);
    return code->bytes &&
           bat_instruction_decode(bat_elf_machine(elf), code->bytes, (size_t)available, address,
                                  &code->instruction) &&
           code->instruction.length != 0;
}

/* An AArch64 instruction without its distance; *reference is the address (or page) it names. */
static uint32_t without_distance(const struct bat_code_at *code, uint64_t *reference)
{
    uint32_t word = bat_load32(code->bytes);
    *reference = code->instruction.reference;
    if ((word & 0x9f000000) == 0x90000000) { /* ADRP: a page */
        uint64_t pages = (uint64_t)(word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3);
        pages = (pages ^ 0x100000) - 0x100000;
        *reference = (code->address >> 12) + pages;
        return word & 0x9f00001f;
    }
    if (!code->instruction.has_reference)
        return word;
    return word & ((word & 0x1f000000) == 0x10000000 ? 0x9f00001f : 0xff00001f);
}

static uint64_t hash_of(uint64_t first, uint64_t second)
{
    const uint64_t both[2] = {first, second};
    return XXH3_64bits(both, sizeof(both));
}

uint64_t bat_code_hash(uint16_t machine, const struct bat_code_at *code)
{
    const struct bat_instruction *instruction = &code->instruction;
    switch (instruction->kind) {
    case BAT_INSTRUCTION_CALL:
        return hash_of(instruction->kind, instruction->target);
    case BAT_INSTRUCTION_CONDITIONAL:
    case BAT_INSTRUCTION_JUMP:
        return instruction->kind;
    default:
        break;
    }
    if (machine == EM_AARCH64) {
        uint64_t reference;
        uint32_t word = without_distance(code, &reference);
        return hash_of(word, reference);
    }
    if (!instruction->has_reference)
        return XXH3_64bits(code->bytes, instruction->length);
    uint64_t start = instruction->length | (uint64_t)code->bytes[0] << 8;
    return hash_of(start | (uint64_t)code->bytes[1] << 16, instruction->reference);
}

/* The distance to the address that an x86-64 instruction names. */
static uint32_t distance_in(const struct bat_code_at *code)
{
    const struct bat_instruction *instruction = &code->instruction;
    return (uint32_t)(instruction->reference - code->address - instruction->length);
}

/* True if all bytes of two x86-64 instructions of one length are equal except the distances. */
static bool is_same_but_distance(const struct bat_code_at *left, const struct bat_code_at *right)
{
    size_t length = left->instruction.length;
    uint32_t left_distance = distance_in(left);
    uint32_t right_distance = distance_in(right);
    for (size_t i = DISTANCE_FIRST; i + DISTANCE_SIZE <= length; i++) {
        size_t behind = i + DISTANCE_SIZE;
        if (bat_load32(left->bytes + i) == left_distance &&
            bat_load32(right->bytes + i) == right_distance &&
            memcmp(left->bytes, right->bytes, i) == 0 &&
            memcmp(left->bytes + behind, right->bytes + behind, length - behind) == 0)
            return true;
    }
    return false;
}

bool bat_code_same(uint16_t machine, const struct bat_code_at *left,
                   const struct bat_code_at *right)
{
    const struct bat_instruction *one = &left->instruction;
    const struct bat_instruction *other = &right->instruction;
    if (one->kind != other->kind)
        return false;
    if (one->kind == BAT_INSTRUCTION_CALL)
        return one->target == other->target;
    if (one->length != other->length || one->has_reference != other->has_reference)
        return false;
    if (machine == EM_AARCH64) {
        uint64_t left_reference;
        uint64_t right_reference;
        return without_distance(left, &left_reference) ==
                   without_distance(right, &right_reference) &&
               left_reference == right_reference;
    }
    if (one->has_reference)
        return one->reference == other->reference && is_same_but_distance(left, right);
    return memcmp(left->bytes, right->bytes, one->length) == 0;
}

bool bat_code_alike(uint16_t machine, const struct bat_code_at *left,
                    const struct bat_code_at *right)
{
    const struct bat_instruction *one = &left->instruction;
    const struct bat_instruction *other = &right->instruction;
    uint64_t ignored;
    if (one->kind != other->kind)
        return false;
    if (bat_kind_has_target(one->kind))
        return true;
    if (one->length != other->length || one->has_reference != other->has_reference)
        return false;
    if (machine == EM_AARCH64)
        return without_distance(left, &ignored) == without_distance(right, &ignored);
    if (one->has_reference)
        return is_same_but_distance(left, right);
    return memcmp(left->bytes, right->bytes, one->length) == 0;
}
