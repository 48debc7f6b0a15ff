/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * binary/code/instructions_x86*: rare encodings, and that what the opcode maps tell of common ones
 * is what Zydis tells.
 */
#include <elf.h>

#include "binary/code/instructions_x86.h"
#include "instructions.h"
#include "unit_test.h"

#define LENGTH_MAX 15u

/* --- Encodings -------------------------------------------------------------------------------- */

struct encoding {
    const char *text; /* AT&T */
    const uint8_t *bytes;
    size_t size; /* the instruction's length too */
    uint8_t kind;
    int64_t distance; /* of a direct branch: from ADDRESS to its target */
};

static const struct encoding encodings[] = {
    /* No-operations of all lengths, and what is like them. */
    {"nop", BYTES("\x90"), NOP, 0},
    {"xchg %ax,%ax", BYTES("\x66\x90"), NOP, 0},
    {"nopl (%rax)", BYTES("\x0f\x1f\x00"), NOP, 0},
    {"nopl 0(%rax)", BYTES("\x0f\x1f\x40\x00"), NOP, 0},
    {"nopl 0(%rax,%rax)", BYTES("\x0f\x1f\x44\x00\x00"), NOP, 0},
    {"nopw 0(%rax,%rax)", BYTES("\x66\x0f\x1f\x44\x00\x00"), NOP, 0},
    {"nopl 0(%rax)", BYTES("\x0f\x1f\x80\x00\x00\x00\x00"), NOP, 0},
    {"nopl 0(%rax,%rax)", BYTES("\x0f\x1f\x84\x00\x00\x00\x00\x00"), NOP, 0},
    {"nopw 0(%rax,%rax)", BYTES("\x66\x0f\x1f\x84\x00\x00\x00\x00\x00"), NOP, 0},
    {"data16 (5 times) nopw %cs:0(%rax,%rax)",
     BYTES("\x66\x66\x66\x66\x66\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"), NOP, 0},
    {"xchg %r8,%rax", BYTES("\x49\x90"), OTHER, 0},
    {"pause", BYTES("\xf3\x90"), OTHER, 0},
    {"endbr64", BYTES("\xf3\x0f\x1e\xfa"), OTHER, 0},
    {"lfence", BYTES("\x0f\xae\xe8"), OTHER, 0},
    /* Branches. */
    {"jo .+2", BYTES("\x70\x00"), CONDITIONAL, 2},
    {"jg .-126", BYTES("\x7f\x80"), CONDITIONAL, -126},
    {"jo .+6", BYTES("\x0f\x80\x00\x00\x00\x00"), CONDITIONAL, 6},
    {"jg .-0x7ffffffa", BYTES("\x0f\x8f\x00\x00\x00\x80"), CONDITIONAL, -0x7ffffffaLL},
    {"je,pn .+3", BYTES("\x2e\x74\x00"), CONDITIONAL, 3},
    {"bnd je .+7", BYTES("\xf2\x0f\x84\x00\x00\x00\x00"), CONDITIONAL, 7},
    {"loopne .+2", BYTES("\xe0\x00"), CONDITIONAL, 2},
    {"loope .+2", BYTES("\xe1\x00"), CONDITIONAL, 2},
    {"loop .+2", BYTES("\xe2\x00"), CONDITIONAL, 2},
    {"jrcxz .-2", BYTES("\xe3\xfc"), CONDITIONAL, -2},
    {"jecxz .+3", BYTES("\x67\xe3\x00"), CONDITIONAL, 3},
    {"xbegin .+6", BYTES("\xc7\xf8\x00\x00\x00\x00"), CONDITIONAL, 6},
    {"jmp .-124", BYTES("\xeb\x82"), JUMP, -124},
    {"bnd jmp .+0x106", BYTES("\xf2\xe9\x00\x01\x00\x00"), JUMP, 0x106},
    {"jmp *%r8", BYTES("\x41\xff\xe0"), INDIRECT_JUMP, 0},
    {"jmp *8(%r12)", BYTES("\x41\xff\x64\x24\x08"), INDIRECT_JUMP, 0},
    {"bnd jmp *%rcx", BYTES("\xf2\xff\xe1"), INDIRECT_JUMP, 0},
    {"rex.W ljmp *(%rax)", BYTES("\x48\xff\x28"), INDIRECT_JUMP, 0},
    /* Calls and returns. */
    {"call .+5", BYTES("\xe8\x00\x00\x00\x00"), CALL, 5},
    {"bnd call .+6", BYTES("\xf2\xe8\x00\x00\x00\x00"), CALL, 6},
    {"call *%rax", BYTES("\xff\xd0"), INDIRECT_CALL, 0},
    {"notrack call *%rax", BYTES("\x3e\xff\xd0"), INDIRECT_CALL, 0},
    {"call *0x10(%rip)", BYTES("\xff\x15\x10\x00\x00\x00"), INDIRECT_CALL, 0},
    {"call *%fs:0x28", BYTES("\x64\xff\x14\x25\x28\x00\x00\x00"), INDIRECT_CALL, 0},
    {"rex.W lcall *(%rax)", BYTES("\x48\xff\x18"), INDIRECT_CALL, 0},
    {"ret", BYTES("\xc3"), RETURN, 0},
    {"repz ret", BYTES("\xf3\xc3"), RETURN, 0},
    {"ret $0x10", BYTES("\xc2\x10\x00"), RETURN, 0},
    {"lret $0x10", BYTES("\xca\x10\x00"), RETURN, 0},
    {"iret", BYTES("\xcf"), RETURN, 0},
    {"iretq", BYTES("\x48\xcf"), RETURN, 0},
    /* What stops or leaves. */
    {"hlt", BYTES("\xf4"), TRAP, 0},
    {"ud2", BYTES("\x0f\x0b"), TRAP, 0},
    {"ud1 (%rax),%eax", BYTES("\x0f\xb9\x00"), TRAP, 0},
    {"int3", BYTES("\xcc"), OTHER, 0},
    {"int $3", BYTES("\xcd\x03"), OTHER, 0},
    {"syscall", BYTES("\x0f\x05"), OTHER, 0},
    {"sysenter", BYTES("\x0f\x34"), OTHER, 0},
    {"xabort $1", BYTES("\xc6\xf8\x01"), OTHER, 0},
    /* Sizes of operands and addresses. */
    {"mov $1,%ax", BYTES("\x66\xb8\x01\x00"), OTHER, 0},
    {"mov $1,%eax", BYTES("\xb8\x01\x00\x00\x00"), OTHER, 0},
    {"movabs $1,%rax", BYTES("\x48\xb8\x01\x00\x00\x00\x00\x00\x00\x00"), OTHER, 0},
    {"movabs 1,%eax", BYTES("\xa1\x01\x00\x00\x00\x00\x00\x00\x00"), OTHER, 0},
    {"addr32 mov 1,%eax", BYTES("\x67\xa1\x01\x00\x00\x00"), OTHER, 0},
    {"cmpw $1,(%rax)", BYTES("\x66\x81\x38\x01\x00"), OTHER, 0},
    {"data16 cmpq $1,(%rax)", BYTES("\x66\x48\x81\x38\x01\x00\x00\x00"), OTHER, 0},
    {"testb $1,(%rax)", BYTES("\xf6\x00\x01"), OTHER, 0},
    {"notb (%rax)", BYTES("\xf6\x10"), OTHER, 0},
    {"testl $1,(%rax)", BYTES("\xf7\x00\x01\x00\x00\x00"), OTHER, 0},
    {"negl (%rax)", BYTES("\xf7\x18"), OTHER, 0},
    {"lea 0(,%rax,8),%eax", BYTES("\x8d\x04\xc5\x00\x00\x00\x00"), OTHER, 0},
    {"lea (%ecx),%eax", BYTES("\x67\x8d\x01"), OTHER, 0},
    {"enter $1,$2", BYTES("\xc8\x01\x00\x02"), OTHER, 0},
    {"rep stos %rax,(%rdi)", BYTES("\xf3\x48\xab"), OTHER, 0},
    {"push $-1", BYTES("\x6a\xff"), OTHER, 0},
    {"movslq (%rax),%rcx", BYTES("\x48\x63\x08"), OTHER, 0},
    {"flds (%rax)", BYTES("\xd9\x00"), OTHER, 0},
    {"fwait", BYTES("\x9b"), OTHER, 0},
    /* More of each kind. */
    {"xor %ecx,%ecx", BYTES("\x31\xc9"), OTHER, 0},
    {"nopw %cs:0x0(%rax,%rax,1)", BYTES("\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"), NOP, 0},
    {"je +0x10", BYTES("\x74\x0e"), CONDITIONAL, 0x10},
    {"jne -0x100", BYTES("\x0f\x85\xfa\xfe\xff\xff"), CONDITIONAL, -0x100},
    {"jne,pt +3", BYTES("\x3e\x75\x00"), CONDITIONAL, 3},
    {"xend", BYTES("\x0f\x01\xd5"), OTHER, 0},
    {"jmp +2", BYTES("\xeb\x00"), JUMP, 2},
    {"jmp -5", BYTES("\xe9\xf6\xff\xff\xff"), JUMP, -5},
    {"bnd jmp +6", BYTES("\xf2\xe9\x00\x00\x00\x00"), JUMP, 6},
    {"jmp *%rax", BYTES("\xff\xe0"), INDIRECT_JUMP, 0},
    {"notrack jmp *%rax", BYTES("\x3e\xff\xe0"), INDIRECT_JUMP, 0},
    {"jmp *(%rax)", BYTES("\xff\x20"), INDIRECT_JUMP, 0},
    {"ljmp *(%rax)", BYTES("\xff\x28"), INDIRECT_JUMP, 0},
    {"call +0x1005", BYTES("\xe8\x00\x10\x00\x00"), CALL, 0x1005},
    {"data16 data16 rex.W call", BYTES("\x66\x66\x48\xe8\x00\x00\x00\x00"), CALL, 8},
    {"call *%r11", BYTES("\x41\xff\xd3"), INDIRECT_CALL, 0},
    {"call *(%rax)", BYTES("\xff\x10"), INDIRECT_CALL, 0},
    {"lcall *(%rax)", BYTES("\xff\x18"), INDIRECT_CALL, 0},
    {"ret $8", BYTES("\xc2\x08\x00"), RETURN, 0},
    {"bnd ret", BYTES("\xf2\xc3"), RETURN, 0},
    {"lret", BYTES("\xcb"), RETURN, 0},
    {"sysretq", BYTES("\x48\x0f\x07"), OTHER, 0},
    {"ud1 %eax,%eax", BYTES("\x0f\xb9\xc0"), TRAP, 0},
    {"int $0x80", BYTES("\xcd\x80"), OTHER, 0},
    {"vaddph %zmm1,%zmm2,%zmm3", BYTES("\x62\xf5\x6c\x48\x58\xd9"), OTHER, 0},
    /* Other opcode maps: 0F, 0F 38, 0F 3A, 3DNow!, VEX, EVEX, XOP. */
    {"bswap %ecx", BYTES("\x0f\xc9"), OTHER, 0},
    {"btl $7,(%rax)", BYTES("\x0f\xba\x20\x07"), OTHER, 0},
    {"popcnt %eax,%eax", BYTES("\xf3\x0f\xb8\xc0"), OTHER, 0},
    {"movsd (%rax),%xmm0", BYTES("\xf2\x0f\x10\x00"), OTHER, 0},
    {"movdqu %xmm0,(%rax)", BYTES("\xf3\x0f\x7f\x00"), OTHER, 0},
    {"pshufd $0x1b,%xmm1,%xmm0", BYTES("\x66\x0f\x70\xc1\x1b"), OTHER, 0},
    {"pshufb %xmm1,%xmm0", BYTES("\x66\x0f\x38\x00\xc1"), OTHER, 0},
    {"crc32b %al,%eax", BYTES("\xf2\x0f\x38\xf0\xc0"), OTHER, 0},
    {"palignr $4,%xmm1,%xmm0", BYTES("\x66\x0f\x3a\x0f\xc1\x04"), OTHER, 0},
    {"pfadd %mm1,%mm0", BYTES("\x0f\x0f\xc1\x9e"), OTHER, 0},
    {"vzeroupper", BYTES("\xc5\xf8\x77"), OTHER, 0},
    {"vpxor %ymm1,%ymm2,%ymm3", BYTES("\xc5\xed\xef\xd9"), OTHER, 0},
    {"andn %eax,%ecx,%edx", BYTES("\xc4\xe2\x70\xf2\xd0"), OTHER, 0},
    {"rorx $3,%eax,%ecx", BYTES("\xc4\xe3\x7b\xf0\xc8\x03"), OTHER, 0},
    {"vpternlogd $1,%zmm1,%zmm2,%zmm3", BYTES("\x62\xf3\x6d\x48\x25\xd9\x01"), OTHER, 0},
    {"vmovdqu64 0x40(%rax),%zmm0", BYTES("\x62\xf1\xfe\x48\x6f\x40\x01"), OTHER, 0},
    {"blcfill %eax,%ecx", BYTES("\x8f\xe9\x70\x01\xc8"), OTHER, 0},
};

TEST(rare_encodings_are_known)
{
    for (size_t i = 0; i < COUNT(encodings); i++) {
        const struct encoding *wanted = &encodings[i];
        struct bat_instruction found;
        if (!bat_instruction_decode(EM_X86_64, wanted->bytes, wanted->size, ADDRESS, &found))
            fail_msg("%s is not decoded", wanted->text);
        if (found.kind != wanted->kind || found.length != wanted->size)
            fail_msg("%s: expected kind %d of %zu bytes, found %d of %d", wanted->text,
                     wanted->kind, wanted->size, found.kind, found.length);
        if (found.target != (wanted->distance ? ADDRESS + (uint64_t)wanted->distance : 0))
            fail_msg("%s: goes to 0x%llx", wanted->text, (unsigned long long)found.target);
        assert_int_equal(found.is_short_branch,
                         wanted->kind == CONDITIONAL &&
                             (wanted->bytes[wanted->size - 2] & 0xfc) == 0xe0);
        assert_int_equal(bat_is_return(EM_X86_64, wanted->bytes, wanted->size),
                         wanted->kind == RETURN);
    }
}

/* Every instruction needs all of its bytes. */
TEST(instructions_are_not_read_beyond_the_end)
{
    for (size_t i = 0; i < COUNT(encodings); i++) {
        for (size_t size = 0; size < encodings[i].size; size++) {
            struct bat_instruction found;
            /* On the heap, where a sanitizer sees what is read. */
            uint8_t *bytes = test_malloc(size + 1);
            memcpy(bytes + 1, encodings[i].bytes, size);
            if (bat_instruction_decode(EM_X86_64, bytes + 1, size, ADDRESS, &found))
                fail_msg("%zu bytes of %s are decoded", size, encodings[i].text);
            assert_false(bat_is_return(EM_X86_64, bytes + 1, size));
            test_free(bytes);
        }
    }
}

/* --- The table beside Zydis ------------------------------------------------------------------- */

struct comparison {
    uint64_t asked;
    uint64_t by_table;
};

static bool passes(const struct bat_instruction *instruction)
{
    return instruction->kind == OTHER || instruction->kind == NOP || instruction->kind == CALL ||
           instruction->kind == INDIRECT_CALL;
}

/* Of LENGTH_MAX bytes at most one instruction is skipped, with the length that Zydis tells. */
static void compare_skipped(const uint8_t *bytes, size_t size)
{
    struct bat_instruction zydis = {0};
    size_t skipped = bat_instructions_skip(EM_X86_64, bytes, size < LENGTH_MAX ? size : LENGTH_MAX);
    if (skipped == 0)
        return;
    if (!x86_decode_by_zydis(bytes, size, ADDRESS, &zydis) || zydis.length != skipped ||
        !passes(&zydis))
        fail_msg("%02x %02x %02x: %zu bytes are skipped", bytes[0], bytes[1], bytes[2], skipped);
}

static void compare(struct comparison *comparison, const uint8_t *bytes, size_t size)
{
    compare_skipped(bytes, size);
    struct bat_instruction table;
    struct bat_instruction zydis = {0};
    comparison->asked++;
    if (!x86_decode_by_table(bytes, size, ADDRESS, &table))
        return;
    comparison->by_table++;
    bool is_known = x86_decode_by_zydis(bytes, size, ADDRESS, &zydis);
    if (is_known && table.target == zydis.target && table.reference == zydis.reference &&
        table.immediate == zydis.immediate && table.slot == zydis.slot &&
        table.length == zydis.length && table.kind == zydis.kind && table.jump == zydis.jump &&
        table.register_number == zydis.register_number &&
        table.has_reference == zydis.has_reference &&
        table.is_short_branch == zydis.is_short_branch)
        return;
    char text[3 * LENGTH_MAX + 1] = "";
    for (size_t i = 0; i < size && i < LENGTH_MAX; i++)
        snprintf(text + 3 * i, 4, "%02x ", bytes[i]);
    fail_msg("%s: the table says kind %d of %d bytes, Zydis %d of %d", text, table.kind,
             table.length, zydis.kind, zydis.length);
}

static const uint8_t prefixes[] = {0x66, 0xf2, 0xf3, 0x2e, 0x3e, 0x64, 0x67,
                                   0xf0, 0x40, 0x41, 0x42, 0x48, 0x4f};

/* One opcode of one or two bytes with all ModRM bytes. */
static void compare_opcode(struct comparison *comparison, const uint8_t *start, size_t start_size,
                           uint8_t opcode)
{
    for (unsigned modrm = 0; modrm < 256; modrm++) {
        uint8_t bytes[LENGTH_MAX] = {0};
        memcpy(bytes, start, start_size);
        bytes[start_size] = opcode;
        bytes[start_size + 1] = (uint8_t)modrm;
        for (size_t i = start_size + 2; i < LENGTH_MAX; i++)
            bytes[i] = (uint8_t)(0x85 + 0x13 * i + modrm);
        compare(comparison, bytes, LENGTH_MAX);
    }
}

TEST(the_table_says_what_zydis_says)
{
    struct comparison comparison = {0};
    for (size_t i = 0; i <= sizeof(prefixes); i++)
        for (size_t j = 0; j <= sizeof(prefixes); j++)
            for (unsigned opcode = 0; opcode < 256; opcode++) {
                uint8_t start[3];
                size_t size = 0;
                if (i < sizeof(prefixes))
                    start[size++] = prefixes[i];
                if (j < sizeof(prefixes))
                    start[size++] = prefixes[j];
                compare_opcode(&comparison, start, size, (uint8_t)opcode);
                start[size++] = 0x0f;
                compare_opcode(&comparison, start, size, (uint8_t)opcode);
            }
    assert_true(comparison.by_table > comparison.asked / 10);
}

/* --- Random bytes ----------------------------------------------------------------------------- */

/* xorshift64 */
static uint64_t next_random(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

TEST(random_bytes_are_what_zydis_says)
{
    struct comparison comparison = {0};
    uint64_t random = 88172645463325252u;
    for (unsigned i = 0; i < 1000000; i++) {
        uint64_t words[2] = {next_random(&random), next_random(&random)};
        uint8_t bytes[sizeof(words)];
        memcpy(bytes, words, sizeof(words));
        /* Prefixes in a row, and all sizes that are left of a section. */
        size_t count = next_random(&random) % 4;
        for (size_t j = 0; j < count; j++)
            bytes[j] = prefixes[next_random(&random) % sizeof(prefixes)];
        compare(&comparison, bytes, next_random(&random) % (sizeof(bytes) + 1));
    }
    assert_true(comparison.by_table > comparison.asked / 10);
}

/* What most code is made of, the table has to know, or it would be of no use. */
TEST(common_instructions_are_in_the_table)
{
    static const struct {
        const uint8_t *bytes;
        size_t size;
    } common[] = {
        {BYTES("\x55")},                                 /* push %rbp */
        {BYTES("\x48\x89\xe5")},                         /* mov %rsp,%rbp */
        {BYTES("\x48\x83\xec\x10")},                     /* sub $0x10,%rsp */
        {BYTES("\x64\x48\x8b\x04\x25\x28\x00\x00\x00")}, /* mov %fs:0x28,%rax */
        {BYTES("\x48\x8d\x3d\x00\x00\x00\x00")},         /* lea 0(%rip),%rdi */
        {BYTES("\xe8\x00\x00\x00\x00")},                 /* call */
        {BYTES("\x41\xff\xd4")},                         /* call *%r12 */
        {BYTES("\x85\xc0")},                             /* test %eax,%eax */
        {BYTES("\x74\x05")},                             /* je */
        {BYTES("\x0f\x84\x00\x00\x00\x00")},             /* je */
        {BYTES("\x0f\xb6\x07")},                         /* movzbl (%rdi),%eax */
        {BYTES("\x0f\x11\x07")},                         /* movups %xmm0,(%rdi) */
        {BYTES("\xf2\x0f\x58\xc1")},                     /* addsd %xmm1,%xmm0 */
        {BYTES("\x0f\x1f\x40\x00")},                     /* nopl 0(%rax) */
        {BYTES("\xeb\x00")},                             /* jmp */
        {BYTES("\xc3")},                                 /* ret */
    };
    for (size_t i = 0; i < COUNT(common); i++) {
        struct bat_instruction found;
        if (!x86_decode_by_table(common[i].bytes, common[i].size, ADDRESS, &found))
            fail_msg("%zu is not in the table", i);
        assert_int_equal(found.length, common[i].size);
    }
}

/* push %rbp; lea 0(%rip),%rdi; call; movzbl (%rdi),%eax; nop; je; 15 bytes */
TEST(a_run_is_skipped_up_to_a_branch)
{
    static const uint8_t run[] = "\x55\x48\x8d\x3d\x00\x00\x00\x00\xe8\x00\x00\x00\x00\x0f\xb6\x07"
                                 "\x90\x74\x05\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90";
    assert_int_equal(bat_instructions_skip(EM_X86_64, run, sizeof(run) - 1), 17);
    assert_int_equal(bat_instructions_skip(EM_X86_64, run, LENGTH_MAX - 1), 0);
    assert_int_equal(bat_instructions_skip(EM_X86_64, run + 17, sizeof(run) - 18), 0);
    assert_int_equal(bat_instructions_skip(EM_AARCH64, run, sizeof(run) - 1), 0);
    /* The plain ones: up to the call, and from there on none. */
    assert_int_equal(bat_instructions_skip_plain(EM_X86_64, run, sizeof(run) - 1), 8);
    assert_int_equal(bat_instructions_skip_plain(EM_X86_64, run + 8, sizeof(run) - 9), 0);
    assert_int_equal(bat_instructions_skip_plain(EM_X86_64, run + 13, sizeof(run) - 14), 4);
}
