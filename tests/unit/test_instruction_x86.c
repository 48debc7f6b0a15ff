/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* next/instruction_x86.c: what the condition behind an instruction tells. */
#include "functions_program.h"
#include "kept.h"
#include "next/instruction_aarch64.h"
#include "unit_test.h"

#define CODE(string) string, sizeof(string) - 1

static void close_program(void *program)
{
    next_program_free(program);
}

static const struct next_program *open_program(void)
{
    struct next_program *opened = kept_memory(NULL, sizeof(*opened));
    struct program *program = new_program(EM_X86_64);
    char *path = path_in(make_folder(), "program");
    struct bat_error error;
    add_global(program, "f", TEXT, 16);
    save_program(program, path);
    assert_ok(next_program_open(open_elf(path), NULL, 1, opened, &error));
    keep(close_program, opened);
    return opened;
}

/* The bytes are of the assembler. */
TEST(test_what_conditions_tell)
{
    static const struct {
        const char *bytes;
        size_t size;
        enum next_test test;
    } cases[] = {
        {CODE("\x48\x85\xff"), NEXT_TEST_NULL},         /* test %rdi,%rdi */
        {CODE("\x85\xff"), NEXT_TEST_ZERO},             /* test %edi,%edi */
        {CODE("\x84\xc0"), NEXT_TEST_ZERO},             /* test %al,%al */
        {CODE("\x85\xfe"), NEXT_TEST_BITS},             /* test %edi,%esi */
        {CODE("\xf7\xc7\x03\0\0\0"), NEXT_TEST_BITS},   /* test $3,%edi */
        {CODE("\x0f\xba\xe7\x03"), NEXT_TEST_BITS},     /* bt $3,%edi */
        {CODE("\x83\xff\0"), NEXT_TEST_ZERO},           /* cmp $0,%edi */
        {CODE("\x48\x83\xff\0"), NEXT_TEST_NULL},       /* cmp $0,%rdi */
        {CODE("\x83\xff\x05"), NEXT_TEST_CONSTANT},     /* cmp $5,%edi */
        {CODE("\x48\x83\xff\xff"), NEXT_TEST_CONSTANT}, /* cmp $-1,%rdi */
        {CODE("\x39\xf7"), NEXT_TEST_VALUES},           /* cmp %esi,%edi */
        {CODE("\x48\x3b\x3e"), NEXT_TEST_VALUES},       /* cmp (%rsi),%rdi */
        {CODE("\x48\x83\x7e\x08\0"), NEXT_TEST_NULL},   /* cmpq $0,8(%rsi) */
        {CODE("\x66\x0f\x2e\xc1"), NEXT_TEST_VALUES},   /* ucomisd %xmm1,%xmm0 */
        {CODE("\x83\xef\x01"), NEXT_TEST_RESULT},       /* sub $1,%edi */
        {CODE("\x83\xe7\x03"), NEXT_TEST_RESULT},       /* and $3,%edi */
        {CODE("\x89\xf7"), NEXT_TEST_NONE},             /* mov %esi,%edi */
        {CODE("\x48\x8d\x7e\x08"), NEXT_TEST_NONE},     /* lea 8(%rsi),%rdi */
    };
    const struct next_program *program = open_program();
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct next_instruction instruction = {0};
        uint32_t length;
        assert_true(next_describe_x86(program, (const uint8_t *)cases[i].bytes, cases[i].size, TEXT,
                                      &instruction, &length));
        assert_int_equal(length, cases[i].size);
        assert_int_equal(instruction.test, cases[i].test);
    }
}
