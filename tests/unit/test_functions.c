/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* functions/functions*: the functions of a file, their names and their sizes. */
#include <inttypes.h>

#include "binary/code/code_blocks.h"
#include "binary/functions/functions.h"
#include "functions_program.h"
#include "kept.h"
#include "unit_test.h"

/* --- Asking ------------------------------------------------------------------------------- */

/* The table of one program, with the file that it is made from. */
struct table {
    struct bat_elf *elf;
    struct bat_functions *functions;
};

static struct bat_elf *open_program(struct program *program, const char *folder, const char *name)
{
    char *path = path_in(folder, name);
    save_program(program, path);
    return open_elf(path);
}

/* symbols may be NULL. */
static enum bat_code try_table(struct program *program, struct program *symbols,
                               struct table *table, struct bat_error *error)
{
    const char *folder = make_folder();
    struct bat_elf *other = symbols ? open_program(symbols, folder, "symbols") : NULL;
    *table = (struct table){.elf = open_program(program, folder, "program")};
    enum bat_code code = bat_functions_create(table->elf, other, &table->functions, error);
    kept_functions(table->functions);
    return code;
}

static struct table table_of(struct program *program)
{
    struct table table;
    struct bat_error error;
    if (try_table(program, NULL, &table, &error))
        fail_msg("%s", error.message);
    return table;
}

/* The function that contains the address, or NULL. */
static const struct bat_function_symbol *function_at(const struct table *table, uint64_t address)
{
    uint32_t count;
    const struct bat_function_symbol *all = bat_functions_all(table->functions, &count);
    uint32_t index = bat_functions_find(table->functions, address);
    return index == BAT_NONE ? NULL : &all[index];
}

static void assert_at(const struct table *table, uint64_t address, const char *name)
{
    const struct bat_function_symbol *function = function_at(table, address);
    if (!function)
        fail_msg("no function at 0x%" PRIx64 ", expected %s", address, name);
    else
        assert_string_equal(function->name, name);
}

static void assert_nothing_at(const struct table *table, uint64_t address)
{
    const struct bat_function_symbol *function = function_at(table, address);
    if (function)
        fail_msg("%s at 0x%" PRIx64 ", expected nothing", function->name, address);
}

static uint32_t count_of(const struct table *table)
{
    uint32_t count;
    bat_functions_all(table->functions, &count);
    return count;
}

static void assert_fails(struct program *program, enum bat_code code, const char *message)
{
    struct table table;
    struct bat_error error = {0};
    assert_int_equal(try_table(program, NULL, &table, &error), code);
    assert_string_equal(error.message, message);
    assert_null(table.functions);
}

/* --- Names -------------------------------------------------------------------------------- */

TEST(test_local_names_have_file_and_number)
{
    struct program *program = new_program(EM_X86_64);
    add_local(program, "no_file", TEXT + 0x40, 4);
    add_file(program, "dir/a.c");
    add_local(program, "f", TEXT + 0x20, 4);
    add_file(program, "b.c");
    add_local(program, "f", TEXT + 0x10, 4);
    add_file(program, "dir/a.c");
    add_local(program, "f", TEXT + 0x00, 4);
    add_file(program, "");
    add_local(program, "no_file", TEXT + 0x30, 4);
    add_file(program, "c.c");
    program->symbols.all[program->symbols.count - 1].st_name += 3; /* empty, but not offset 0 */
    add_local(program, "no_file", TEXT + 0x60, 4);
    add_global(program, "f", TEXT + 0x50, 4);
    struct table table = table_of(program);
    assert_at(&table, TEXT + 0x00, "f/dir/a.c/1"); /* by address, not by place in the table */
    assert_at(&table, TEXT + 0x10, "f/b.c/1");
    assert_at(&table, TEXT + 0x20, "f/dir/a.c/2");
    assert_at(&table, TEXT + 0x30, "no_file/1");
    assert_at(&table, TEXT + 0x40, "no_file/2");
    assert_at(&table, TEXT + 0x50, "f"); /* a FILE symbol counts for local symbols only */
    assert_at(&table, TEXT + 0x60, "no_file/3");
}

TEST(test_objects_count_in_numbers_without_file)
{
    struct program *program = new_program(EM_X86_64);
    add_symbol(&program->symbols, "f", STT_OBJECT, STB_LOCAL, SHN_ABS, TEXT - 0x10, 4);
    add_local(program, "f", TEXT, 4);
    add_file(program, "a.c");
    add_symbol(&program->symbols, "g", STT_OBJECT, STB_LOCAL, SHN_ABS, TEXT - 0x10, 4);
    add_local(program, "g", TEXT + 0x10, 4);
    struct table table = table_of(program);
    assert_at(&table, TEXT, "f/2");
    assert_at(&table, TEXT + 0x10, "g/a.c/1");
}

TEST(test_of_several_names_two_slashes_win)
{
    struct program *program = new_program(EM_X86_64);
    add_untyped(program, "untyped", STB_GLOBAL, TEXT, 4);
    add_global(program, "first", TEXT, 4);
    add_global(program, "second", TEXT, 4);
    add_global(program, "global", TEXT + 0x10, 4);
    add_local(program, "bare", TEXT + 0x10, 4);
    add_file(program, "a.c");
    add_local(program, "one", TEXT + 0x10, 4);
    add_local(program, "two", TEXT + 0x10, 4);
    add_global(program, "plain", TEXT + 0x20, 4);
    add_global(program, "go/pkg/f", TEXT + 0x20, 4);
    add_local(program, "three", TEXT + 0x20, 4);
    add_file(program, "");
    add_global(program, "early", TEXT + 0x30, 4);
    add_local(program, "has/slash", TEXT + 0x30, 4);
    struct table table = table_of(program);
    assert_at(&table, TEXT, "first"); /* functions come first, then the table's order */
    assert_at(&table, TEXT + 0x10, "one/a.c/1");
    assert_at(&table, TEXT + 0x20, "go/pkg/f");
    assert_at(&table, TEXT + 0x30, "has/slash/1");
}

TEST(test_odd_names)
{
    struct program *program = new_program(EM_X86_64);
    add_global(program, ".Lkept", TEXT, 4);
    add_global(program, "", TEXT + 0x10, 4);
    add_local(program, "", TEXT + 0x20, 4);
    add_symbol(&program->symbols, "", STT_SECTION, STB_LOCAL, IN_OTHER, OTHER, 0);
    struct table table = table_of(program);
    assert_at(&table, TEXT, "PG.Lkept");
    assert_at(&table, TEXT + 0x10, "ANONYMOUS.0");
    assert_at(&table, TEXT + 0x20, "ANONYMOUS.1");
    assert_at(&table, OTHER, ".other/1");
}

TEST(test_section_symbols_come_last)
{
    struct program *program = new_program(EM_X86_64);
    add_symbol(&program->symbols, "", STT_SECTION, STB_LOCAL, IN_OTHER, OTHER, 0);
    add_symbol(&program->symbols, "start", STT_NOTYPE, STB_GLOBAL, IN_OTHER, OTHER, 0);
    struct table table = table_of(program);
    assert_at(&table, OTHER, "start");
}

TEST(test_fragments_are_told_by_name)
{
    static const struct {
        const char *name;
        bool is_fragment;
    } names[] = {{"f.cold", true},    {"f.cold.0", true},     {"f.warm.12", true},
                 {"f.colder", false}, {"f.cold.part", false}, {".cold", false},
                 {"f.0", false},      {"fcold", false},       {"f.cold1", false},
                 {"12", false}};
    struct program *program = new_program(EM_X86_64);
    for (size_t i = 0; i < COUNT(names); i++)
        add_local(program, names[i].name, TEXT + 0x10 * i, 4);
    struct table table = table_of(program);
    for (size_t i = 0; i < COUNT(names); i++) {
        const struct bat_function_symbol *function = function_at(&table, TEXT + 0x10 * i);
        assert_non_null(function);
        if (!(function->flags & BAT_FUNCTION_FRAGMENT) == names[i].is_fragment)
            fail_msg("%s: flags 0x%" PRIx32, names[i].name, function->flags);
    }
}

/* --- What is a function --------------------------------------------------------------------- */

TEST(test_symbols_that_are_no_functions)
{
    struct program *program = new_program(EM_X86_64);
    struct symbols *symbols = &program->symbols;
    add_symbol(symbols, "undefined", STT_FUNC, STB_GLOBAL, SHN_UNDEF, TEXT, 4);
    add_symbol(symbols, "data", STT_OBJECT, STB_GLOBAL, IN_DATA, DATA, 4);
    add_symbol(symbols, "absolute", STT_FUNC, STB_GLOBAL, SHN_ABS, TEXT + 0x10, 4);
    add_symbol(symbols, "etext", STT_NOTYPE, STB_GLOBAL, IN_TEXT, TEXT + TEXT_SIZE, 0);
    add_symbol(symbols, "outside", STT_FUNC, STB_GLOBAL, IN_TEXT, TEXT + TEXT_SIZE - 2, 4);
    add_symbol(symbols, "before", STT_FUNC, STB_GLOBAL, IN_TEXT, TEXT - 2, 4);
    add_symbol(symbols, "nowhere", STT_FUNC, STB_GLOBAL, 4000, TEXT, 4);
    add_symbol(symbols, "zero", STT_FUNC, STB_GLOBAL, SHN_ABS, 0, 4);
    add_untyped(program, "__hot_start", STB_GLOBAL, TEXT + 0x20, 0);
    add_untyped(program, "__bolt_reserved_start", STB_GLOBAL, TEXT + 0x30, 0);
    struct table table = table_of(program);
    assert_int_equal(count_of(&table), 0);
    assert_nothing_at(&table, TEXT);
}

TEST(test_section_index_of_its_own_table)
{
    struct program *program = new_program(EM_X86_64);
    size_t index = add_symbol(&program->symbols, "far", STT_FUNC, STB_GLOBAL, SHN_XINDEX, OTHER, 4);
    program->indices[index] = IN_OTHER;
    index = add_symbol(&program->symbols, "too_far", STT_FUNC, STB_GLOBAL, SHN_XINDEX, TEXT, 4);
    program->indices[index] = 1000;
    struct table table = table_of(program);
    assert_int_equal(count_of(&table), 1);
    assert_at(&table, OTHER + 3, "far");
}

TEST(test_untyped_symbols)
{
    struct program *program = new_program(EM_X86_64);
    add_untyped(program, "assembly", STB_GLOBAL, TEXT, 0);
    add_untyped(program, "label", STB_LOCAL, TEXT + 8, 0); /* in a function without size */
    add_untyped(program, "another", STB_GLOBAL, TEXT + 0x10, 0);
    add_global(program, "sized", TEXT + 0x20, 0x10);
    add_untyped(program, "inside", STB_GLOBAL, TEXT + 0x28, 4);
    add_untyped(program, "behind", STB_LOCAL, TEXT + 0x30, 0);
    struct table table = table_of(program);
    assert_int_equal(count_of(&table), 4);
    assert_at(&table, TEXT, "assembly");
    assert_at(&table, TEXT + 0xf, "assembly");
    assert_at(&table, TEXT + 0x10, "another");
    assert_at(&table, TEXT + 0x2f, "sized");
    assert_at(&table, TEXT + 0x30, "behind/1");
}

TEST(test_functions_inside_functions_are_entry_points)
{
    struct program *program = new_program(EM_X86_64);
    add_global(program, "outer", TEXT, 0x40);
    add_global(program, "entry", TEXT + 0x10, 0x10);
    add_global(program, "entry_alias", TEXT + 0x10, 0x10);
    add_global(program, "unsized", TEXT + 0x28, 0);
    add_untyped(program, ".Lprivate", STB_LOCAL, TEXT + 0x2c, 0);
    add_untyped(program, "label", STB_LOCAL, TEXT + 0x30, 0);
    add_global(program, "next", TEXT + 0x40, 0x10);
    struct table table = table_of(program);
    assert_int_equal(count_of(&table), 2);
    assert_at(&table, TEXT + 0x18, "outer");
    uint32_t count;
    const uint64_t *entries = bat_functions_entry_points(table.functions, 0, &count);
    assert_int_equal(count, 3);
    assert_int_equal(entries[0], TEXT + 0x10);
    assert_int_equal(entries[1], TEXT + 0x28);
    assert_int_equal(entries[2], TEXT + 0x30);
    bat_functions_entry_points(table.functions, 1, &count);
    assert_int_equal(count, 0);
}

TEST(test_mapping_symbols_are_none)
{
    for (int is_arm = 0; is_arm < 2; is_arm++) {
        struct program *program = new_program(is_arm ? EM_AARCH64 : EM_X86_64);
        add_untyped(program, "$x", STB_LOCAL, TEXT, 0);
        add_untyped(program, "$d.5", STB_LOCAL, TEXT + 0x40, 0);
        struct table table = table_of(program);
        assert_int_equal(count_of(&table), is_arm ? 0 : 1);
    }
}

/* --- How far functions reach ---------------------------------------------------------------- */

TEST(test_unsized_functions_reach_to_the_next_object)
{
    struct program *program = new_program(EM_X86_64);
    add_global(program, "to_function", TEXT, 0);
    add_global(program, "to_object", TEXT + 0x20, 0);
    add_symbol(&program->symbols, "object", STT_OBJECT, STB_LOCAL, IN_TEXT, TEXT + 0x38, 8);
    add_global(program, "to_end", TEXT + 0x40, 0);
    struct table table = table_of(program);
    assert_int_equal(function_at(&table, TEXT)->size, 0x20);
    assert_int_equal(function_at(&table, TEXT)->flags, BAT_FUNCTION_UNSIZED);
    assert_at(&table, TEXT + 0x1f, "to_function");
    assert_int_equal(function_at(&table, TEXT + 0x20)->size, 0x18);
    assert_at(&table, TEXT + 0x37, "to_object");
    assert_at(&table, TEXT + 0x38, "object/1");
    assert_int_equal(function_at(&table, TEXT + 0x40)->size, TEXT_SIZE - 0x40);
    assert_nothing_at(&table, TEXT + TEXT_SIZE);
}

TEST(test_the_largest_of_all_sizes_counts)
{
    struct program *program = new_program(EM_X86_64);
    add_global(program, "small", TEXT, 4);
    add_global(program, "large", TEXT, 8);
    add_global(program, "medium", TEXT, 6);
    add_global(program, "by_fde", TEXT + 0x20, 4);
    add_fde(program, TEXT + 0x20, 0x10);
    add_global(program, "fde_is_less", TEXT + 0x40, 8);
    add_fde(program, TEXT + 0x40, 2);
    struct table table = table_of(program);
    assert_int_equal(function_at(&table, TEXT)->size, 8);
    assert_at(&table, TEXT, "small");
    assert_int_equal(function_at(&table, TEXT + 0x20)->size, 0x10);
    assert_int_equal(function_at(&table, TEXT + 0x40)->size, 8);
}

static void put_text(struct program *program, uint64_t address, const char *bytes, size_t size)
{
    memcpy(program->text + (address - TEXT), bytes, size);
}

TEST(test_padding_belongs_to_the_function_before)
{
    static const struct {
        const char *bytes;
        bool is_padding;
    } cases[] = {
        {"\x90\x90\x90\x90\x90\x90\x90\x90", true},
        {"\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc", true},
        {"\xcc\xcc\x90\x90\x90\x90\x90\x90", true},
        {"\x90\x90\xcc\xcc\xcc\xcc\xcc\xcc", false}, /* breakpoints only at first */
        {"\0\0\0\0\0\0\0\0", true},
        {"\x66\x90\x0f\x1f\x44\x00\x00\x90", true},
        {"\x0f\x1f\x80\x00\x00\x00\x00\x00", true},
        {"\x66\x0f\x1f\x44\x00\x00\x00\x00", true},
        {"\xeb\x06\x90\x90\x90\x90\x90\x90", true},  /* to the end */
        {"\xeb\x07\x90\x90\x90\x90\x90\x90", false}, /* beyond */
        {"\xeb\xfe\x90\x90\x90\x90\x90\x90", false}, /* to itself */
        {"\x0f\x19\xc0\x90\x90\x90\x90\x90", false}, /* reserved, not the usual one */
        {"\xf3\x90\x90\x90\x90\x90\x90\x90", false}, /* PAUSE */
        {"\x90\x90\x90\x90\x90\x90\x90\xc3", false},
        {"\x90\x90\x90\x90\x90\x90\x90\x0f", false}, /* cut short */
    };
    struct program *program = new_program(EM_X86_64);
    size_t count = COUNT(cases);
    for (size_t i = 0; i < count; i++) {
        add_global(program, "f", TEXT + 0x10 * i, 8);
        put_text(program, TEXT + 0x10 * i + 8, cases[i].bytes, 8);
    }
    add_global(program, "end", TEXT + 0x10 * count, 1);
    struct table table = table_of(program);
    for (size_t i = 0; i < count; i++) {
        uint64_t padding = TEXT + 0x10 * i + 8;
        for (int again = 0; again < 2; again++) /* found, and remembered */
            if (!function_at(&table, padding + 4) == cases[i].is_padding)
                fail_msg("case %zu", i);
        assert_non_null(function_at(&table, padding - 1));
    }
}

TEST(test_padding_on_aarch64)
{
    static const struct {
        uint32_t words[2];
        bool is_padding;
    } cases[] = {
        {{0xd503201f, 0xd503201f}, true},                                     /* NOP */
        {{0, 0xd503201f}, true},           {{0xd4200020, 0xd4200000}, true},  /* BRK */
        {{0xd503201f, 0xd4200000}, false}, {{0xd503201f, 0xd65f03c0}, false}, /* RET */
        {{0xd503241f, 0xd503201f}, false},                                    /* BTI */
    };
    struct program *program = new_program(EM_AARCH64);
    size_t count = COUNT(cases);
    for (size_t i = 0; i < count; i++) {
        add_global(program, "f", TEXT + 0x10 * i, 8);
        memcpy(program->text + 0x10 * i + 8, cases[i].words, 8);
    }
    add_global(program, "end", TEXT + 0x10 * count, 4);
    struct table table = table_of(program);
    for (size_t i = 0; i < count; i++)
        if (!function_at(&table, TEXT + 0x10 * i + 12) == cases[i].is_padding)
            fail_msg("case %zu", i);
}

TEST(test_overlapping_functions)
{
    struct program *program = new_program(EM_X86_64);
    add_global(program, "a", TEXT, 4);
    add_global(program, "b", TEXT + 8, 0x20);
    add_fde(program, TEXT, 0x10); /* makes a as long */
    add_symbol(&program->symbols, "object", STT_OBJECT, STB_GLOBAL, IN_TEXT, TEXT + 0x18, 4);
    struct table table = table_of(program);
    /* With the FDE, b is inside a. */
    assert_int_equal(count_of(&table), 2);
    assert_at(&table, TEXT + 8, "a");
    assert_nothing_at(&table, TEXT + 0x10);
    assert_at(&table, TEXT + 0x18, "object");

    program = new_program(EM_X86_64);
    add_global(program, "c", TEXT, 0x20);
    add_symbol(&program->symbols, "object", STT_OBJECT, STB_GLOBAL, IN_TEXT, TEXT + 0x10, 4);
    table = table_of(program);
    assert_int_equal(count_of(&table), 1);
    assert_int_equal(function_at(&table, TEXT)->flags, BAT_FUNCTION_CONFLICT);
    assert_at(&table, TEXT + 0x1f, "c");
}

/* --- FDEs ----------------------------------------------------------------------------------- */

TEST(test_code_with_only_an_fde)
{
    struct program *program = new_program(EM_X86_64);
    add_global(program, "f", TEXT, 0x10);
    add_fde(program, TEXT + 0x80, 8); /* out of order */
    add_fde(program, TEXT + 0xab, 8);
    add_fde(program, TEXT, 0x10);        /* f's */
    add_fde(program, TEXT + 8, 4);       /* inside f */
    add_fde(program, TEXT + 0x82, 0x20); /* begins inside another */
    add_fde(program, TEXT + 0x40, 0);
    add_fde(program, TEXT + 0x40, 4); /* the first with a size counts */
    add_fde(program, TEXT + 0x40, 8);
    add_fde(program, 0x900000, 8); /* in no section */
    struct table table = table_of(program);
    assert_int_equal(count_of(&table), 4);
    assert_at(&table, TEXT + 0xc, "f");
    assert_at(&table, TEXT + 0x43, "__BOLT_FDE_FUNCat401040");
    assert_nothing_at(&table, TEXT + 0x44);
    assert_at(&table, TEXT + 0x87, "__BOLT_FDE_FUNCat401080");
    assert_nothing_at(&table, TEXT + 0x88);
    assert_at(&table, TEXT + 0xab, "__BOLT_FDE_FUNCat4010ab");
    assert_int_equal(function_at(&table, TEXT + 0xab)->flags, BAT_FUNCTION_FDE | BAT_FUNCTION_LATE);
}

TEST(test_symbol_in_the_middle_of_an_fde)
{
    struct program *program = new_program(EM_X86_64);
    add_fde(program, TEXT, 0x10);
    add_global(program, "f", TEXT + 4, 0);
    add_fde(program, TEXT + 0x20, 8);
    add_global(program, "sized", TEXT + 0x24, 2);
    add_fde(program, TEXT + 0x40, 8);
    add_global(program, "in_last", TEXT + 0x44, 2); /* perf2bolt does not ask the last FDE */
    struct table table = table_of(program);
    assert_at(&table, TEXT + 0x3f, "sized");
    assert_at(&table, TEXT + 0x45, "in_last");
    assert_nothing_at(&table, TEXT + 0x46);
    const struct bat_function_symbol *function = function_at(&table, TEXT + 4);
    assert_non_null(function);
    assert_string_equal(function->name, "f");
    assert_true(function->flags & BAT_FUNCTION_CONFLICT);
    assert_at(&table, TEXT + 0x1f, "f"); /* whatever code is there */
    assert_at(&table, TEXT + 3, "__BOLT_FDE_FUNCat401000");
}

/* --- The whole table ------------------------------------------------------------------------ */

TEST(test_find_agrees_with_a_search_of_all)
{
    struct program *program = new_program(EM_X86_64);
    /* Most near each other, one far away. */
    for (uint64_t i = 0; i < 40; i++)
        add_global(program, "f", TEXT + 3 * i + (i > 20 ? 0x200 : 0), 2);
    add_symbol(&program->symbols, "far", STT_FUNC, STB_GLOBAL, IN_OTHER, OTHER + 1, OTHER_SIZE - 1);
    struct table table = table_of(program);
    uint32_t count;
    const struct bat_function_symbol *all = bat_functions_all(table.functions, &count);
    assert_int_equal(count, 41);
    for (uint64_t address = TEXT - 4; address < OTHER + OTHER_SIZE + 4; address++) {
        uint32_t expected = BAT_NONE;
        for (uint32_t i = 0; i < count; i++)
            if (address >= all[i].address && address < all[i].address + all[i].size)
                expected = i;
        assert_int_equal(bat_functions_find(table.functions, address), expected);
    }
    assert_int_equal(bat_functions_find(table.functions, 0), BAT_NONE);
    assert_int_equal(bat_functions_find(table.functions, UINT64_MAX), BAT_NONE);
}

TEST(test_symbols_of_another_file)
{
    struct program *stripped = new_program(EM_X86_64);
    stripped->is_stripped = true;
    add_fde(stripped, TEXT, 0x10);
    add_fde(stripped, TEXT + 0x20, 0x10);
    struct program *full = new_program(EM_X86_64);
    add_file(full, "a.c");
    add_local(full, "f", TEXT, 8);
    struct table table;
    struct bat_error error;
    assert_ok(try_table(stripped, full, &table, &error));
    assert_at(&table, TEXT, "f/a.c/1");
    assert_int_equal(function_at(&table, TEXT)->size, 0x10);
    assert_at(&table, TEXT + 0x20, "__BOLT_FDE_FUNCat401020");
}

TEST(test_stripped_file)
{
    struct program *program = new_program(EM_X86_64);
    program->is_stripped = true;
    add_fde(program, TEXT, 0x10);
    struct table table = table_of(program);
    assert_at(&table, TEXT, "__BOLT_FDE_FUNCat401000");

    program = new_program(EM_X86_64);
    table = table_of(program);
    assert_int_equal(count_of(&table), 0);
}

/* --- Damage --------------------------------------------------------------------------------- */

/* A program with one function. */
static struct program *program_of_f(void)
{
    struct program *program = new_program(EM_X86_64);
    add_global(program, "f", TEXT, 4);
    return program;
}

TEST(test_damaged_tables)
{
    struct program *program = program_of_f();
    program->symbols.all[1].st_name = 100;
    assert_fails(program, BAT_ERR_ELF,
                 "symbol table: name of symbol 1, at 0x64, does not end inside the string table");

    program = program_of_f();
    program->strings_open = true;
    assert_fails(program, BAT_ERR_ELF,
                 "symbol table has its names in section 8, which does not end in a zero byte");

    program = program_of_f();
    program->entry_size = 16;
    assert_fails(program, BAT_ERR_ELF,
                 "symbol table of 48 bytes with entries of 16: expected entries of 24 bytes, and a "
                 "multiple of that");

    program = program_of_f();
    program->strings_link = 5; /* .data, zeros */
    assert_fails(program, BAT_ERR_ELF,
                 "symbol table has its names in section 5, which is not a string table");

    program = program_of_f();
    add_fde(program, TEXT, 4);
    program->eh_frame.all[0] = 0xff;
    assert_fails(program, BAT_ERR_ELF, ".eh_frame+0x0: an entry reaches beyond the section's end");
}

/* An FDE may claim nearly all addresses, and more than there are behind its own. */
TEST(test_fdes_of_any_size)
{
    static const uint32_t sizes[] = {0x80000010, 0xfffffff0, 0xffbfefff, 0xffbff000, UINT32_MAX};
    for (size_t i = 0; i < 2 * COUNT(sizes); i++) {
        struct program *program = new_program(EM_X86_64);
        add_global(program, "f", TEXT, 4);
        add_global(program, "g", TEXT + 0x20, 4);
        add_fde(program, i % 2 ? TEXT + 0x20 : TEXT, sizes[i / 2]);
        struct table table = table_of(program);
        uint32_t count;
        const struct bat_function_symbol *all = bat_functions_all(table.functions, &count);
        for (uint32_t j = 0; j < count; j++) {
            assert_true(all[j].size <= UINT64_MAX - all[j].address);
            assert_true(bat_function_extent(&all[j]) <= UINT64_MAX - all[j].address);
        }
        struct bat_code_reader *reader;
        struct bat_code_blocks blocks;
        const uint32_t both[] = {0, 1};
        assert_in_range(count, 1, 2); /* g is in f if f is that large */
        assert_ok(bat_code_open(table.elf, NULL, table.functions, both, count, 1, &reader, NULL));
        assert_ok(bat_code_blocks(reader, count - 1, &blocks, NULL));
        assert_int_equal(blocks.count, 0);
        bat_code_close(reader);
    }
}

/* Each name is the whole string table: together they exceed the limit. */
TEST(test_overlapping_names)
{
    struct program *program = new_program(EM_X86_64);
    char name[STRINGS_MAX - 1];
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    add_file(program, name);
    for (uint64_t i = 0; i < 60; i++) {
        add_local(program, "", TEXT + 8 * i, 4);
        program->symbols.all[program->symbols.count - 1].st_name = program->symbols.all[1].st_name;
    }
    assert_fails(program, BAT_ERR_ELF,
                 "the names of the symbols overlap: together they are more than 32 times as long "
                 "as the symbol tables and their strings");
}
