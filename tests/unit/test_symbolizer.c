/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * stacks/memory_places.c and symbol_index.c: which address of a binary a frame's address is. The
 * binary is the demonstration's, at fixed addresses and so small that what is where can be looked
 * up in it.
 */
#include "bat_original.h"
#include "bat_symbolizer.h"
#include "kept.h"
#include "unit_test.h"

#define DEMO TEST_DATA "/demo/small.bolt"

static struct bat_symbolizer *symbolizer;
static const struct bat_symbol *main_symbol;

static int open_demo(void **state)
{
    (void)state;
    struct bat_error error;
    if (bat_symbolizer_open(DEMO, NULL, &symbolizer, &error) != BAT_OK) {
        print_error("%s\n", error.message);
        return 1;
    }
    main_symbol = bat_symbolizer_symbol(symbolizer, address_in(DEMO, "main"));
    return main_symbol ? 0 : 1;
}

static int close_demo(void **state)
{
    (void)state;
    bat_symbolizer_close(symbolizer);
    return 0;
}

/* The address in the binary that a line's is; 0 if it is none. */
static uint64_t address_of(const char *line)
{
    struct bat_stack_line read;
    bat_stack_line_read(line, strlen(line), &read);
    assert_true(read.kind == BAT_LINE_FRAME);
    uint64_t address = 0;
    return bat_symbolizer_address(symbolizer, &read, 0, &address) ? address : 0;
}

static const char *line_of(const char *format, uint64_t value)
{
    static char line[256];
    snprintf(line, sizeof(line), format, value);
    return line;
}

TEST(test_symbols)
{
    assert_string_equal(main_symbol->name, "main");
    assert_true(main_symbol->size > 1);
    const struct bat_symbol *inside =
        bat_symbolizer_symbol(symbolizer, main_symbol->address + main_symbol->size - 1);
    assert_ptr_equal(inside, main_symbol);
    assert_null(bat_symbolizer_symbol(symbolizer, 0));
    assert_null(bat_symbolizer_symbol(symbolizer, UINT64_MAX));
}

TEST(test_names_tell)
{
    uint64_t expected = main_symbol->address + 5;
    assert_int_equal(address_of("\t            1234 main+0x5 (/bin/small.bolt)"), expected);
    assert_int_equal(address_of("\t            1234 main+0x5"), expected);
    assert_int_equal(address_of("\t            1234 main+0x5 (/bin/small.bolt (deleted))"),
                     expected);
    assert_int_equal(address_of("./small.bolt(main+0x5) [0x1234]"), expected);
    assert_int_equal(address_of("./small.bolt(main+0xffffffffffffffff) [0x7f0012345000]"), 0);
    assert_int_equal(address_of(line_of("#1  0x%016lx in main ()", expected)), expected);
    /* A whole number of pages away there is no doubt. */
    assert_int_equal(address_of(line_of("#1  0x%016lx in main ()", expected + 0x12345000)),
                     expected);
    /* Anywhere else that cannot be main. */
    uint64_t beyond = main_symbol->address + main_symbol->size + 0x12345000;
    assert_int_equal(address_of(line_of("#1  0x%016lx in main ()", beyond)), 0);
}

TEST(test_other_files)
{
    uint64_t address = main_symbol->address + 5;
    assert_int_equal(address_of("\t            1234 main+0x5 (/bin/other)"), 0);
    assert_int_equal(address_of(line_of("#1 0x%lx (/bin/large.small.bolt+0x5)", address)), 0);
    assert_int_equal(address_of("\t            1234 no_such_function+0x5 (/bin/other)"), 0);
    assert_int_equal(address_of("\t  7ffd4fec13c000 [unknown] ([unknown])"), 0);
}

TEST(test_addresses_alone)
{
    uint64_t address = main_symbol->address + 5;
    assert_int_equal(address_of(line_of("    @ 0x%lx  (unknown)", address)), address);
    assert_int_equal(address_of("    @ 0x7f0012345678  (unknown)"), 0);
    char line[128];
    snprintf(line, sizeof(line), "    #1 0x55d8ff (/b/small.bolt+0x%lx)", address);
    assert_int_equal(address_of(line), address);
}

TEST(test_mappings)
{
    /* The page of main, somewhere else. */
    uint64_t page = main_symbol->address & ~(uint64_t)0xfff;
    struct bat_elf *elf = open_elf(DEMO);
    struct bat_segment segment;
    size_t i = 0;
    do
        assert_true(bat_elf_segment(elf, i++, &segment));
    while (page < segment.address || page - segment.address >= segment.file_size);
    char line[256];
    snprintf(line, sizeof(line), "7f0012345000-7f0012346000 r-xp %08lx fe:00 5   /b/small.bolt",
             page - segment.address + segment.offset);
    struct bat_stack_line read;
    bat_stack_line_read(line, strlen(line), &read);
    assert_int_equal(read.kind, BAT_LINE_MAPPING);
    uint64_t offset = main_symbol->address + 5 - page;
    snprintf(line, sizeof(line), "    @ 0x%lx  (unknown)", 0x7f0012345000 + offset);
    assert_int_equal(address_of(line), 0);
    bat_symbolizer_learn(symbolizer, &read, 0);
    assert_int_equal(address_of(line), main_symbol->address + 5);
}

TEST(test_no_debug_information)
{
    assert_true(bat_symbolizer_lacks_original(symbolizer));
    const struct bat_error *reason = bat_symbolizer_no_debug(symbolizer);
    assert_non_null(reason);
    assert_int_equal(reason->code, BAT_ERR_NO_DEBUG);
    static const struct bat_frames_options options = {.size = sizeof(options)};
    const struct bat_source_frame *frames;
    size_t count;
    assert_int_equal(bat_symbolizer_frames(symbolizer, main_symbol->address + 1, BAT_PC_RETURN,
                                           &options, &frames, &count),
                     BAT_FOUND);
    assert_int_equal(count, 1);
    assert_string_equal(frames[0].function, "main");
    assert_null(frames[0].file);
    /* A return address behind a function's end is that function's still, and no other's. */
    bat_symbolizer_frames(symbolizer, main_symbol->address + main_symbol->size, BAT_PC_RETURN,
                          &options, &frames, &count);
    assert_string_equal(frames[0].function, "main");
    assert_int_equal(bat_symbolizer_frames(symbolizer, 0, BAT_PC_RETURN, &options, &frames, &count),
                     BAT_FOUND_NOWHERE);
    assert_int_equal(count, 1);
    assert_null(frames[0].function);
}

/* --- With the original ---------------------------------------------------------------------- */

#define ORIGINAL TEST_DATA "/demo/small"

/* The original twice: in the symbolizer that is tested, and in the parts that it is made of. */
struct both {
    struct bat_binary binary;
    struct bat_original *original;
    struct bat_symbolizer *of_original;
    struct bat_symbolizer *tested;
};

static void open_both(struct both *both)
{
    static const struct bat_symbolizer_options options = {.size = sizeof(options),
                                                          .original = ORIGINAL};
    assert_ok(bat_binary_open(DEMO, &both->binary, NULL));
    assert_ok(bat_original_open(ORIGINAL, &both->binary, NULL, &both->original, NULL));
    assert_ok(bat_symbolizer_open(ORIGINAL, NULL, &both->of_original, NULL));
    assert_ok(bat_symbolizer_open(DEMO, &options, &both->tested, NULL));
}

static void close_both(struct both *both)
{
    bat_symbolizer_close(both->tested);
    bat_symbolizer_close(both->of_original);
    bat_original_close(both->original);
    bat_binary_close(&both->binary);
}

/* Compare the function that is found with the symbol at the address in the original. True if the
 * address has one there. */
static bool compare_function(struct both *both, uint64_t address)
{
    struct bat_original_place place;
    bool is_moved = bat_original_input_of(both->original, address, false, &place);
    const struct bat_symbol *symbol = is_moved
                                          ? bat_symbolizer_symbol(both->of_original, place.address)
                                          : bat_symbolizer_symbol(symbolizer, address);
    const struct bat_source_frame *frames;
    size_t count;
    enum bat_symbolizer_found found =
        bat_symbolizer_frames(both->tested, address, BAT_PC_EXACT, NULL, &frames, &count);
    assert_int_equal(count, 1);
    assert_true((found == BAT_FOUND) == (is_moved && symbol));
    assert_true((frames[0].function != NULL) == (symbol != NULL));
    if (symbol) {
        assert_string_equal(frames[0].function, symbol->name);
        assert_int_equal(frames[0].start_address, symbol->address);
    }
    return is_moved && symbol;
}

/* All addresses of code, in both directions: neighbours share their answer. */
TEST(test_every_address)
{
    struct both both;
    open_both(&both);
    size_t count;
    size_t moved = 0;
    const struct bat_section *sections = bat_elf_sections(both.binary.elf, &count);
    for (size_t i = 0; i < count; i++) {
        const struct bat_section *section = &sections[i];
        if (!bat_elf_is_executable(both.binary.elf, section->address))
            continue;
        for (uint64_t at = 0; at < section->size; at++)
            moved += compare_function(&both, section->address + at);
        for (uint64_t at = section->size; at-- > 0;)
            moved += compare_function(&both, section->address + at);
    }
    assert_true(moved > 200);
    close_both(&both);
}

GROUP(open_demo, close_demo)
