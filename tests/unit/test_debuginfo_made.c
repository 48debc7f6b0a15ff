/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * debuginfo/: units that are made here, byte by byte. Attributes that are cut off at the end of
 * their unit, units that are longer than their section, code that the linker dropped. Builds with
 * the address sanitizer notice if a byte behind a section is read.
 */
#include <dwarf.h>

#include "bat_debuginfo.h"
#include "elf_image.h"
#include "unit_test.h"

#define LOADED 0x400000u /* where the file is loaded */
#define TEXT 0x401000u
#define TEXT_SIZE 0x1000u

struct bytes {
    uint8_t all[1024];
    size_t size;
};

static void put_all(struct bytes *bytes, const void *all, size_t size)
{
    assert_true(bytes->size + size <= sizeof(bytes->all));
    memcpy(bytes->all + bytes->size, all, size);
    bytes->size += size;
}

static void put(struct bytes *bytes, uint64_t value, size_t size)
{
    put_all(bytes, &value, size);
}

KEPT(kept_debuginfo, struct bat_debuginfo, bat_debuginfo_close)

/* The debug information of a program with code from TEXT on. */
struct program {
    struct bytes abbreviations;
    struct bytes info;
    struct bytes addresses;
    struct bytes ranges;
    struct bytes rnglists;
    struct bytes line;
};

/* Begin the header of a unit; end_unit() sets its length. */
static void begin_unit(struct program *program, unsigned version)
{
    put(&program->info, 0, 4);
    put(&program->info, version, 2);
    if (version >= 5)
        put(&program->info, DW_UT_compile | 8 << 8, 2); /* size of addresses */
    put(&program->info, 0, 4);                          /* abbreviations */
    if (version < 5)
        put(&program->info, 8, 1);
}

static void end_unit(struct program *program)
{
    const uint32_t length = (uint32_t)program->info.size - 4;
    memcpy(program->info.all, &length, 4);
}

/* fields: pairs of a name and a form. */
static void put_abbreviation(struct program *program, uint8_t code, uint8_t tag, bool has_children,
                             const uint8_t *fields, size_t size)
{
    put(&program->abbreviations, code, 1);
    put(&program->abbreviations, tag, 1);
    put(&program->abbreviations, has_children, 1);
    put_all(&program->abbreviations, fields, size);
    put(&program->abbreviations, 0, 2);
}

static void put_section(struct image *image, const char *name, const struct bytes *bytes)
{
    if (bytes->size)
        image_section(image, name, SHT_PROGBITS, bytes->all, bytes->size);
}

static void save_program(const struct program *program, const char *path)
{
    struct image image = image_new();
    image_append(&image, NULL, TEXT - LOADED - image.size);
    static const uint8_t code[TEXT_SIZE];
    Elf64_Shdr *text = image_section(&image, ".text", SHT_PROGBITS, code, sizeof(code));
    text->sh_flags = SHF_ALLOC | SHF_EXECINSTR;
    text->sh_addr = TEXT;
    image_segment(&image, PT_LOAD, PF_R | PF_X, 0, image.size);
    put_section(&image, ".debug_abbrev", &program->abbreviations);
    put_section(&image, ".debug_addr", &program->addresses);
    put_section(&image, ".debug_ranges", &program->ranges);
    put_section(&image, ".debug_rnglists", &program->rnglists);
    put_section(&image, ".debug_line", &program->line);
    put_section(&image, ".debug_info", &program->info);
    /* Relocations, which linkers leave for BOLT, are no units. */
    static const uint8_t relocation[24] = {0x7f, 0x7f, 0x7f, 0x7f};
    image_section(&image, ".rela.debug_info", SHT_RELA, relocation, sizeof(relocation));
    image_end(&image);
    save(path, image.bytes, image.size);
}

static enum bat_code open_program(const struct program *program, struct bat_debuginfo **debuginfo,
                                  struct bat_error *error)
{
    char *path = path_in(make_folder(), "program");
    save_program(program, path);
    enum bat_code code = bat_debuginfo_open(path, NULL, debuginfo, error);
    if (code == BAT_OK)
        kept_debuginfo(*debuginfo);
    return code;
}

static struct bat_debuginfo *open_fine(const struct program *program)
{
    struct bat_debuginfo *debuginfo;
    struct bat_error error;
    assert_ok(open_program(program, &debuginfo, &error));
    return debuginfo;
}

/* --- What is cut off ------------------------------------------------------------------------- */

/* A unit ends behind its entry's code, or in its first attributes: they are not there. */
TEST(test_cut_attributes)
{
    static const struct {
        unsigned version;
        uint8_t fields[6];
        size_t left; /* bytes of the attributes that are there */
    } cases[] = {
        {4, {DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data8}, 0},
        {4, {DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data8}, 7},
        {4, {DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data8}, 8},
        {4, {DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_addr}, 15},
        {4, {DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_udata}, 8},
        {4, {DW_AT_low_pc, DW_FORM_addrx, DW_AT_high_pc, DW_FORM_data8}, 0},
        {4, {DW_AT_ranges, DW_FORM_sec_offset, DW_AT_comp_dir, DW_FORM_string}, 1},
        {4, {DW_AT_ranges, DW_FORM_sec_offset, DW_AT_comp_dir, DW_FORM_string}, 4},
        {4, {DW_AT_ranges, DW_FORM_sec_offset, DW_AT_comp_dir, DW_FORM_string}, 6},
        {4, {DW_AT_comp_dir, DW_FORM_strp, DW_AT_stmt_list, DW_FORM_sec_offset}, 3},
        {4, {DW_AT_comp_dir, DW_FORM_strp, DW_AT_stmt_list, DW_FORM_sec_offset}, 6},
        {4, {DW_AT_name, DW_FORM_block1, DW_AT_comp_dir, DW_FORM_string}, 0},
        {4, {DW_AT_name, DW_FORM_block4, DW_AT_comp_dir, DW_FORM_string}, 2},
        {4, {DW_AT_name, DW_FORM_exprloc, DW_AT_comp_dir, DW_FORM_string}, 0},
        {4, {DW_AT_name, DW_FORM_indirect, DW_AT_low_pc, DW_FORM_addr}, 0},
        {5, {DW_AT_low_pc, DW_FORM_addrx, DW_AT_high_pc, DW_FORM_data4}, 0},
        {5, {DW_AT_low_pc, DW_FORM_addrx4, DW_AT_high_pc, DW_FORM_data4}, 3},
        {5, {DW_AT_ranges, DW_FORM_rnglistx, DW_AT_comp_dir, DW_FORM_strx1}, 0},
        {5, {DW_AT_ranges, DW_FORM_rnglistx, DW_AT_comp_dir, DW_FORM_strx1}, 1},
        {5, {DW_AT_addr_base, DW_FORM_sec_offset, DW_AT_low_pc, DW_FORM_addrx}, 3},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        for (uint8_t fill = 0; fill < 2; fill++) {
            struct program program = {0};
            put_abbreviation(&program, 1, DW_TAG_compile_unit, true, cases[i].fields, 4);
            put(&program.abbreviations, 0, 1);
            put(&program.ranges, 0, 8);
            put(&program.rnglists, 0, 8);
            put(&program.addresses, 0, 8);
            begin_unit(&program, cases[i].version);
            put(&program.info, 1, 1);
            for (size_t j = 0; j < cases[i].left; j++)
                put(&program.info, fill ? 0x80 : 1, 1);
            end_unit(&program);
            struct bat_debuginfo *debuginfo = open_fine(&program);
            const struct bat_frame *frames;
            assert_int_equal(bat_debuginfo_frames(debuginfo, TEXT + 0x10, &frames), 0);
        }
}

/* What an entry has is not sought behind the end of its section. */
TEST(test_long_units)
{
    static const uint8_t none[] = {0};
    /* The length of a unit in the first place, of the second of two, and in 64 bits. */
    for (unsigned kind = 0; kind < 6; kind++) {
        struct program program = {0};
        put_abbreviation(&program, 1, DW_TAG_compile_unit, false, none, 0);
        put(&program.abbreviations, 0, 1);
        begin_unit(&program, 4);
        put(&program.info, 1, 1);
        end_unit(&program);
        const size_t second = kind % 2 ? program.info.size : 0;
        if (kind % 2)
            put_all(&program.info, program.info.all, program.info.size);
        static const uint32_t lengths[] = {9, 0x7ffffff0, UINT32_MAX};
        memcpy(program.info.all + second, &lengths[kind / 2], 4);
        struct bat_debuginfo *debuginfo;
        struct bat_error error;
        assert_int_equal(open_program(&program, &debuginfo, &error), BAT_ERR_ELF);
        assert_non_null(strstr(error.message, "expected each unit of DWARF to end in its section"));
        assert_non_null(strstr(error.message, second ? " at 0xc" : " at 0x0"));
    }
}

/* --- What the linker dropped ----------------------------------------------------------------- */

/* Compile unit, function, inlined call, with as many low and high bounds as their tags say. */
static void put_entries(struct program *program, uint8_t form)
{
    const uint8_t unit[] = {DW_AT_low_pc, DW_FORM_addr};
    const uint8_t whole[] = {DW_AT_low_pc,  DW_FORM_addr, DW_AT_high_pc,
                             DW_FORM_data8, DW_AT_name,   DW_FORM_string};
    const uint8_t ranges[] = {DW_AT_ranges, form, DW_AT_name, DW_FORM_string};
    put_abbreviation(program, 1, DW_TAG_compile_unit, true, unit, sizeof(unit));
    put_abbreviation(program, 2, DW_TAG_subprogram, true, whole, sizeof(whole));
    put_abbreviation(program, 3, DW_TAG_inlined_subroutine, false, ranges, sizeof(ranges));
    put_abbreviation(program, 4, DW_TAG_subprogram, false, whole, sizeof(whole));
    put_abbreviation(program, 5, DW_TAG_subprogram, false, ranges, sizeof(ranges));
    put(&program->abbreviations, 0, 1);
}

static void put_function(struct program *program, uint8_t code, uint64_t low, uint64_t size,
                         const char *name)
{
    put(&program->info, code, 1);
    put(&program->info, low, 8);
    put(&program->info, size, 8);
    put_all(&program->info, name, strlen(name) + 1);
}

/*
 * A function that the linker dropped, with a call inlined there; a function whose list of ranges is
 * relative to what was dropped; and one that is there. tombstone is what the linker has written.
 */
static void expect_dropped(unsigned version, uint64_t tombstone)
{
    struct program program = {0};
    put_entries(&program, DW_FORM_sec_offset);
    begin_unit(&program, version);
    put(&program.info, 1, 1);
    put(&program.info, tombstone, 8);
    put_function(&program, 2, tombstone, 0x3000, "dropped");
    put(&program.info, 3, 1);
    put(&program.info, 0, 4);
    put_all(&program.info, "inlined", 8);
    put(&program.info, 0, 1);
    put(&program.info, 5, 1);
    put(&program.info, 0, 4);
    put_all(&program.info, "split", 6);
    put_function(&program, 4, TEXT + 0x100, 0x100, "there");
    put(&program.info, 0, 1);
    end_unit(&program);
    if (version < 5) {
        const uint64_t bounds[][2] = {
            {UINT64_MAX, tombstone}, /* a new base */
            {TEXT + 2, TEXT + 0x800},
            {tombstone == UINT64_MAX ? tombstone - 1 : tombstone, TEXT + 0x800},
            {0, 0},
        };
        put_all(&program.ranges, bounds, sizeof(bounds));
    } else {
        put(&program.rnglists, DW_RLE_base_address, 1);
        put(&program.rnglists, tombstone, 8);
        put(&program.rnglists, DW_RLE_offset_pair, 1);
        put(&program.rnglists, 0x0280a082, 4); /* LEB128 of TEXT + 2 */
        put(&program.rnglists, 0x0280b080, 4); /* of TEXT + 0x800 */
        put(&program.rnglists, DW_RLE_start_length, 1);
        put(&program.rnglists, tombstone, 8);
        put(&program.rnglists, 0x3080, 2);
        put(&program.rnglists, DW_RLE_end_of_list, 1);
    }
    struct bat_debuginfo *debuginfo = open_fine(&program);
    for (uint64_t address = TEXT; address < TEXT + 0x800; address++) {
        const struct bat_frame *frames;
        const bool is_there = address >= TEXT + 0x100 && address < TEXT + 0x200;
        assert_int_equal(bat_debuginfo_frames(debuginfo, address, &frames), is_there);
        if (is_there)
            assert_string_equal(frames[0].name, "there");
    }
}

TEST(test_dropped)
{
    for (unsigned version = 4; version <= 5; version++) {
        expect_dropped(version, UINT64_MAX);
        expect_dropped(version, UINT64_MAX - 1);
    }
}

/* --- Entries of a byte ----------------------------------------------------------------------- */

/*
 * Constants in the abbreviation leave a byte for a function. One that nothing asks for takes no
 * memory; too many others, which can have calls below them, are refused.
 */
TEST(test_entries_of_a_byte)
{
    static const uint8_t low[] = {DW_AT_low_pc, DW_FORM_addr};
    static const uint8_t none[] = {DW_AT_low_pc, DW_FORM_implicit_const, 5};
    for (unsigned has_children = 0; has_children < 2; has_children++) {
        struct program program = {0};
        put_abbreviation(&program, 1, DW_TAG_compile_unit, true, low, sizeof(low));
        put_abbreviation(&program, 2, DW_TAG_subprogram, false, none, sizeof(none));
        put_abbreviation(&program, 3, DW_TAG_subprogram, true, none, sizeof(none));
        put(&program.abbreviations, 0, 1);
        begin_unit(&program, 5);
        put(&program.info, 1, 1);
        put(&program.info, TEXT, 8);
        for (unsigned i = 0; i < 400; i++)
            put(&program.info, has_children ? 3 : 2, has_children ? 2 : 1);
        put(&program.info, 0, 1);
        end_unit(&program);
        struct bat_debuginfo *debuginfo;
        struct bat_error error;
        const enum bat_code code = open_program(&program, &debuginfo, &error);
        assert_int_equal(code, has_children ? BAT_ERR_ELF : BAT_OK);
        if (has_children)
            assert_non_null(
                strstr(error.message, "functions and inlined calls of at least 6 bytes"));
    }
}
