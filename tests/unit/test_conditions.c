/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* binary/code/conditions.c: which conditional branches test the same. */
#include "binary/code/conditions.h"
#include "elf_image.h"
#include "kept.h"
#include "unit_test.h"

/* The condition of the branch that these bytes are, in a program for this machine. */
static uint32_t condition_of(uint16_t machine, const char *bytes, size_t size)
{
    struct image image = image_new();
    uint64_t offset = image_append(&image, bytes, size);
    image_append(&image, NULL, 16);
    image_segment(&image, PT_LOAD, PF_R | PF_X, offset, size + 16);
    image_end(&image)->e_machine = machine;
    char *folder = make_folder();
    char *path = path_in(folder, "program");
    save(path, image.bytes, image.size);
    struct bat_elf *elf = open_elf(path);
    uint32_t condition = condition_at(elf, 0x400000 + offset);
    assert_int_equal(condition_at(elf, 0x100000), CONDITION_UNKNOWN);
    return condition;
}

#define CONDITION(machine, bytes) condition_of(machine, bytes, sizeof(bytes) - 1)

TEST(test_x86)
{
    uint32_t equal = CONDITION(EM_X86_64, "\x74\x05");
    assert_int_not_equal(equal, CONDITION_UNKNOWN);
    assert_int_equal(CONDITION(EM_X86_64, "\x0f\x84\1\2\3\4"), equal);
    assert_int_equal(CONDITION(EM_X86_64, "\x3e\x74\x7f"), equal);
    assert_int_equal(CONDITION(EM_X86_64, "\x75\x05"), CONDITION_OPPOSITE(equal));
    assert_int_not_equal(CONDITION(EM_X86_64, "\x76\x05"), equal);
    assert_int_equal(CONDITION(EM_X86_64, "\xeb\x05"), CONDITION_UNKNOWN);
}

TEST(test_aarch64)
{
    uint32_t equal = CONDITION(EM_AARCH64, "\x40\x00\x00\x54"); /* b.eq */
    uint32_t zero = CONDITION(EM_AARCH64, "\x43\x00\x00\xb4");  /* cbz x3 */
    uint32_t bit = CONDITION(EM_AARCH64, "\x43\x00\x10\x36");   /* tbz w3, #2 */
    assert_int_not_equal(equal, CONDITION_UNKNOWN);
    assert_int_not_equal(zero, CONDITION_UNKNOWN);
    assert_int_not_equal(bit, CONDITION_UNKNOWN);
    assert_int_equal(CONDITION(EM_AARCH64, "\x81\x00\x00\x54"), CONDITION_OPPOSITE(equal));
    assert_int_equal(CONDITION(EM_AARCH64, "\x83\x00\x00\xb5"), CONDITION_OPPOSITE(zero));
    assert_int_equal(CONDITION(EM_AARCH64, "\x83\x00\x10\x37"), CONDITION_OPPOSITE(bit));
    /* Another register, size, bit. */
    assert_int_not_equal(CONDITION(EM_AARCH64, "\x44\x00\x00\xb4"), zero);
    assert_int_not_equal(CONDITION(EM_AARCH64, "\x43\x00\x00\x34"), zero);
    assert_int_not_equal(CONDITION(EM_AARCH64, "\x43\x00\x18\x36"), bit);
    assert_int_equal(CONDITION(EM_AARCH64, "\x01\x00\x00\x14"), CONDITION_UNKNOWN);
}

/* What a compiler tests in the way that suits its registers. */
TEST(test_any_register)
{
    uint32_t equal = CONDITION(EM_AARCH64, "\x40\x00\x00\x54");   /* b.eq */
    uint32_t greater = CONDITION(EM_AARCH64, "\x4a\x00\x00\x54"); /* b.ge */
    uint32_t zero = CONDITION(EM_AARCH64, "\x43\x00\x00\xb4");    /* cbz x3 */
    uint32_t other = CONDITION(EM_AARCH64, "\x44\x00\x00\x35");   /* cbnz w4 */
    uint32_t bit = CONDITION(EM_AARCH64, "\x43\x00\x10\x36");     /* tbz w3, #2 */
    uint32_t sign = CONDITION(EM_AARCH64, "\x43\x00\xf8\x36");    /* tbz w3, #31 */
    uint32_t wide = CONDITION(EM_AARCH64, "\x43\x00\xf8\xb7");    /* tbnz x3, #63 */
    assert_int_equal(condition_of_any_register(equal), equal);
    assert_int_equal(condition_of_any_register(zero), equal);
    assert_int_equal(condition_of_any_register(other), CONDITION_OPPOSITE(equal));
    assert_int_equal(condition_of_any_register(bit), equal);
    assert_int_equal(condition_of_any_register(sign), greater);
    assert_int_equal(condition_of_any_register(wide), CONDITION_OPPOSITE(greater));
    assert_int_equal(condition_of_any_register(CONDITION_UNKNOWN), CONDITION_UNKNOWN);
    uint32_t below = CONDITION(EM_X86_64, "\x72\x05");
    assert_int_equal(condition_of_any_register(below), below);
}

/* What looks like a branch of x86-64 is none of another machine. */
/* Equality, signs and overflows are no orders. */
TEST(test_what_is_no_order)
{
    static const struct {
        uint8_t jcc;
        uint8_t number; /* of B.cond */
        uint32_t expected;
    } cases[] = {{0x74, 0, CONDITION_IS_EQUALITY},
                 {0x75, 1, CONDITION_IS_EQUALITY | CONDITION_IS_STRICT},
                 {0x78, 4, CONDITION_IS_SIGN | CONDITION_IS_LOWER},
                 {0x79, 5, CONDITION_IS_SIGN},
                 {0x70, 6, CONDITION_IS_OVERFLOW},
                 {0x71, 7, CONDITION_IS_OVERFLOW | CONDITION_IS_STRICT}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint32_t x86 = condition_in(EM_X86_64, (const uint8_t[]){cases[i].jcc, 0}, 2);
        uint32_t arm = condition_in(EM_AARCH64, (const uint8_t[]){cases[i].number, 0, 0, 0x54}, 4);
        assert_int_equal(condition_order(x86), cases[i].expected);
        assert_int_equal(condition_order(arm), cases[i].expected);
    }
    /* A parity is set behind a comparison with what is no number: B.VS. */
    assert_int_equal(condition_order(CONDITION(EM_X86_64, "\x7a\x05")), CONDITION_IS_OVERFLOW);
    assert_int_equal(condition_order(CONDITION(EM_X86_64, "\x7b\x05")),
                     CONDITION_IS_OVERFLOW | CONDITION_IS_STRICT);
}

TEST(test_other_machine)
{
    assert_int_equal(CONDITION(EM_RISCV, "\x75\xc1\x00\x00"), CONDITION_UNKNOWN);
}
