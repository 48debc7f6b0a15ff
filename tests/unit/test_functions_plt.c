/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* functions/plt*: entries of the tables that linkers write, and their names. */
#include <inttypes.h>

#include "binary/functions/functions.h"
#include "binary/functions/plt.h"
#include "functions_program.h"
#include "kept.h"
#include "stacks/symbol_index.h"
#include "unit_test.h"

#define GOT 0x405000u /* slots in .data */

/* --- Entries ------------------------------------------------------------------------------ */

struct opened {
    char *folder;
    struct bat_elf *elf;
    struct bat_functions *functions;
};

static struct opened open_all(struct program *program)
{
    struct opened opened = {.folder = make_folder()};
    struct bat_error error;
    char *path = path_in(opened.folder, "program");
    save_program(program, path);
    opened.elf = open_elf(path);
    if (bat_functions_create(opened.elf, NULL, &opened.functions, &error))
        fail_msg("%s", error.message);
    kept_functions(opened.functions);
    return opened;
}

/* Check the functions of the program, one on each line: "address size name". */
static void assert_functions(const struct opened *opened, const char *expected)
{
    uint32_t count;
    const struct bat_function_symbol *all = bat_functions_all(opened->functions, &count);
    char text[2048] = "";
    size_t size = 0;
    for (uint32_t i = 0; i < count; i++) {
        assert_true(size + 128 < sizeof(text));
        size += (size_t)sprintf(text + size, "%" PRIx64 " %" PRIx64 " %s\n", all[i].address,
                                all[i].size, all[i].name);
    }
    assert_string_equal(text, expected);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(!!(all[i].flags & BAT_FUNCTION_PLT),
                         all[i].address >= PLT && all[i].address < EH_FRAME);
}

/* Append code, whose last four bytes get the distance from its end to slot; then what follows. */
static void add_jump(struct bytes *to, uint64_t start, const char *code, size_t size, uint64_t slot)
{
    add_bytes(to, code, size);
    int32_t distance = (int32_t)(slot - (start + to->size + 4));
    add_bytes(to, &distance, 4);
}

/* PLT0 of a lazy table: PUSH and JMP through the first slots of the GOT. */
static void add_header(struct program *program)
{
    add_jump(&program->plt, PLT, "\xff\x35", 2, GOT + 8);
    add_jump(&program->plt, PLT, "\xff\x25", 2, GOT + 16);
    add_bytes(&program->plt, "\x0f\x1f\x40\x00", 4);
}

TEST(test_lazy_entries)
{
    struct program *program = new_program(EM_X86_64);
    add_header(program);
    for (uint64_t i = 0; i < 3; i++) {
        add_jump(&program->plt, PLT, "\xff\x25", 2, GOT + 24 + 8 * i);
        add_bytes(&program->plt, "\x68\0\0\0\0\xe9\0\0\0\0", 10);
    }
    size_t memcpy_symbol = add_symbol(&program->dynamic, "memcpy", STT_FUNC, STB_GLOBAL, 0, 0, 0);
    size_t free_symbol = add_symbol(&program->dynamic, "free", STT_FUNC, STB_GLOBAL, 0, 0, 0);
    add_relocation(program, GOT + 24, memcpy_symbol, R_X86_64_JUMP_SLOT, 0);
    add_relocation(program, GOT + 40, free_symbol, R_X86_64_JUMP_SLOT, 0);
    add_fde(program, PLT, 64);
    add_symbol(&program->symbols, "", STT_SECTION, STB_LOCAL, IN_PLT, PLT, 0);
    struct opened opened = open_all(program);
    /* The entry in the middle, whose slot no relocation fills, belongs to the one before. */
    assert_functions(&opened, "402000 10 __BOLT_PSEUDO_.plt\n"
                              "402010 20 memcpy@PLT\n"
                              "402030 10 free@PLT\n");
}

TEST(test_entries_with_endbr)
{
    struct program *program = new_program(EM_X86_64);
    add_header(program);
    add_bytes(&program->plt, "\xf3\x0f\x1e\xfa\x68\0\0\0\0\xf2\xe9\0\0\0\0\x90", 16);
    add_bytes(&program->plt, "\xf3\x0f\x1e\xfa\x68\1\0\0\0\xf2\xe9\0\0\0\0\x90", 16);
    add_jump(&program->second_plt, SECOND_PLT, "\xf3\x0f\x1e\xfa\xf2\xff\x25", 7, GOT + 24);
    add_bytes(&program->second_plt, "\x0f\x1f\x44\0\0", 5);
    add_jump(&program->second_plt, SECOND_PLT, "\xf3\x0f\x1e\xfa\xff\x25", 6, GOT + 32);
    add_bytes(&program->second_plt, "\x66\x0f\x1f\x44\0\0", 6);
    size_t symbol = add_symbol(&program->dynamic, "puts", STT_FUNC, STB_GLOBAL, 0, 0, 0);
    add_relocation(program, GOT + 24, symbol, R_X86_64_JUMP_SLOT, 0);
    symbol = add_symbol(&program->dynamic, "exit", STT_FUNC, STB_GLOBAL, 0, 0, 0);
    add_relocation(program, GOT + 32, symbol, R_X86_64_GLOB_DAT, 0);
    struct opened opened = open_all(program);
    assert_functions(&opened, "402000 30 __BOLT_PSEUDO_.plt\n"
                              "403000 10 puts@PLT\n"
                              "403010 10 exit@PLT\n");
}

TEST(test_small_entries)
{
    struct program *program = new_program(EM_X86_64);
    for (uint64_t i = 0; i < 2; i++) { /* eight bytes each, no ENDBR64 */
        add_jump(&program->second_plt, SECOND_PLT, "\xff\x25", 2, GOT + 8 * i);
        add_bytes(&program->second_plt, "\x66\x90", 2);
    }
    size_t symbol = add_symbol(&program->dynamic, "open", STT_FUNC, STB_GLOBAL, 0, 0, 0);
    add_relocation(program, GOT, symbol, R_X86_64_GLOB_DAT, 0);
    symbol = add_symbol(&program->dynamic, "read", STT_FUNC, STB_GLOBAL, 0, 0, 0);
    add_relocation(program, GOT + 8, symbol, R_X86_64_GLOB_DAT, 0);
    add_relocation(program, GOT + 8, 1, R_X86_64_GLOB_DAT, 0); /* the first one counts */
    struct opened opened = open_all(program);
    assert_functions(&opened, "403000 8 open@PLT\n"
                              "403008 8 read@PLT\n");
}

TEST(test_functions_of_the_file_itself)
{
    struct program *program = new_program(EM_X86_64);
    for (uint64_t i = 0; i < 5; i++) {
        add_jump(&program->plt, PLT, "\xff\x25", 2, GOT + 8 * i);
        add_bytes(&program->plt, "\x68\0\0\0\0\xe9\0\0\0\0", 10);
    }
    add_local(program, "alias", TEXT, 4);
    add_global(program, "own", TEXT, 4);
    add_global(program, "known_as@@V1", TEXT + 0x10, 4); /* .symtab has the version too */
    add_file(program, "a.c");
    add_local(program, "resolver", TEXT + 0x20, 4);
    size_t symbol = add_symbol(&program->dynamic, "own", STT_FUNC, STB_GLOBAL, IN_TEXT, TEXT, 4);
    add_relocation(program, GOT, symbol, R_X86_64_JUMP_SLOT, 0);
    symbol =
        add_symbol(&program->dynamic, "known_as", STT_FUNC, STB_GLOBAL, IN_TEXT, TEXT + 0x10, 4);
    add_relocation(program, GOT + 8, symbol, R_X86_64_JUMP_SLOT, 0);
    add_relocation(program, GOT + 16, 0, R_X86_64_IRELATIVE, TEXT + 0x20);
    add_relocation(program, GOT + 24, 0, R_X86_64_IRELATIVE, TEXT + 0x21); /* no function */
    add_relocation(program, GOT + 32, 0, R_X86_64_RELATIVE, TEXT + 0x20);  /* no resolver */
    struct opened opened = open_all(program);
    assert_functions(&opened, "401000 4 alias/1\n"
                              "401010 4 known_as@@V1\n"
                              "401020 4 resolver/a.c/1\n"
                              "402000 10 alias/1@PLT\n"
                              "402010 10 known_as@PLT\n"
                              "402020 30 resolver/1@PLT\n");
}

TEST(test_symbol_at_an_entry)
{
    struct program *program = new_program(EM_X86_64);
    add_jump(&program->plt, PLT, "\xff\x25", 2, GOT);
    add_bytes(&program->plt, "\x68\0\0\0\0\xe9\0\0\0\0", 10);
    add_jump(&program->plt, PLT, "\xff\x25", 2, GOT);
    add_bytes(&program->plt, "\x68\0\0\0\0\xe9\0\0\0\0", 10);
    size_t symbol = add_symbol(&program->dynamic, "open", STT_FUNC, STB_GLOBAL, 0, 0, 0);
    add_relocation(program, GOT, symbol, R_X86_64_JUMP_SLOT, 0);
    add_symbol(&program->symbols, "first", STT_FUNC, STB_GLOBAL, IN_PLT, PLT, 8);
    add_symbol(&program->symbols, "second", STT_FUNC, STB_GLOBAL, IN_PLT, PLT + 16, 8);
    struct opened opened = open_all(program);
    assert_functions(&opened, "402000 8 first\n"
                              "402010 8 second\n");
}

/* ADRP X16, page; LDR X17, [X16, offset]; ADD X16, X16, offset; BR X17 */
static void add_aarch64(struct program *program, uint64_t slot)
{
    uint64_t here = PLT + program->plt.size;
    uint32_t pages = (uint32_t)((slot >> 12) - (here >> 12));
    uint32_t words[] = {
        0x90000010 | (pages & 3) << 29 | ((pages >> 2) & 0x7ffff) << 5,
        0xf9400211 | (uint32_t)(slot & 0xfff) / 8 << 10,
        0x91000210 | (uint32_t)(slot & 0xfff) << 10,
        0xd61f0220,
    };
    add_bytes(&program->plt, words, sizeof(words));
}

TEST(test_aarch64_entries)
{
    struct program *program = new_program(EM_AARCH64);
    static const uint32_t store = 0xa9bf7bf0; /* STP X16, X30, [SP, #-16]! */
    static const uint32_t bti = 0xd503245f;
    static const uint32_t nop = 0xd503201f;
    add_bytes(&program->plt, &store, 4);
    add_aarch64(program, GOT + 16);
    add_bytes(&program->plt, &nop, 4);
    add_bytes(&program->plt, &nop, 4);
    add_aarch64(program, GOT + 24); /* at 0x1c */
    add_bytes(&program->plt, &bti, 4);
    add_aarch64(program, GOT + 32); /* at 0x2c */
    add_bytes(&program->plt, &nop, 4);
    add_aarch64(program, TEXT + 8); /* at 0x44, the other direction */
    size_t symbol = add_symbol(&program->dynamic, "puts", STT_FUNC, STB_GLOBAL, 0, 0, 0);
    add_relocation(program, GOT + 24, symbol, R_AARCH64_JUMP_SLOT, 0);
    symbol = add_symbol(&program->dynamic, "exit", STT_FUNC, STB_GLOBAL, 0, 0, 0);
    add_relocation(program, GOT + 32, symbol, R_AARCH64_JUMP_SLOT, 0);
    symbol = add_symbol(&program->dynamic, "read", STT_FUNC, STB_GLOBAL, 0, 0, 0);
    add_relocation(program, TEXT + 8, symbol, R_AARCH64_JUMP_SLOT, 0);
    struct opened opened = open_all(program);
    assert_functions(&opened, "402000 1c __BOLT_PSEUDO_.plt\n"
                              "40201c 10 puts@PLT\n"
                              "40202c 18 exit@PLT\n"
                              "402044 10 read@PLT\n");
}

/* Code that looks like an entry but is not; nothing may be read out of bounds. */
TEST(test_other_instructions_make_no_entries)
{
    static const char *const codes[] = {
        "\xff\xe0\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90", /* JMP RAX */
        "\xff\x20\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90", /* JMP [RAX] */
        "\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\xff\x25\x00", /* reaches over */
        "\x10\x00\x00\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90",
        "\xff\x25\xfa\xff\xff\xff\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90", /* no such symbol */
        "\x06\x06\x06\x06\x06\x06\x06\x06\x06\x06\x06\x06\x06\x06\x06\x06", /* no instruction */
    };
    for (int is_arm = 0; is_arm < 2; is_arm++) {
        struct program *program = new_program(is_arm ? EM_AARCH64 : EM_X86_64);
        for (size_t i = 0; i < COUNT(codes); i++)
            add_bytes(&program->plt, codes[i], 16);
        uint32_t jump = 0xd61f0220; /* BR X17 without the rest, for AArch64 */
        add_bytes(&program->plt, &jump, 4);
        add_bytes(&program->second_plt, "\xf3\x0f\x1e\xfa\xff\x25\0\0", 8); /* ends in an entry */
        size_t symbol = add_symbol(&program->dynamic, "f", STT_FUNC, STB_GLOBAL, 0, 0, 0);
        /* Addresses that a careless reader would take for slots. */
        add_relocation(program, PLT + 0x12, symbol, R_X86_64_JUMP_SLOT, 0);
        add_relocation(program, PLT + 0x33 + 0x1000, symbol, R_X86_64_JUMP_SLOT, 0);
        add_relocation(program, PLT + 0x40, 1000, R_X86_64_JUMP_SLOT, 0);
        struct opened opened = open_all(program);
        assert_functions(&opened, is_arm ? "402000 64 __BOLT_PSEUDO_.plt\n"
                                         : "402000 64 __BOLT_PSEUDO_.plt\n"
                                           "403000 8 __BOLT_PSEUDO_.plt.sec\n");
        struct symbol_index index;
        assert_ok(symbol_index_make(&index, opened.elf, NULL));
        symbol_index_free(&index);
    }
}
