/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* profile/instructions*: what instructions of known bytes do, as their manuals say. */
#include <elf.h>

#include "instructions.h"
#include "unit_test.h"

/* --- x86-64 ------------------------------------------------------------------------------- */

struct jump_case {
    const char *text;
    const uint8_t *bytes;
    size_t size;
    uint8_t jump;
    uint8_t register_number;
    uint64_t slot;
};

static const struct jump_case jumps[] = {
    {"jmp *%rdx", BYTES("\xff\xe2"), BAT_JUMP_REGISTER, 2, 0},
    {"jmp *%r15", BYTES("\x41\xff\xe7"), BAT_JUMP_REGISTER, 15, 0},
    {"notrack jmp *%rcx", BYTES("\x3e\xff\xe1"), BAT_JUMP_REGISTER, 1, 0},
    {"jmp *0x10(%rip)", BYTES("\xff\x25\x10\x00\x00\x00"), BAT_JUMP_SLOT, 0, ADDRESS + 0x16},
    {"bnd jmp *-7(%rip)", BYTES("\xf2\xff\x25\xf9\xff\xff\xff"), BAT_JUMP_SLOT, 0, ADDRESS},
    {"jmp *0x402000", BYTES("\xff\x24\x25\x00\x20\x40\x00"), BAT_JUMP_SLOT, 0, 0x402000},
    {"jmp *0x402000(,%rax,8)", BYTES("\xff\x24\xc5\x00\x20\x40\x00"), BAT_JUMP_TABLE, 0, 0x402000},
    {"jmp *0x402000(,%r12,8)", BYTES("\x42\xff\x24\xe5\x00\x20\x40\x00"), BAT_JUMP_TABLE, 0,
     0x402000},
    {"jmp *0x402000(,%rax,4)", BYTES("\xff\x24\x85\x00\x20\x40\x00"), BAT_JUMP_UNKNOWN, 0, 0},
    {"jmp *%gs:0x402000(,%rax,8)", BYTES("\x65\xff\x24\xc5\x00\x20\x40\x00"), BAT_JUMP_UNKNOWN, 0,
     0},
    {"jmp *(%rax,%rcx,8)", BYTES("\xff\x24\xc8"), BAT_JUMP_UNKNOWN, 0, 0},
    {"jmp *8(%rax)", BYTES("\xff\x60\x08"), BAT_JUMP_UNKNOWN, 0, 0},
    {"ljmp *0x10(%rip)", BYTES("\xff\x2d\x10\x00\x00\x00"), BAT_JUMP_UNKNOWN, 0, 0},
};

TEST(indirect_jumps_name_their_slot)
{
    for (size_t i = 0; i < COUNT(jumps); i++) {
        struct bat_instruction found;
        if (!bat_instruction_decode(EM_X86_64, jumps[i].bytes, jumps[i].size, ADDRESS, &found))
            fail_msg("%s is not decoded", jumps[i].text);
        if (found.kind != INDIRECT_JUMP || found.jump != jumps[i].jump)
            fail_msg("%s: found kind %d, jump %d", jumps[i].text, found.kind, found.jump);
        if (found.register_number != jumps[i].register_number || found.slot != jumps[i].slot)
            fail_msg("%s: found register %d, slot 0x%llx", jumps[i].text, found.register_number,
                     (unsigned long long)found.slot);
    }
}

TEST(a_lock_prefix_stands_alone)
{
    struct bat_instruction found;
    assert_true(bat_instruction_decode(EM_X86_64, BYTES("\xf0\x83\x00\x01"), ADDRESS, &found));
    assert_int_equal(found.length, 1);
    assert_int_equal(found.kind, OTHER);
}

TEST(x86_memory_relative_to_the_instruction_is_named)
{
    struct bat_instruction found;
    /* lea 0x10(%rip),%rax; cmpb $3,-9(%rip): the immediate stands behind the distance */
    assert_true(
        bat_instruction_decode(EM_X86_64, BYTES("\x48\x8d\x05\x10\x00\x00\x00"), ADDRESS, &found));
    assert_true(found.has_reference);
    assert_int_equal(found.reference, ADDRESS + 0x17);
    assert_true(
        bat_instruction_decode(EM_X86_64, BYTES("\x80\x3d\xf7\xff\xff\xff\x03"), ADDRESS, &found));
    assert_true(found.has_reference);
    assert_int_equal(found.reference, ADDRESS - 2);
    /* lea 0x10(%rax),%rax; lea 0x10(%eip),%eax */
    assert_true(bat_instruction_decode(EM_X86_64, BYTES("\x48\x8d\x40\x10"), ADDRESS, &found));
    assert_false(found.has_reference);
    assert_true(
        bat_instruction_decode(EM_X86_64, BYTES("\x67\x8d\x05\x10\x00\x00\x00"), ADDRESS, &found));
    assert_false(found.has_reference);
}

TEST(bytes_that_are_no_instruction_are_not_decoded)
{
    struct bat_instruction found;
    assert_false(bat_instruction_decode(EM_X86_64, BYTES("\x06"), ADDRESS, &found));
    assert_false(bat_instruction_decode(EM_X86_64, BYTES("\x0f\x04"), ADDRESS, &found));
    /* Nor to LLVM: int1; ud0 %eax,%eax */
    assert_false(bat_instruction_decode(EM_X86_64, BYTES("\xf1"), ADDRESS, &found));
    assert_false(bat_instruction_decode(EM_X86_64, BYTES("\x0f\xff\xc0"), ADDRESS, &found));
    assert_false(bat_instruction_decode(EM_MIPS, BYTES("\x82\x80\x00\x00"), ADDRESS, &found));
}

/* --- AArch64 ------------------------------------------------------------------------------ */

struct aarch64_case {
    const char *text;
    uint32_t word;
    uint8_t kind;
    uint64_t target; /* of direct branches, from ADDRESS */
};

static const struct aarch64_case aarch64_cases[] = {
    {"mov x3, x3", 0xaa0303e3, OTHER, 0},
    {"nop", 0xd503201f, NOP, 0},
    {"b .+8", 0x14000002, JUMP, 8},
    {"b .-4", 0x17ffffff, JUMP, (uint64_t)-4},
    {"bl .+0x1000", 0x94000400, CALL, 0x1000},
    {"b.ne .-8", 0x54ffffc1, CONDITIONAL, (uint64_t)-8},
    {"bc.eq .+12", 0x54000070, CONDITIONAL, 12},
    {"cbz x1, .+12", 0xb4000061, CONDITIONAL, 12},
    {"cbnz w1, .-4", 0x35ffffe1, CONDITIONAL, (uint64_t)-4},
    {"tbz x1, #3, .+12", 0x36180061, CONDITIONAL, 12},
    {"tbnz w1, #3, .-4", 0x371fffe1, CONDITIONAL, (uint64_t)-4},
    {"cbgt w1, w2, .+12", 0x74020061, CONDITIONAL, 12},
    {"br x1", 0xd61f0020, INDIRECT_JUMP, 0},
    {"braaz x1", 0xd61f083f, INDIRECT_JUMP, 0},
    {"braa x1, x2", 0xd71f0822, INDIRECT_JUMP, 0},
    {"blr x1", 0xd63f0020, INDIRECT_CALL, 0},
    {"blraa x1, x2", 0xd73f0822, INDIRECT_CALL, 0},
    {"ret", 0xd65f03c0, RETURN, 0},
    {"ret x1", 0xd65f0020, RETURN, 0},
    {"retaa", 0xd65f0bff, RETURN, 0},
    {"retab", 0xd65f0fff, RETURN, 0},
    {"eret", 0xd69f03e0, RETURN, 0},
    {"eretaa", 0xd69f0bff, RETURN, 0},
    {"drps", 0xd6bf03e0, RETURN, 0},
    {"brk #1", 0xd4200020, TRAP, 0},
    {"udf #1", 0x00000001, TRAP, 0},
    {"hlt #1", 0xd4400020, OTHER, 0},
    {"svc #0", 0xd4000001, OTHER, 0},
};

static bool has_target(uint8_t kind)
{
    return kind == CONDITIONAL || kind == JUMP || kind == CALL;
}

static void put_word(uint8_t bytes[4], uint32_t word)
{
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(word >> (8 * i));
}

TEST(aarch64_instructions_are_told_apart)
{
    for (size_t i = 0; i < COUNT(aarch64_cases); i++) {
        const struct aarch64_case *wanted = &aarch64_cases[i];
        struct bat_instruction found;
        uint8_t bytes[4];
        put_word(bytes, wanted->word);
        if (!bat_instruction_decode(EM_AARCH64, bytes, 4, ADDRESS, &found))
            fail_msg("%s is not decoded", wanted->text);
        if (found.kind != wanted->kind || found.length != 4)
            fail_msg("%s: expected kind %d, found %d of %d bytes", wanted->text, wanted->kind,
                     found.kind, found.length);
        if (has_target(wanted->kind) && found.target != ADDRESS + wanted->target)
            fail_msg("%s: goes to 0x%llx", wanted->text, (unsigned long long)found.target);
        assert_false(found.has_reference);
        assert_false(bat_instruction_decode(EM_AARCH64, bytes, 3, ADDRESS, &found));
    }
}

TEST(aarch64_addresses_relative_to_the_instruction_are_named)
{
    static const struct {
        uint32_t word;
        uint64_t reference;
    } wanted[] = {
        {0x30000060, 13},           /* adr x0, .+13 */
        {0x70ffffe0, (uint64_t)-1}, /* adr x0, .-1 */
        {0x58000060, 12},           /* ldr x0, .+12 */
        {0x18ffffe0, (uint64_t)-4}, /* ldr w0, .-4 */
        {0x9c000060, 12},           /* ldr q0, .+12 */
        {0x98000060, 12},           /* ldrsw x0, .+12 */
    };
    struct bat_instruction found;
    uint8_t bytes[4];
    for (size_t i = 0; i < COUNT(wanted); i++) {
        put_word(bytes, wanted[i].word);
        assert_true(bat_instruction_decode(EM_AARCH64, bytes, 4, ADDRESS, &found));
        assert_true(found.has_reference);
        assert_int_equal(found.reference, ADDRESS + wanted[i].reference);
    }
    put_word(bytes, 0xb0000000); /* adrp x0, .+0x1000: a page, no address */
    assert_true(bat_instruction_decode(EM_AARCH64, bytes, 4, ADDRESS, &found));
    assert_false(found.has_reference);
}

/* --- Returns ------------------------------------------------------------------------------ */

/* bat_is_return() takes a short cut; it must say the same as the decoder. */
TEST(returns_are_what_the_decoder_says)
{
    for (size_t i = 0; i < COUNT(aarch64_cases); i++) {
        uint8_t bytes[4];
        put_word(bytes, aarch64_cases[i].word);
        if (bat_is_return(EM_AARCH64, bytes, 4) != (aarch64_cases[i].kind == RETURN))
            fail_msg("%s", aarch64_cases[i].text);
    }
    assert_true(bat_is_return(EM_X86_64, BYTES("\x66\xf3\xc3")));
    assert_false(bat_is_return(EM_X86_64, BYTES("\xf0\xc3")));
    /* Fifteen bytes are the longest instruction there is. */
    assert_true(bat_is_return(
        EM_X86_64, BYTES("\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\xc3")));
    assert_false(bat_is_return(
        EM_X86_64, BYTES("\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\xc3")));
}

/* --- RISC-V ------------------------------------------------------------------------------- */

/* As llvm-mc assembles them. */
static const struct {
    const char *text;
    const uint8_t *bytes;
    size_t size; /* the instruction's length too */
    uint8_t kind;
    uint64_t target; /* of direct branches, from ADDRESS */
} riscv_cases[] = {
    {"c.jr ra", BYTES("\x82\x80"), RETURN, 0},
    {"jalr zero,0(ra)", BYTES("\x67\x80\x00\x00"), RETURN, 0},
    {"jalr zero,0(t0)", BYTES("\x67\x80\x02\x00"), RETURN, 0},
    {"jalr zero,0(a0)", BYTES("\x67\x00\x05\x00"), INDIRECT_JUMP, 0},
    {"jalr ra,0(a0)", BYTES("\xe7\x00\x05\x00"), INDIRECT_CALL, 0},
    {"jalr t0,16(t1)", BYTES("\xe7\x02\x03\x01"), INDIRECT_CALL, 0},
    {"mret", BYTES("\x73\x00\x20\x30"), RETURN, 0},
    {"sret", BYTES("\x73\x00\x20\x10"), RETURN, 0},
    {"ebreak", BYTES("\x73\x00\x10\x00"), TRAP, 0},
    {"ecall", BYTES("\x73\x00\x00\x00"), OTHER, 0},
    {"nop", BYTES("\x13\x00\x00\x00"), NOP, 0},
    {"jal zero,+0x12346", BYTES("\x6f\x20\x61\x34"), JUMP, 0x12346},
    {"jal ra,-0x1004", BYTES("\xef\xe0\xdf\xff"), CALL, (uint64_t)-0x1004},
    {"beq a0,a1,+0x78", BYTES("\x63\x0c\xb5\x06"), CONDITIONAL, 0x78},
    {"bne a0,a1,-0xf0c", BYTES("\x63\x1a\xb5\x8e"), CONDITIONAL, (uint64_t)-0xf0c},
    {"c.j +0x156", BYTES("\x99\xaa"), JUMP, 0x156},
    {"c.j -0x202", BYTES("\xfd\xbb"), JUMP, (uint64_t)-0x202},
    {"c.beqz a0,+0x5c", BYTES("\x31\xcd"), CONDITIONAL, 0x5c},
    {"c.bnez a0,-0x86", BYTES("\x2d\xfd"), CONDITIONAL, (uint64_t)-0x86},
    {"c.jr t0", BYTES("\x82\x82"), RETURN, 0},
    {"c.jr a0", BYTES("\x02\x85"), INDIRECT_JUMP, 0},
    {"c.jalr a0", BYTES("\x02\x95"), INDIRECT_CALL, 0},
    {"c.ebreak", BYTES("\x02\x90"), TRAP, 0},
    {"c.nop", BYTES("\x01\x00"), NOP, 0},
    {"c.mv a0,a1", BYTES("\x2e\x85"), OTHER, 0},
    {"c.add a0,a1", BYTES("\x2e\x95"), OTHER, 0},
    {"c.lui a0,1", BYTES("\x05\x65"), OTHER, 0},
};

TEST(test_riscv)
{
    for (size_t i = 0; i < COUNT(riscv_cases); i++) {
        const uint8_t *bytes = riscv_cases[i].bytes;
        const size_t size = riscv_cases[i].size;
        struct bat_instruction instruction;
        bool is_read = bat_instruction_decode(EM_RISCV, bytes, size, ADDRESS, &instruction);
        uint64_t target = riscv_cases[i].target ? ADDRESS + riscv_cases[i].target : 0;
        if (!is_read || instruction.length != size || instruction.kind != riscv_cases[i].kind ||
            instruction.target != target)
            fail_msg("%s: length %u, kind %u, target %llx", riscv_cases[i].text, instruction.length,
                     instruction.kind, (unsigned long long)instruction.target);
        assert_int_equal(bat_is_return(EM_RISCV, bytes, size), riscv_cases[i].kind == RETURN);
        assert_false(bat_instruction_decode(EM_RISCV, bytes, size - 1, ADDRESS, &instruction));
    }
    struct bat_instruction instruction;
    assert_false(bat_instruction_decode(EM_RISCV, BYTES("\x00\x00\x00\x00"), 0, &instruction));
    assert_false(bat_instruction_decode(EM_RISCV, BYTES("\x1f\x00\x00\x00"), 0, &instruction));
}
