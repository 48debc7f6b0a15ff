/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* binary/functions/data_symbols.c: data by their symbols. Expected names are BOLT 22's. */
#include "binary/functions/data_symbols.h"
#include "functions_program.h"
#include "kept.h"
#include "unit_test.h"

static void add_datum(struct program *program, const char *name, unsigned binding, uint64_t address,
                      uint64_t size)
{
    add_symbol(&program->symbols, name, STT_OBJECT, binding, IN_DATA, address, size);
}

KEPT(kept_data, struct bat_data_symbols, bat_data_symbols_free)

static struct bat_data_symbols *open_data(struct program *program)
{
    char *path = path_in(make_folder(), "program");
    save_program(program, path);
    struct bat_data_symbols *data;
    struct bat_error error = {0};
    if (bat_data_symbols_open(open_elf(path), &data, &error) != BAT_OK)
        fail_msg("%s", error.message);
    /* Number all. */
    uint8_t *wanted = kept_memory(NULL, bat_data_symbols_count(data) + 1);
    memset(wanted, 1, bat_data_symbols_count(data) + 1);
    assert_ok(bat_data_symbols_number(data, wanted, &error));
    return kept_data(data);
}

/* What holds this address, as "name+offset"; "" for nothing. */
static void assert_data(const struct bat_data_symbols *data, uint64_t address, const char *expected)
{
    char text[128] = "";
    uint32_t index = bat_data_symbols_find(data, address);
    if (index != BAT_NONE) {
        char *name = bat_data_symbols_name(data, index);
        assert_non_null(name);
        snprintf(text, sizeof(text), "%s+%llx", name,
                 (unsigned long long)(address - bat_data_symbols_address(data, index)));
        free(name);
    }
    if (strcmp(text, expected) != 0)
        fail_msg("%llx: expected \"%s\", got \"%s\"", (unsigned long long)address, expected, text);
}

TEST(test_sizes)
{
    struct program *program = new_program(EM_X86_64);
    add_datum(program, "sized", STB_GLOBAL, DATA + 0x10, 0x10);
    add_datum(program, "open", STB_GLOBAL, DATA + 0x40, 0);
    add_datum(program, "next", STB_GLOBAL, DATA + 0x50, 8);
    add_datum(program, "last", STB_GLOBAL, DATA + 0x80, 0);
    struct bat_data_symbols *data = open_data(program);
    assert_data(data, DATA + 0xf, "");
    assert_data(data, DATA + 0x10, "sized+0");
    assert_data(data, DATA + 0x1f, "sized+f");
    assert_data(data, DATA + 0x20, "");
    assert_data(data, DATA + 0x40, "open+0");
    assert_data(data, DATA + 0x4f, "open+f");
    assert_data(data, DATA + 0x50, "next+0");
    assert_data(data, DATA + 0x58, "");
    assert_data(data, DATA + 0x80, "last+0");
    assert_data(data, DATA + DATA_SIZE - 1, "last+7f");
    assert_data(data, DATA + DATA_SIZE, "");
    assert_data(data, 0, "");
    assert_data(data, UINT64_MAX, "");
}

TEST(test_nested)
{
    struct program *program = new_program(EM_X86_64);
    add_datum(program, "outer", STB_GLOBAL, DATA + 0x10, 0x40);
    add_datum(program, "inner", STB_GLOBAL, DATA + 0x20, 8);
    add_datum(program, "label", STB_GLOBAL, DATA + 0x38, 0);
    struct bat_data_symbols *data = open_data(program);
    assert_data(data, DATA + 0x1f, "outer+f");
    assert_data(data, DATA + 0x20, "inner+0");
    assert_data(data, DATA + 0x27, "inner+7");
    assert_data(data, DATA + 0x28, "outer+18");
    assert_data(data, DATA + 0x38, "label+0");
    assert_data(data, DATA + 0x39, "outer+29");
    assert_data(data, DATA + 0x4f, "outer+3f");
    assert_data(data, DATA + 0x50, "");
}

TEST(test_names)
{
    struct program *program = new_program(EM_X86_64);
    add_file(program, "a.c");
    add_datum(program, "d", STB_LOCAL, DATA + 0x30, 8);
    add_local(program, "d", TEXT + 0x10, 8);
    add_file(program, "b.c");
    add_datum(program, "d", STB_LOCAL, DATA + 0x10, 8);
    add_datum(program, ".LC7", STB_LOCAL, DATA + 0x40, 8);
    add_datum(program, "", STB_LOCAL, DATA + 0x48, 8);
    add_datum(program, "e", STB_GLOBAL, DATA + 0x50, 4);
    add_datum(program, "alias", STB_GLOBAL, DATA + 0x50, 8);
    struct bat_data_symbols *data = open_data(program);
    /* The function comes first by its address. */
    assert_data(data, DATA + 0x10, "d/2+0");
    assert_data(data, DATA + 0x30, "d/3+0");
    assert_data(data, DATA + 0x41, "PG.LC7/1+1");
    assert_data(data, DATA + 0x48, "");
    /* The first name, the largest size. */
    assert_data(data, DATA + 0x57, "e+7");
    /* Functions are no data. */
    assert_data(data, TEXT + 0x10, "");
}

/* However deep they are, looking up an address ends, and finds what is near. */
TEST(test_deep)
{
    struct program *program = new_program(EM_X86_64);
    for (unsigned i = 0; i < 40; i++) {
        char name[8];
        snprintf(name, sizeof(name), "n%u", i);
        add_datum(program, name, STB_GLOBAL, DATA + i, DATA_SIZE - 2 * i);
    }
    struct bat_data_symbols *data = open_data(program);
    assert_data(data, DATA, "n0+0");
    assert_data(data, DATA + 39, "n39+0");
    assert_data(data, DATA + DATA_SIZE - 1, "n0+ff");
    assert_data(data, DATA + DATA_SIZE - 40, "n39+b1");
}

TEST(test_no_symbols)
{
    struct program *program = new_program(EM_X86_64);
    program->is_stripped = true;
    struct bat_data_symbols *data = open_data(program);
    assert_int_equal(bat_data_symbols_count(data), 0);
    assert_data(data, DATA, "");
}
