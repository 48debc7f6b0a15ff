/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* next/tables_aarch64.c: where jumps by tables lead. */
#include "functions_program.h"
#include "kept.h"
#include "next/tables_aarch64.h"
#include "unit_test.h"

/* A function with one indirect jump, as GNU as makes it at TEXT. adrp leads to DATA. */
struct code {
    const char *name;
    uint32_t words[16];
    uint32_t count;
};

/* clang-format off */
static const struct code signed_bytes = {"signed_bytes", {
    0x90000021, /* adrp x1, DATA */
    0x91000021, /* add  x1, x1, #0 */
    0xf90007e1, /* str  x1, [sp, #8] */
    0x7100081f, /* cmp  w0, #2 */
    0x54000069, /* b.ls 1f */
    0x52800020, /* mov  w0, #1: not on the way to the jump */
    0xd65f03c0, /* ret */
    0xf94007e3, /* 1: ldr x3, [sp, #8] */
    0x38604862, /* ldrb w2, [x3, w0, uxtw] */
    0x10000064, /* adr  x4, 2f */
    0x8b228882, /* add  x2, x4, w2, sxtb #2 */
    0xd61f0040, /* br   x2 */
    0xd503201f, /* 2: nop */
    0xd65f03c0, /* ret */
}, 14};

static const struct code bytes = {"bytes", {
    0x2a0003e8, /* mov  w8, w0 */
    0x7100081f, /* cmp  w0, #2: the copy is the index */
    0x54000108, /* b.hi 1f */
    0x90000029, /* adrp x9, DATA */
    0x91000129, /* add  x9, x9, #0 */
    0x1000008a, /* adr  x10, 2f */
    0x3868692b, /* ldrb w11, [x9, x8] */
    0x8b0b094a, /* add  x10, x10, x11, lsl #2 */
    0xd61f0140, /* br   x10 */
    0xd503201f, /* 2: nop */
    0xd65f03c0, /* 1: ret */
}, 11};

static const struct code halfwords = {"halfwords", {
    0x12000400, /* and  w0, w0, #3 */
    0x90000021, /* adrp x1, DATA */
    0x91004021, /* add  x1, x1, #0x10 */
    0x10000084, /* adr  x4, 2f */
    0x78605822, /* ldrh w2, [x1, w0, uxtw #1] */
    0x8b22a882, /* add  x2, x4, w2, sxth #2 */
    0xd61f0040, /* br   x2 */
    0xd503201f, /* 2: nop */
    0xd65f03c0, /* ret */
}, 9};

static const struct code words = {"words", {
    0x53041000, /* ubfx w0, w0, #4, #1 */
    0x2a0003e5, /* mov  w5, w0 */
    0x90000021, /* adrp x1, DATA */
    0x91008021, /* add  x1, x1, #0x20: the entries are distances from here */
    0xb8a57822, /* ldrsw x2, [x1, x5, lsl #2] */
    0x8b020022, /* add  x2, x1, x2 */
    0xd61f0040, /* br   x2 */
    0xd65f03c0, /* ret */
}, 8};

static const struct code addresses = {"addresses", {
    0x90000021, /* adrp x1, DATA */
    0x91010021, /* add  x1, x1, #0x40 */
    0x97fffffe, /* bl   .-8: of a function that leaves x1 alone */
    0xf8607820, /* ldr  x0, [x1, x0, lsl #3] */
    0xd61f0000, /* br   x0 */
    0xd503201f, /* nop */
    0xd65f03c0, /* ret */
}, 7};

/* Nothing says how many entries there are. */
static const struct code unlimited = {"unlimited", {
    0x90000021, /* adrp x1, DATA */
    0x91000021, /* add  x1, x1, #0 */
    0x10000084, /* adr  x4, 2f */
    0x38604822, /* ldrb w2, [x1, w0, uxtw] */
    0x8b228882, /* add  x2, x4, w2, sxtb #2 */
    0xd61f0040, /* br   x2 */
    0xd65f03c0, /* 2: ret */
}, 7};

/* The comparison is of another value of the register. */
static const struct code other_value = {"other_value", {
    0x7100081f, /* cmp  w0, #2 */
    0x52800020, /* mov  w0, #1 */
    0x90000021, /* adrp x1, DATA */
    0x91000021, /* add  x1, x1, #0 */
    0x10000084, /* adr  x4, 2f */
    0x38604822, /* ldrb w2, [x1, w0, uxtw] */
    0x8b228882, /* add  x2, x4, w2, sxtb #2 */
    0xd61f0040, /* br   x2 */
    0xd65f03c0, /* 2: ret */
}, 9};

static const struct code tail_call = {"tail_call", {
    0xf9400410, /* ldr x16, [x0, #8] */
    0xd61f0200, /* br  x16 */
}, 2};
/* clang-format on */

/* The jump's table in a program with this function and these data; then come bytes that are no
 * distances in it. */
static void read_table(const struct code *code, const void *data, size_t size,
                       struct next_read_tables *tables)
{
    static uint8_t text[TEXT_SIZE];
    uint8_t content[DATA_SIZE];
    memset(content, 0x7f, sizeof(content));
    memcpy(content, data, size);
    memset(text, 0, sizeof(text));
    memcpy(text, code->words, code->count * 4);
    struct image image = image_new();
    struct symbols symbols = {.count = 1, .size = 1};
    add_symbol(&symbols, code->name, STT_FUNC, STB_GLOBAL, IN_TEXT, TEXT, code->count * 4);
    put_section(&image, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, text, TEXT_SIZE);
    put_section(&image, ".rodata", SHT_PROGBITS, SHF_ALLOC, DATA, content, DATA_SIZE);
    image_segment(&image, PT_LOAD, PF_R | PF_X, 0, image.size);
    put_symbols(&image, &symbols, SHT_SYMTAB, 0, 0, 0, false);
    image_end(&image)->e_machine = EM_AARCH64;
    char *folder = make_folder();
    char *path = path_in(folder, "program");
    save(path, image.bytes, image.size);

    struct bat_elf *elf;
    struct bat_error error;
    struct next_program program;
    struct code_sweep sweep;
    elf = open_elf(path);
    assert_ok(next_program_open(elf, NULL, 1, &program, &error));
    assert_ok(code_sweep_function(program.reader, 0, &sweep, &error));
    *tables = (struct next_read_tables){.count = 0};
    assert_true(next_read_tables_aarch64(&program, 0, &sweep, tables));
    assert_int_equal(tables->count, 1);
    code_sweep_free(&sweep);
    next_program_free(&program);
}

/* jump and targets are in words from the function's start. */
static void expect_table(const struct code *code, const void *data, size_t size, uint32_t jump,
                         const uint32_t *targets, uint32_t count)
{
    struct next_read_tables tables;
    read_table(code, data, size, &tables);
    const struct next_read_table *table = &tables.all[0];
    assert_int_equal(table->jump, jump * 4);
    assert_int_equal(table->count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(table->targets[i], targets[i] * 4);
    next_read_tables_free(&tables);
}

TEST(test_bytes)
{
    static const int8_t distances[] = {1, 0, -1};
    static const uint32_t targets[] = {13, 12, 11};
    expect_table(&signed_bytes, distances, sizeof(distances), 11, targets, 3);
    static const uint8_t unsigned_ones[] = {0, 1, 0};
    static const uint32_t others[] = {9, 10, 9};
    expect_table(&bytes, unsigned_ones, sizeof(unsigned_ones), 8, others, 3);
}

/* 255 is -1 with a sign, and far away without. */
TEST(test_sign)
{
    static const uint8_t distances[] = {0, 255, 0};
    static const uint32_t targets[] = {12, 11, 12};
    expect_table(&signed_bytes, distances, sizeof(distances), 11, targets, 3);
    expect_table(&bytes, distances, sizeof(distances), 8, NULL, 0);
}

TEST(test_halfwords)
{
    int16_t distances[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, -7, 1}; /* from 0x10 on */
    static const uint32_t targets[] = {7, 8, 0, 8};
    expect_table(&halfwords, distances, sizeof(distances), 6, targets, 4);
}

TEST(test_words)
{
    int32_t distances[10] = {0}; /* from 0x20 on */
    distances[8] = (int32_t)(TEXT + 7 * 4 - (DATA + 0x20));
    distances[9] = (int32_t)(TEXT - (DATA + 0x20));
    static const uint32_t targets[] = {7, 0};
    expect_table(&words, distances, sizeof(distances), 6, targets, 2);
}

/* A table of addresses ends with what is none. */
TEST(test_addresses)
{
    uint64_t all[12] = {0}; /* from 0x40 on */
    all[8] = TEXT + 6 * 4;
    all[9] = TEXT + 5 * 4;
    all[10] = TEXT + 6 * 4;
    all[11] = TEXT + 0x300;
    static const uint32_t targets[] = {6, 5, 6};
    expect_table(&addresses, all, sizeof(all), 4, targets, 3);
}

TEST(test_unknown)
{
    static const uint8_t distances[] = {0, 0, 0};
    expect_table(&unlimited, distances, sizeof(distances), 5, NULL, 0);
    expect_table(&other_value, distances, sizeof(distances), 7, NULL, 0);
    expect_table(&tail_call, distances, sizeof(distances), 1, NULL, 0);
}
