/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* next/instruction_x86.c: what the condition behind an instruction tells; which are known. */
#include "functions_program.h"
#include "kept.h"
#include "next/instruction_aarch64.h"
#include "next/known_instructions.h"
#include "unit_test.h"

#define CODE(string) string, sizeof(string) - 1

static void close_program(void *program)
{
    next_program_free(program);
}

static const struct next_program *open_saved(const char *path)
{
    struct next_program *opened = kept_memory(NULL, sizeof(*opened));
    struct bat_error error;
    assert_ok(next_program_open(open_elf(path), NULL, 1, opened, &error));
    keep(close_program, opened);
    return opened;
}

static const struct next_program *open_program(void)
{
    struct program *program = new_program(EM_X86_64);
    char *path = path_in(make_folder(), "program");
    add_global(program, "f", TEXT, 16);
    save_program(program, path);
    return open_saved(path);
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
        {CODE("\x01\xf7"), NEXT_TEST_SUM},              /* add %esi,%edi */
        {CODE("\x48\x03\x3e"), NEXT_TEST_SUM},          /* add (%rsi),%rdi */
        {CODE("\x83\xc7\xd0"), NEXT_TEST_RESULT},       /* add $-48,%edi */
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

/* Instructions of the same bytes are described once; what depends on where they are is not. */
TEST(test_descriptions_that_are_known)
{
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {
        {CODE("\x48\x89\xdf")},                 /* mov %rbx,%rdi */
        {CODE("\x48\x89\x6c\x24\x08")},         /* mov %rbp,8(%rsp) */
        {CODE("\xbf\x10\x10\x40\0")},           /* mov $0x401010,%edi */
        {CODE("\xbf\x03\0\0\0")},               /* mov $3,%edi */
        {CODE("\x8b\x87\x10\x10\x40\0")},       /* mov 0x401010(%rdi),%eax */
        {CODE("\x48\x8d\x3d\xf9\xff\xff\xff")}, /* lea -7(%rip),%rdi */
        {CODE("\x48\x8d\x3d\xe9\xff\xff\xff")}, /* lea -23(%rip),%rdi */
        {CODE("\xe8\xfb\xff\xff\xff")},         /* call 0 */
        {CODE("\xe8\xeb\xff\xff\xff")},         /* call -16 */
        {CODE("\xe9\xeb\xff\xff\xff")},         /* jmp -16 */
        {CODE("\xeb\xee")},                     /* jmp -16 */
        {CODE("\x74\xee")},                     /* je -16 */
        {CODE("\x0f\x84\xea\xff\xff\xff")},     /* je -16 */
        {CODE("\x0f\x85\xea\xff\xff\xff")},     /* jne -16 */
        {CODE("\xf0\x48\x0f\xb1\x17")},         /* lock cmpxchg %rdx,(%rdi) */
        {CODE("\xc5\xf8\x28\xc1")},             /* vmovaps %xmm1,%xmm0 */
        {CODE("\x66\x0f\x1f\x84\0\0\0\0\0")},   /* nopw 0(%rax,%rax) */
        {CODE("\xff\x25\xfa\xff\xff\xff")},     /* jmp *-6(%rip) */
    };
    const struct next_program *program = open_program();
    struct next_program without = *program;
    without.known = NULL;
    assert_non_null(program->known);
    for (unsigned round = 0; round < 3; round++)
        for (size_t i = 0; i < COUNT(cases); i++) {
            const uint64_t address = TEXT + 16 * round;
            const uint8_t *bytes = (const uint8_t *)cases[i].bytes;
            struct next_instruction all[2] = {{0}, {0}};
            uint32_t lengths[2];
            assert_true(
                next_describe_x86(program, bytes, cases[i].size, address, &all[0], &lengths[0]));
            assert_true(
                next_describe_x86(&without, bytes, cases[i].size, address, &all[1], &lengths[1]));
            assert_int_equal(lengths[0], lengths[1]);
            assert_int_equal(all[0].kind, all[1].kind);
            assert_int_equal(all[0].shape, all[1].shape);
            assert_int_equal(all[0].exact, all[1].exact);
            assert_int_equal(all[0].name, all[1].name);
            assert_int_equal(all[0].field, all[1].field);
            assert_int_equal(all[0].constant, all[1].constant);
            assert_int_equal(all[0].callee, all[1].callee);
            assert_int_equal(all[0].flags, all[1].flags);
            assert_int_equal(all[0].test, all[1].test);
        }
}

static bool is_known(const struct next_program *program, const char *bytes, size_t size)
{
    uint64_t key[2] = {0, 0};
    struct next_instruction instruction;
    uint32_t length;
    assert_true(
        next_describe_x86(program, (const uint8_t *)bytes, size, TEXT, &instruction, &length));
    memcpy(key, bytes, size);
    return next_known_find(program->known, key, &instruction);
}

TEST(test_what_is_known)
{
    const struct next_program *program = open_program();
    assert_true(is_known(program, CODE("\x48\x89\xdf")));                  /* mov %rbx,%rdi */
    assert_true(is_known(program, CODE("\x8b\x87\x10\x10\x40\0")));        /* mov N(%rdi),%eax */
    assert_true(is_known(program, CODE("\xe8\0\0\0\0")));                  /* call: any of them */
    assert_false(is_known(program, CODE("\x48\x8d\x3d\xf9\xff\xff\xff"))); /* lea -7(%rip),%rdi */
}

/* A program at fixed addresses with a relocation of the linker at an offset of .text. */
static const struct next_program *open_linked(uint64_t offset, uint32_t type)
{
    const Elf64_Rela relocation = {.r_offset = TEXT + offset, .r_info = ELF64_R_INFO(1, type)};
    static const uint8_t zeros[TEXT_SIZE];
    struct image image = image_new();
    struct symbols symbols = {.count = 1, .size = 1};
    char *path = path_in(make_folder(), "program");
    add_symbol(&symbols, "datum", STT_OBJECT, STB_GLOBAL, 2, DATA, 8);
    add_symbol(&symbols, "f", STT_FUNC, STB_GLOBAL, IN_TEXT, TEXT, 64);
    put_section(&image, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, zeros, TEXT_SIZE);
    put_section(&image, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, DATA, zeros, DATA_SIZE);
    image_segment(&image, PT_LOAD, PF_R | PF_X, 0, image.size);
    const uint32_t symtab = (uint32_t)image.section_count;
    put_symbols(&image, &symbols, SHT_SYMTAB, 0, 0, 0, false);
    put_section(&image, ".rela.text", SHT_RELA, SHF_INFO_LINK, 0, &relocation, sizeof(relocation));
    image.sections[symtab + 2].sh_link = symtab;
    image.sections[symtab + 2].sh_info = 1;
    image_end(&image)->e_type = ET_EXEC;
    save(path, image.bytes, image.size);
    return open_saved(path);
}

/* Of instructions with the same bytes, one with an address that the linker has filled in has a
 * name, the others have a number. */
TEST(test_numbers_of_the_linker)
{
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {
        {CODE("\xbf\0\x50\x40\0")},               /* mov $datum,%edi */
        {CODE("\x8b\x87\0\x50\x40\0")},           /* mov datum(%rdi),%eax */
        {CODE("\xc7\x87\x08\0\0\0\0\x50\x40\0")}, /* movl $datum,8(%rdi) */
        {CODE("\xc6\x80\0\x50\x40\0\x01")},       /* movb $1,datum(%rax) */
    };
    static const uint64_t offsets[] = {1, 2, 6, 2};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct next_program *program = open_linked(16 + offsets[i], R_X86_64_32);
        for (unsigned at = 0; at < 6; at++) {
            struct next_instruction found;
            uint32_t length;
            assert_true(next_describe_x86(program, (const uint8_t *)cases[i].bytes, cases[i].size,
                                          TEXT + 16 * (at % 3), &found, &length));
            assert_int_equal(length, cases[i].size);
            assert_int_equal(found.name != 0, at % 3 == 1);
        }
    }
}

TEST(test_distances_of_the_linker)
{
    static const uint8_t bytes[] = {0x64, 0x8b, 0x04, 0x25, 0xf8, 0xff, 0xff, 0xff};
    const struct next_program *program = open_linked(16 + 4, R_X86_64_TPOFF32);
    for (unsigned at = 0; at < 6; at++) { /* mov %fs:-8,%eax */
        struct next_instruction found;
        uint32_t length;
        assert_true(next_describe_x86(program, bytes, sizeof(bytes), TEXT + 16 * (at % 3), &found,
                                      &length));
        assert_int_equal(found.field == 0, at % 3 == 1);
    }
}
