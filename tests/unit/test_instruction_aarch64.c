/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* next/instruction_aarch64.c: what an instruction of AArch64 is, and what it refers to. */
#include "functions_program.h"
#include "kept.h"
#include "next/instruction_aarch64.h"
#include "next/references.h"
#include "unit_test.h"

#define WORDS_MAX 1024u

/* --- The program ------------------------------------------------------------------------------
 * Two functions, veneers of the second one, two data.
 */

#define FIRST_DATUM (DATA + 0x10)
#define SECOND_DATUM (DATA + 0x80)
#define SIZE_DATUM 0x20u

struct opened {
    char *folder;
    char *path;
    struct bat_elf *elf;
    struct next_program program;
};

static const Elf64_Rela relocations[] = {
    {.r_offset = TEXT + 0x100, .r_info = ELF64_R_INFO(5, R_AARCH64_ADR_PREL_PG_HI21)},
    {.r_offset = TEXT + 0x104, .r_info = ELF64_R_INFO(5, R_AARCH64_ADD_ABS_LO12_NC), .r_addend = 0},
    {.r_offset = TEXT + 0x108,
     .r_info = ELF64_R_INFO(5, R_AARCH64_LDST64_ABS_LO12_NC),
     .r_addend = 8},
    {.r_offset = TEXT + 0x10c, .r_info = ELF64_R_INFO(99, R_AARCH64_LDST64_ABS_LO12_NC)},
    {.r_offset = TEXT + 0x110, .r_info = ELF64_R_INFO(1, R_AARCH64_CALL26)},
};

static void save_opened(const char *path, bool with_relocations)
{
    static uint8_t text[TEXT_SIZE];
    static const uint8_t zeros[DATA_SIZE];
    for (size_t i = 0; i < sizeof(text); i += 4)
        memcpy(text + i, "\xc0\x03\x5f\xd6", 4);
    memcpy(text + 0x200, "\x10\x50\x40\0\0\0\0\0\x78\x56\x34\x12", 12);
    struct image image = image_new();
    struct symbols symbols = {.count = 1, .size = 1};
    add_symbol(&symbols, "one", STT_FUNC, STB_GLOBAL, IN_TEXT, TEXT, 0x200);
    add_symbol(&symbols, "two", STT_FUNC, STB_GLOBAL, IN_TEXT, TEXT + 0x210, 0x10);
    add_symbol(&symbols, "__two_veneer", STT_FUNC, STB_LOCAL, IN_TEXT, TEXT + 0x220, 0x10);
    add_symbol(&symbols, "__AArch64ADRPThunk_two", STT_FUNC, STB_LOCAL, IN_TEXT, TEXT + 0x230,
               0x10);
    add_symbol(&symbols, "first", STT_OBJECT, STB_GLOBAL, 2, FIRST_DATUM, SIZE_DATUM);
    add_symbol(&symbols, "second", STT_OBJECT, STB_GLOBAL, 2, SECOND_DATUM, SIZE_DATUM);
    put_section(&image, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, text, TEXT_SIZE);
    put_section(&image, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, DATA, zeros, DATA_SIZE);
    image_segment(&image, PT_LOAD, PF_R | PF_X, 0, image.size);
    uint32_t symtab = (uint32_t)image.section_count;
    put_symbols(&image, &symbols, SHT_SYMTAB, 0, 0, 0, false);
    if (with_relocations) {
        put_section(&image, ".rela.text", SHT_RELA, SHF_INFO_LINK, 0, relocations,
                    sizeof(relocations));
        image.sections[symtab + 2].sh_link = symtab;
        image.sections[symtab + 2].sh_info = 1;
    }
    Elf64_Ehdr *header = image_end(&image);
    header->e_machine = EM_AARCH64;
    header->e_type = ET_EXEC;
    save(path, image.bytes, image.size);
}

static void close_program(void *program)
{
    next_program_free(program);
}

static struct opened *open_program(bool with_relocations)
{
    struct opened *opened = kept_memory(NULL, sizeof(*opened));
    opened->folder = make_folder();
    opened->path = path_in(opened->folder, "program");
    save_opened(opened->path, with_relocations);
    struct bat_error error;
    opened->elf = open_elf(opened->path);
    assert_ok(next_program_open(opened->elf, NULL, 1, &opened->program, &error));
    keep(close_program, &opened->program);
    return opened;
}

/* Describe count words that are in one block from address on. */
static void describe(const struct opened *opened, uint64_t address, const uint32_t *words,
                     size_t count, struct next_instruction *found)
{
    struct next_pages pages = {.known = 0};
    for (size_t i = 0; i < count; i++) {
        uint32_t length = 0;
        const uint8_t *bytes = (const uint8_t *)(words + i);
        assert_true(next_describe_aarch64(&opened->program, &pages, bytes, (count - i) * 4,
                                          address + i * 4, &found[i], &length));
        assert_int_equal(length, 4);
    }
    uint32_t length;
    assert_false(next_describe_aarch64(&opened->program, &pages, (const uint8_t *)words, 3, address,
                                       &found[0], &length));
}

static struct next_instruction describe_one(const struct opened *opened, uint32_t word)
{
    struct next_instruction found;
    describe(opened, TEXT, &word, 1, &found);
    return found;
}

/* --- objdump's listing ------------------------------------------------------------------------ */

struct row {
    uint32_t word;
    char *columns[3]; /* the mnemonic, with kinds of operands, all of it; in line */
    char line[256];
    struct next_instruction described;
};

static size_t read_rows(const struct opened *opened, struct row *rows)
{
    FILE *file = fopen(TEST_DATA "/aarch64/instructions.txt", "r");
    assert_non_null(file);
    size_t count = 0;
    for (; count < WORDS_MAX && fgets(rows[count].line, sizeof(rows->line), file); count++) {
        struct row *row = &rows[count];
        char *rest = NULL;
        row->word = (uint32_t)strtoul(strtok_r(row->line, "\t\n", &rest), NULL, 16);
        for (int i = 0; i < 3; i++) {
            row->columns[i] = strtok_r(NULL, "\t\n", &rest);
            assert_non_null(row->columns[i]);
        }
        row->described = describe_one(opened, row->word);
    }
    fclose(file);
    assert_in_range(count, 600, WORDS_MAX - 1);
    return count;
}

static void expect(const struct row *a, const struct row *b, bool is_right, const char *what)
{
    if (!is_right)
        fail_msg("%s: %08x %s, %08x %s", what, a->word, a->columns[2], b->word, b->columns[2]);
}

/* The hashes are equal where objdump says the same, and nowhere else. */
TEST(test_listing)
{
    struct opened *opened = open_program(false);
    struct row *rows = calloc(WORDS_MAX, sizeof(*rows));
    assert_non_null(rows);
    size_t count = read_rows(opened, rows);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++) {
            const struct row *a = &rows[i];
            const struct row *b = &rows[k];
            const struct next_instruction *x = &a->described;
            const struct next_instruction *y = &b->described;
            bool is_equal[3];
            for (int n = 0; n < 3; n++)
                is_equal[n] = strcmp(a->columns[n], b->columns[n]) == 0;
            expect(a, b, x->kind != y->kind || is_equal[0], "other mnemonics of one kind");
            expect(a, b, (x->shape == y->shape) == is_equal[1], "shapes");
            expect(a, b, (x->exact == y->exact) == is_equal[2], "exact hashes");
            expect(a, b, x->shape != y->shape || x->kind == y->kind, "kinds of one shape");
        }
    }
    free(rows);
}

/* The mnemonic is the same whatever the size, the form of the address, and the second operand. */
TEST(test_kinds)
{
    static const uint32_t same[][2] = {
        {0xf9400041, 0xb9400041}, /* ldr x1, [x2]; ldr w1, [x2] */
        {0xf9400041, 0xf8408441}, /* ... ldr x1, [x2], #8 */
        {0xf9400041, 0xf8636841}, /* ... ldr x1, [x2, x3] */
        {0xf9400041, 0xf85f8041}, /* ... ldur x1, [x2, #-8] */
        {0x3dc00041, 0xfd400041}, /* ldr q1, [x2]; ldr d1, [x2] */
        {0x91002041, 0x8b030041}, /* add x1, x2, #8; add x1, x2, x3 */
        {0x91002041, 0x8b23c041}, /* ... add x1, x2, w3, sxtw */
        {0x7100203f, 0xeb02003f}, /* cmp w1, #8; cmp x1, x2 */
        {0x92401c41, 0x8a030041}, /* and x1, x2, #0xff; and x1, x2, x3 */
        {0xd28000e1, 0xaa0203e1}, /* mov x1, #7; mov x1, x2 */
        {0xd28000e1, 0x910003e1}, /* ... mov x1, sp */
        {0xd28000e1, 0x928000c1}, /* ... mov x1, #-7 */
        {0xd28000e1, 0xb200f3e1}, /* ... mov x1, #0x5555555555555555 */
        {0x54000000, 0x5400004b}, /* b.eq; b.lt */
        {0xb4000041, 0x35000001}, /* cbz x1; cbnz w1 */
        {0x36180001, 0xb7400041}, /* tbz w1, #3; tbnz x1, #40 */
        {0x10000001, 0x90000001}, /* adr; adrp, which linkers replace */
    };
    struct opened *opened = open_program(false);
    for (size_t i = 0; i < COUNT(same); i++)
        assert_int_equal(describe_one(opened, same[i][0]).kind,
                         describe_one(opened, same[i][1]).kind);
}

/* --- Numbers ---------------------------------------------------------------------------------- */

TEST(test_numbers)
{
    struct opened *opened = open_program(false);
    /* Numbers, by their size, whatever the instruction does with them. */
    uint32_t eight = describe_one(opened, 0x91002041).constant; /* add x1, x2, #8 */
    assert_int_not_equal(eight, 0);
    assert_int_equal(describe_one(opened, 0xd1002041).constant, eight);     /* sub x1, x2, #8 */
    assert_int_equal(describe_one(opened, 0xd2800101).constant, eight);     /* mov x1, #8 */
    assert_int_equal(describe_one(opened, 0x928000e1).constant, eight);     /* mov x1, #-8 */
    assert_int_equal(describe_one(opened, 0x128000e1).constant, eight);     /* mov w1, #-8 */
    assert_int_equal(describe_one(opened, 0x7100203f).constant, eight);     /* cmp w1, #8 */
    assert_int_equal(describe_one(opened, 0x321d03e1).constant, eight);     /* orr w1, wzr, #8 */
    assert_int_equal(describe_one(opened, 0x36180001).constant, eight);     /* tbz w1, #3 */
    assert_int_equal(describe_one(opened, 0xd378dc41).constant, eight);     /* lsl x1, x2, #8 */
    assert_int_equal(describe_one(opened, 0x53087c41).constant, eight);     /* lsr w1, w2, #8 */
    assert_int_equal(describe_one(opened, 0xf8408441).constant, eight);     /* ldr x1, [x2], #8 */
    assert_int_not_equal(describe_one(opened, 0x91004041).constant, eight); /* add x1, x2, #16 */
    assert_int_equal(describe_one(opened, 0xd2800001).constant, 0);         /* mov x1, #0 */
    assert_int_equal(describe_one(opened, 0x91402041).constant,  /* add x1, x2, #8, lsl #12 */
                     describe_one(opened, 0x52900001).constant); /* mov w1, #0x8000 */
    /* A number in two instructions: mov w1, #0x8; movk w1, #0x8, lsl #16; */
    static const uint32_t wide[] = {0x52800101, 0xd503201f, 0x72a00101};
    static const uint32_t alone[] = {0x52800101, 0xd503201f, 0x72a00102}; /* another register */
    struct next_instruction found[3];
    describe(opened, TEXT, wide, 3, found);
    uint32_t both = found[0].constant;
    assert_int_not_equal(both, eight);
    describe(opened, TEXT, alone, 3, found);
    assert_int_equal(found[0].constant, eight);
    /* Places in structures, in bytes; none on the stack. */
    uint32_t field = describe_one(opened, 0xf9400441).field; /* ldr x1, [x2, #8] */
    assert_int_not_equal(field, 0);
    assert_int_equal(describe_one(opened, 0x39002041).field, field);     /* strb w1, [x2, #8] */
    assert_int_equal(describe_one(opened, 0x79401041).field, field);     /* ldrh w1, [x2, #8] */
    assert_int_equal(describe_one(opened, 0xf8008c41).field, field);     /* str x1, [x2, #8]! */
    assert_int_equal(describe_one(opened, 0x29410c41).field, field);     /* ldp w1, w3, [x2, #8] */
    assert_int_equal(describe_one(opened, 0xfd400441).field, field);     /* ldr d1, [x2, #8] */
    assert_int_not_equal(describe_one(opened, 0xf85f8041).field, field); /* ldr x1, [x2, #-8] */
    assert_int_equal(describe_one(opened, 0x3dc00841).field,             /* ldr q1, [x2, #32] */
                     describe_one(opened, 0xa9420c41).field);            /* ldp x1, x3, [x2, #32] */
    assert_int_equal(describe_one(opened, 0xf94007e1).field, 0);         /* ldr x1, [sp, #8] */
    assert_int_equal(describe_one(opened, 0xf94017a1).field, 0);         /* ldr x1, [x29, #40] */
    assert_int_equal(describe_one(opened, 0xa9bd7bfd).constant, 0); /* stp x29, x30, [sp, #-48]! */
    assert_int_equal(describe_one(opened, 0x910023e1).constant, 0); /* add x1, sp, #8 */
    assert_int_equal(describe_one(opened, 0xd10083ff).constant, 0); /* sub sp, sp, #32 */
}

/* --- Branches --------------------------------------------------------------------------------- */

/* The words are of the assembler. */
TEST(test_what_conditions_tell)
{
    struct opened *opened = open_program(true);
    static const struct {
        uint32_t word;
        enum next_test test;
    } cases[] = {
        {0xb4000041, NEXT_TEST_NULL},     /* cbz x1 */
        {0x35000041, NEXT_TEST_ZERO},     /* cbnz w1 */
        {0x37180041, NEXT_TEST_BITS},     /* tbnz w1, #3 */
        {0x36f80041, NEXT_TEST_ZERO},     /* tbz w1, #31 */
        {0xb6f80041, NEXT_TEST_NULL},     /* tbz x1, #63 */
        {0xf100003f, NEXT_TEST_NULL},     /* cmp x1, #0 */
        {0x7100143f, NEXT_TEST_CONSTANT}, /* cmp w1, #5 */
        {0x3100043f, NEXT_TEST_CONSTANT}, /* cmn w1, #1 */
        {0x6b02003f, NEXT_TEST_VALUES},   /* cmp w1, w2 */
        {0xeb22c03f, NEXT_TEST_VALUES},   /* cmp x1, w2, sxtw */
        {0x71000421, NEXT_TEST_RESULT},   /* subs w1, w1, #1 */
        {0xab020021, NEXT_TEST_RESULT},   /* adds x1, x1, x2 */
        {0x7200043f, NEXT_TEST_BITS},     /* tst w1, #3 */
        {0x6a01003f, NEXT_TEST_ZERO},     /* tst w1, w1 */
        {0x6a02003f, NEXT_TEST_BITS},     /* tst w1, w2 */
        {0x7a451820, NEXT_TEST_CONSTANT}, /* ccmp w1, #5, #0, ne */
        {0x7a421020, NEXT_TEST_VALUES},   /* ccmp w1, w2, #0, ne */
        {0x1e602020, NEXT_TEST_VALUES},   /* fcmp d1, d0 */
        {0x0b020021, NEXT_TEST_NONE},     /* add w1, w1, w2 */
        {0x12000421, NEXT_TEST_NONE},     /* and w1, w1, #3 */
        {0x54000041, NEXT_TEST_NONE},     /* b.ne */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(describe_one(opened, cases[i].word).test, cases[i].test);
}

TEST(test_branches)
{
    struct opened *opened = open_program(false);
    struct next_instruction call;
    struct next_instruction jump;
    struct next_instruction other;
    uint32_t word = 0x94000084; /* bl .+0x210: two */
    describe(opened, TEXT, &word, 1, &call);
    assert_int_equal(call.flags, NEXT_IS_CALL | NEXT_NAMES);
    assert_string_equal(opened->program.all[call.callee].name, "two");
    assert_int_equal(call.name, next_hash("two", 3, 0));
    word = 0x14000084; /* b .+0x210 */
    describe(opened, TEXT, &word, 1, &jump);
    assert_int_equal(jump.flags, 0);
    assert_int_equal(jump.callee, call.callee);
    word = 0x54001080; /* b.eq .+0x210: a conditional tail call */
    describe(opened, TEXT, &word, 1, &other);
    assert_int_equal(other.callee, call.callee);
    for (uint32_t i = 0; i < 2;
         i++) { /* bl .+0x220 and .+0x230: by veneers, of GNU ld and of LLD */
        word = 0x94000088 + i * 4;
        describe(opened, TEXT, &word, 1, &other);
        assert_int_not_equal(other.callee, call.callee);
        assert_int_equal(other.name, call.name);
    }
    word = 0x94000002; /* bl .+8: into a function */
    describe(opened, TEXT, &word, 1, &other);
    assert_int_equal(other.callee, BAT_NONE);
    assert_int_equal(other.flags, NEXT_IS_CALL);
    assert_int_equal(describe_one(opened, 0xd63f0020).flags, NEXT_IS_CALL | NEXT_IS_INDIRECT);
    assert_int_equal(describe_one(opened, 0xd63f083f).flags, NEXT_IS_CALL | NEXT_IS_INDIRECT);
    assert_int_equal(describe_one(opened, 0xd61f0020).flags, NEXT_IS_INDIRECT); /* br x1 */
    assert_int_equal(describe_one(opened, 0xd65f03c0).flags, 0);                /* ret */
    assert_int_equal(describe_one(opened, 0xd503201f).flags, NEXT_IS_NOP);
    assert_int_equal(describe_one(opened, 0xd503245f).flags, 0); /* bti c */
}

/* --- Addresses -------------------------------------------------------------------------------- */

#define ADRP 0x90000021u            /* adrp x1, .+0x4000: from TEXT's page DATA's */
#define ADRP_SAVED 0x90000034u      /* adrp x20, .+0x4000 */
#define ADD_FIRST 0x91004022u       /* add x2, x1, #0x10 */
#define LOAD_FIRST 0xf9400c22u      /* ldr x2, [x1, #0x18] */
#define LOAD_SECOND 0xf9404023u     /* ldr x3, [x1, #0x80] */
#define SAVED_SECOND 0xf9404283u    /* ldr x3, [x20, #0x80] */
#define PARAMETER 0xaa0003e1u       /* mov x1, x0 */
#define SAVED_PARAMETER 0xaa0003f4u /* mov x20, x0 */
#define AFTER 0xf8408422u           /* ldr x2, [x1], #8 */
#define CALL 0x94000000u            /* bl . */
#define NOP 0xd503201fu

static uint32_t name_of_datum(const struct opened *opened, uint64_t address)
{
    bool is_plain;
    uint32_t name = next_reference(&opened->program, address, &is_plain);
    assert_int_not_equal(name, 0);
    assert_false(is_plain);
    return name;
}

/* Expect that an instruction refers to something that tells much. */
static void expect_name(const struct next_instruction *found, uint32_t name)
{
    assert_int_equal(found->name, name);
    assert_true(found->flags & NEXT_NAMES);
    assert_int_equal(found->field, 0);
    assert_int_equal(found->constant, 0);
}

/* Without relocations: ADRP and the instruction that completes its page. */
TEST(test_pages)
{
    struct opened *opened = open_program(false);
    uint32_t first = name_of_datum(opened, FIRST_DATUM);
    uint32_t second = name_of_datum(opened, SECOND_DATUM);
    assert_int_not_equal(first, second);
    assert_false(next_has_linked(&opened->program));
    struct next_instruction found[6];
    const uint32_t words[] = {ADRP, NOP, ADD_FIRST, LOAD_FIRST, LOAD_SECOND};
    describe(opened, TEXT, words, 5, found);
    assert_int_equal(found[0].name, first);
    assert_int_equal(found[0].flags, 0); /* one of both tells enough */
    expect_name(&found[2], first);
    expect_name(&found[3], name_of_datum(opened, FIRST_DATUM + 8));
    expect_name(&found[4], second);
    /* Loads of other data are the same instruction but for the name. */
    const uint32_t others[] = {ADRP, LOAD_FIRST, ADRP, 0xf9404022};
    describe(opened, TEXT, others, 4, found);
    assert_int_equal(found[1].exact, found[3].exact);
    assert_int_not_equal(found[1].name, found[3].name);
    /* The same data from elsewhere. */
    struct next_instruction there[2];
    const uint32_t far[] = {0xb0000021, LOAD_FIRST}; /* adrp x1, .+0x5000 */
    describe(opened, TEXT - 0x1000, far, 2, there);
    assert_int_equal(there[0].exact, found[0].exact);
    assert_int_equal(there[0].name, found[0].name);
    assert_int_equal(there[1].exact, found[1].exact);
    assert_int_equal(there[1].name, found[1].name);
}

/* What has written the register since. */
TEST(test_lost_pages)
{
    static const uint32_t writes[] = {
        PARAMETER,  CALL, AFTER, 0xa8c10c22, /* ldp x2, x3, [x1], #16 */
        0xf9400041,                          /* ldr x1, [x2] */
        0xa9410440,                          /* ldp x0, x1, [x2, #16] */
        0x14000001,                          /* b .+4: the code behind is another path's */
        0xd65f03c0,                          /* ret */
    };
    static const uint32_t others[] = {NOP, 0xf9000041 /* str x1, [x2] */, 0xb4000041 /* cbz x1 */,
                                      LOAD_SECOND, 0xf9003041 /* str x1, [x2, #0x60] */};
    struct opened *opened = open_program(false);
    uint32_t second = name_of_datum(opened, SECOND_DATUM);
    struct next_instruction found[3];
    for (size_t i = 0; i < COUNT(writes); i++) {
        const uint32_t words[] = {ADRP, writes[i], LOAD_SECOND};
        describe(opened, TEXT, words, 3, found);
        assert_int_equal(found[2].name, 0);
        assert_int_not_equal(found[2].field, 0);
    }
    for (size_t i = 0; i < COUNT(others); i++) {
        const uint32_t words[] = {ADRP, others[i], LOAD_SECOND};
        describe(opened, TEXT, words, 3, found);
        expect_name(&found[2], second);
    }
    /* Registers that calls save. */
    const uint32_t saved[] = {ADRP_SAVED, CALL, SAVED_SECOND};
    describe(opened, TEXT, saved, 3, found);
    expect_name(&found[2], second);
    const uint32_t lost[] = {ADRP_SAVED, SAVED_PARAMETER, SAVED_SECOND};
    describe(opened, TEXT, lost, 3, found);
    assert_int_equal(found[2].name, 0);
}

/* Relocations know the whole address, whatever is in the registers. */
TEST(test_relocations)
{
    struct opened *opened = open_program(true);
    uint32_t first = name_of_datum(opened, FIRST_DATUM);
    assert_true(next_has_linked(&opened->program));
    struct next_instruction found[5];
    const uint32_t words[] = {ADRP, ADD_FIRST, LOAD_SECOND, LOAD_SECOND, LOAD_SECOND};
    describe(opened, TEXT + 0x100, words, 5, found);
    assert_int_equal(found[0].name, first);
    expect_name(&found[1], first);
    expect_name(&found[2], name_of_datum(opened, FIRST_DATUM + 8));
    assert_int_equal(found[3].name, 0); /* of no symbol */
    assert_int_equal(found[4].name, 0); /* of a call */
    /* Others have none, so they refer to nothing. */
    describe(opened, TEXT + 0x180, words, 5, found);
    assert_int_equal(found[2].name, 0);
    assert_int_not_equal(found[2].field, 0);
}

/* ADR, and literals. */
TEST(test_near_addresses)
{
    struct opened *opened = open_program(false);
    uint32_t first = name_of_datum(opened, FIRST_DATUM);
    struct next_instruction found = describe_one(opened, 0x10020081); /* adr x1, .+0x4010 */
    expect_name(&found, first);
    found = describe_one(opened, 0x58001001); /* ldr x1, .+0x200: an address */
    expect_name(&found, first);
    found = describe_one(opened, 0x18001041); /* ldr w1, .+0x208: a number */
    assert_int_equal(found.name, 0);
    static const uint32_t number[] = {0x528acf01,
                                      0x72a24681}; /* mov w1, #0x5678; movk w1, #0x1234 */
    struct next_instruction both[2];
    describe(opened, TEXT, number, 2, both);
    assert_int_equal(found.constant, both[0].constant);
    /* ADR of a page is ADRP, which linkers replace. */
    static const uint32_t replaced[] = {0x10020001, LOAD_FIRST};
    static const uint32_t plain[] = {ADRP, LOAD_FIRST};
    struct next_instruction other[2];
    describe(opened, TEXT, replaced, 2, both);
    describe(opened, TEXT, plain, 2, other);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(both[i].exact, other[i].exact);
        assert_int_equal(both[i].name, other[i].name);
    }
}
