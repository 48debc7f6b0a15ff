/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* debuginfo/line_*: line-number programs, written down byte by byte. */
#include "debuginfo/line_table.h"
#include "unit_test.h"

/* --- Programs ------------------------------------------------------------------------------- */

struct bytes {
    uint8_t at[512];
    size_t size;
};

static void put(struct bytes *bytes, const void *more, size_t size)
{
    assert_true(bytes->size + size <= sizeof(bytes->at));
    memcpy(bytes->at + bytes->size, more, size);
    bytes->size += size;
}

static void put_number(struct bytes *bytes, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = (uint8_t)(value >> 8 * i);
        put(bytes, &byte, 1);
    }
}

#define PUT(bytes, ...)                                                                            \
    do {                                                                                           \
        const uint8_t more[] = {__VA_ARGS__};                                                      \
        put(bytes, more, sizeof(more));                                                            \
    } while (0)

static void put_length(struct bytes *bytes, size_t at)
{
    uint64_t length = bytes->size - at - 4;
    for (size_t i = 0; i < 4; i++)
        bytes->at[at + i] = (uint8_t)(length >> 8 * i);
}

/* Opcodes' parameters: line_base -3, line_range 12, opcode_base 13, as GCC and Clang have them. */
static void put_opcodes(struct bytes *bytes)
{
    PUT(bytes, 1, (uint8_t)-3, 12, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1);
}

/* A version 4 table of folders "inc", "/abs" and files 1 "a.c" in 0, 2 "b.h" in 1, 3 "c.h" in 2. */
static struct bytes version_4(const struct bytes *program)
{
    struct bytes table = {.size = 0};
    put_number(&table, 0, 4);
    put_number(&table, 4, 2);
    size_t header = table.size;
    put_number(&table, 0, 4);
    PUT(&table, 1, 1); /* minimum_instruction_length, operations */
    put_opcodes(&table);
    put(&table, "inc\0/abs\0", 10);
    put(&table, "a.c", 4);
    PUT(&table, 0, 0, 0);
    put(&table, "b.h", 4);
    PUT(&table, 1, 0, 0);
    put(&table, "c.h", 4);
    PUT(&table, 2, 0, 0, 0);
    put_length(&table, header);
    put(&table, program->at, program->size);
    put_length(&table, 0);
    return table;
}

/* The same as version 5: strings in .debug_line_str, an MD5 and a size that nobody asked for. */
static const char strings[] = "\0/src\0inc\0/abs\0a.c\0b.h\0c.h";

static struct bytes version_5(const struct bytes *program)
{
    struct bytes table = {.size = 0};
    put_number(&table, 0, 4);
    put_number(&table, 5, 2);
    PUT(&table, 8, 0);
    size_t header = table.size;
    put_number(&table, 0, 4);
    PUT(&table, 1, 1);
    put_opcodes(&table);
    PUT(&table, 1, 1, 0x1f, 3); /* folders: DW_LNCT_path by DW_FORM_line_strp */
    put_number(&table, 1, 4);
    put_number(&table, 6, 4);
    put_number(&table, 10, 4);
    /* Files: path, folder as udata, MD5 as data16, size as a block. */
    PUT(&table, 4, 1, 0x1f, 2, 0x0f, 5, 0x1e, 4, 0x09, 4);
    static const uint8_t places[] = {15, 15, 19, 23};
    static const uint8_t folders[] = {0, 0, 1, 2};
    for (size_t i = 0; i < 4; i++) {
        put_number(&table, places[i], 4);
        PUT(&table, folders[i]);
        put_number(&table, 0, 8);
        put_number(&table, 0, 8);
        PUT(&table, 2, 0xff, 0xff);
    }
    put_length(&table, header);
    put(&table, program->at, program->size);
    put_length(&table, 0);
    return table;
}

static void set_address(struct bytes *program, uint64_t address)
{
    PUT(program, 0, 9, 2);
    put_number(program, address, 8);
}

static bool is_wanted(uint64_t address, const void *context)
{
    (void)context;
    return address >= 0x1000;
}

KEPT_COPY(kept_table, struct line_table, line_table_free)

/* Read from a block of exactly these bytes, so that a byte too many is found out. */
static struct line_table *read_table(const struct bytes *bytes)
{
    uint8_t *copy = kept_memory(NULL, bytes->size ? bytes->size : 1);
    memcpy(copy, bytes->at, bytes->size);
    struct line_sections sections = {
        .line = {copy, bytes->size},
        .line_strings = {(const uint8_t *)strings, sizeof(strings)},
    };
    struct line_table *table = kept_table((struct line_table){.compile_folder = "/src"});
    uint64_t budget = UINT64_MAX;
    assert_true(line_table_read(table, &sections, 0, is_wanted, NULL, &budget));
    return table;
}

static void expect_row(struct line_table *table, uint64_t address, uint32_t line, uint32_t column,
                       uint32_t discriminator, uint32_t file)
{
    const struct line_row *row = line_table_find(table, address);
    assert_non_null(row);
    assert_int_equal(row->line, line);
    assert_int_equal(row->column, column);
    assert_int_equal(row->discriminator, discriminator);
    assert_int_equal(row->file, file);
}

/* --- What opcodes do ------------------------------------------------------------------------ */

TEST(test_opcodes)
{
    struct bytes program = {.size = 0};
    set_address(&program, 0x1000);
    PUT(&program, 1);                               /* copy: 0x1000, line 1 */
    PUT(&program, 13 + 3 + 2 + 12 * 4);             /* special: +4, +2 lines: 0x1004, 3 */
    PUT(&program, 5, 7, 4, 2);                      /* column 7, file 2 */
    PUT(&program, 0, 5, 4, 0xff, 0xff, 0xff, 0x7f); /* discriminator 0xfffffff */
    PUT(&program, 3, 0x7f, 2, 0x10, 1);             /* line -1, address +16: 0x1014, 2 */
    PUT(&program, 8, 1); /* const_add_pc: + (255 - 13) / 12 = 20: 0x1028 */
    PUT(&program, 9, 0x00, 0x01, 6, 7, 10, 11, 12, 5, 1); /* fixed +256, flags: 0x1128 */
    PUT(&program, 2, 8, 0, 1, 1);                         /* end at 0x1130 */
    struct bytes bytes = version_4(&program);
    struct line_table *table = read_table(&bytes);
    assert_int_equal(table->sequence_count, 1);
    assert_int_equal(table->row_count, 5);
    assert_null(line_table_find(table, 0xfff));
    expect_row(table, 0x1000, 1, 0, 0, 1);
    expect_row(table, 0x1003, 1, 0, 0, 1);
    expect_row(table, 0x1004, 3, 0, 0, 1);
    expect_row(table, 0x1014, 2, 7, 0xfffffff, 2);
    expect_row(table, 0x1028, 2, 7, 0, 2);
    expect_row(table, 0x1127, 2, 7, 0, 2);
    expect_row(table, 0x112f, 2, 7, 0, 2);
    assert_null(line_table_find(table, 0x1130));
}

/* Of rows at one address the last one counts. */
TEST(test_same_address)
{
    struct bytes program = {.size = 0};
    set_address(&program, 0x2000);
    PUT(&program, 1, 3, 4, 1, 0, 2, 4, 9, 3, 5,
        1); /* lines 1, 5, 10; the last has discriminator 9 */
    PUT(&program, 2, 1, 1, 2, 1, 0, 1, 1);
    struct bytes bytes = version_4(&program);
    struct line_table *table = read_table(&bytes);
    assert_int_equal(table->row_count, 2);
    expect_row(table, 0x2000, 10, 0, 9, 1);
    expect_row(table, 0x2001, 10, 0, 0, 1); /* a discriminator is of one row */
}

/* Sequences of code that was dropped, that go backwards, are empty or have no end are left out;
 * others are found whatever their order. */
TEST(test_sequences)
{
    struct bytes program = {.size = 0};
    set_address(&program, 0x3000);
    PUT(&program, 3, 29, 1, 2, 8, 0, 1, 1);
    set_address(&program, 0); /* dropped */
    PUT(&program, 3, 9, 1, 2, 8, 0, 1, 1);
    set_address(&program, 0x4000); /* backwards */
    PUT(&program, 1);
    set_address(&program, 0x3ff0);
    PUT(&program, 1, 2, 0x40, 0, 1, 1);
    set_address(&program, 0x1000);
    PUT(&program, 3, 9, 1, 2, 8, 0, 1, 1);
    set_address(&program, 0x5000); /* empty */
    PUT(&program, 1, 0, 1, 1);
    set_address(&program, 0x6000); /* endless */
    PUT(&program, 1, 2, 8, 1);
    struct bytes bytes = version_4(&program);
    struct line_table *table = read_table(&bytes);
    assert_int_equal(table->sequence_count, 2);
    expect_row(table, 0x1007, 10, 0, 0, 1);
    expect_row(table, 0x3000, 30, 0, 0, 1);
    static const uint64_t nowhere[] = {0,      7,      0x1008, 0x2fff, 0x3008,
                                       0x3ff0, 0x4000, 0x5000, 0x6000};
    for (size_t i = 0; i < COUNT(nowhere); i++)
        assert_null(line_table_find(table, nowhere[i]));
}

/* --- Files ---------------------------------------------------------------------------------- */

static void expect_files(const struct bytes *bytes)
{
    struct line_table *table = read_table(bytes);
    assert_string_equal(line_table_path(table, 1), "/src/a.c");
    assert_string_equal(line_table_path(table, 2), "/src/inc/b.h");
    assert_string_equal(line_table_path(table, 3), "/abs/c.h");
    assert_ptr_equal(line_table_path(table, 3), line_table_path(table, 3));
    assert_null(line_table_path(table, 4));
    assert_null(line_table_path(table, UINT32_MAX));
    assert_int_equal(table->row_count, 1);
}

TEST(test_files)
{
    struct bytes program = {.size = 0};
    set_address(&program, 0x1000);
    PUT(&program, 1, 2, 8, 0, 1, 1);
    struct bytes four = version_4(&program);
    expect_files(&four);
    struct bytes five = version_5(&program);
    expect_files(&five);
}

/* --- Damage --------------------------------------------------------------------------------- */

/* What the header promises of every table. */
static void expect_order(const struct line_table *table)
{
    for (size_t i = 0; i < table->sequence_count; i++) {
        const struct line_sequence *sequence = &table->sequences[i];
        assert_true(sequence->start < sequence->end);
        assert_true(i == 0 || table->sequences[i - 1].end <= sequence->end);
        assert_true((uint64_t)sequence->first_row + sequence->row_count <= table->row_count);
        assert_true(sequence->row_count > 0);
        const struct line_row *rows = table->rows + sequence->first_row;
        assert_true(rows[0].address == sequence->start);
        assert_true(rows[sequence->row_count - 1].address <= sequence->end);
        for (uint32_t row = 1; row < sequence->row_count; row++)
            assert_true(rows[row - 1].address < rows[row].address);
    }
}

/* A table that ends anywhere, or has any byte changed, is read without reading beyond it, and has
 * its rows in order. */
TEST(test_damaged)
{
    struct bytes program = {.size = 0};
    set_address(&program, 0x1000);
    PUT(&program, 1, 5, 7, 4, 2, 0, 2, 4, 3, 2, 8, 1, 8, 1, 0, 1, 1);
    struct bytes whole[] = {version_4(&program), version_5(&program)};
    for (size_t kind = 0; kind < 2; kind++) {
        struct line_table *table = read_table(&whole[kind]);
        size_t rows = table->row_count;
        assert_int_not_equal(rows, 0);
        for (size_t at = 0; at < whole[kind].size; at++) {
            static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
            for (size_t i = 0; i < sizeof(values); i++) {
                struct bytes damaged = whole[kind];
                damaged.at[at] = values[i];
                table = read_table(&damaged);
                expect_order(table);
                for (uint32_t file = 0; file < 8; file++) {
                    const char *name = line_table_path(table, file);
                    assert_true(!name || strlen(name) < sizeof(strings) + sizeof(damaged.at));
                }
                if (damaged.at[at] == whole[kind].at[at])
                    assert_int_equal(table->row_count, rows);
            }
            struct bytes cut = whole[kind];
            cut.size = at;
            table = read_table(&cut);
            assert_int_equal(table->row_count, 0);
        }
    }
}

/* A header whose length leaves no room for what it has: nothing is read behind the table for it. */
TEST(test_short_header)
{
    for (uint8_t version = 4; version <= 5; version++) {
        struct bytes bytes = {.size = 0};
        put_number(&bytes, 0, 4);
        put_number(&bytes, version, 2);
        if (version == 5)
            PUT(&bytes, 8, 0);
        put_number(&bytes, 0, 4); /* the header's length */
        PUT(&bytes, 1, 1);
        put_opcodes(&bytes);
        put_length(&bytes, 0);
        struct line_table *table = read_table(&bytes);
        assert_int_equal(table->folder_count, 0);
        assert_int_equal(table->file_count, 0);
    }
}

TEST(test_leb128)
{
    static const uint8_t large[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
    struct line_reader reader = {.at = large, .end = large + sizeof(large)};
    assert_true(line_read_leb128(&reader) == UINT64_MAX);
    assert_false(reader.failed);
    static const uint8_t negative[] = {0x80, 0x7f, 0x3f, 0x40};
    reader = (struct line_reader){.at = negative, .end = negative + sizeof(negative)};
    assert_int_equal(line_read_signed_leb128(&reader), -128);
    assert_int_equal(line_read_signed_leb128(&reader), 63);
    assert_int_equal(line_read_signed_leb128(&reader), -64);
    assert_int_equal(line_read_leb128(&reader), 0);
    assert_true(reader.failed);
}
