/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* binary/: opening, names of tables, hot indices by symbols, and bytes by kind of field. */
#include <sys/wait.h>

#include "bat_binary.h"
#include "bat_decoder.h"
#include "bat_encoder.h"
#include "binary/functions/name_parts.h"
#include "elf_image.h"
#include "folder.h"
#include "kept.h"
#include "unit_test.h"

/* --- Files to open -------------------------------------------------------------------------- */

struct test_symbol {
    const char *name;
    uint64_t address;
    uint64_t size;
    uint8_t type;
    uint8_t binding;
};

static void add_symbols(struct image *image, const struct test_symbol *symbols, size_t count)
{
    Elf64_Sym table[32] = {{0}};
    char strings[1024] = {0};
    size_t used = 1;
    assert_true(count < COUNT(table));
    for (size_t i = 0; i < count; i++) {
        const size_t size = strlen(symbols[i].name) + 1;
        table[i + 1] =
            (Elf64_Sym){(uint32_t)used, (uint8_t)ELF64_ST_INFO(symbols[i].binding, symbols[i].type),
                        .st_shndx = 1, .st_value = symbols[i].address, .st_size = symbols[i].size};
        assert_true(used + size <= sizeof(strings));
        memcpy(strings + used, symbols[i].name, size);
        used += size;
    }
    Elf64_Shdr *section =
        image_section(image, ".symtab", SHT_SYMTAB, table, (count + 1) * sizeof(*table));
    section->sh_entsize = sizeof(*table);
    section->sh_link = (uint32_t)image->section_count;
    image_section(image, ".strtab", SHT_STRTAB, strings, used);
}

/* An ELF file with these symbols in .text and this note. */
static char *write_elf(const struct test_symbol *symbols, size_t count, const void *note,
                       size_t note_size)
{
    struct image image = image_new();
    Elf64_Shdr *text = image_header(&image, ".text", SHT_NOBITS, image.size, 0x10000);
    text->sh_flags = SHF_ALLOC | SHF_EXECINSTR;
    text->sh_addr = 0x1000;
    add_symbols(&image, symbols, count);
    image_section(&image, BAT_SECTION_NAME, SHT_NOTE, note, note_size);
    image_end(&image);
    return write_file(image.bytes, image.size);
}

/* A table to build: hot ones have no parent. */
struct test_table {
    uint64_t address;
    int parent; /* position in the list, or -1 */
};

/* The note of these tables, one block each. */
static uint8_t *build_note(const struct test_table *tables, size_t count, enum bat_hot_index form,
                           size_t *size)
{
    struct bat_builder *builder = new_builder();
    uint32_t handles[16];
    for (size_t i = 0; i < count; i++) {
        const struct test_table *table = &tables[i];
        enum bat_code code =
            table->parent < 0
                ? bat_builder_add_function(builder, table->address, 7, 100, &handles[i], NULL)
                : bat_builder_add_fragment(builder, table->address, handles[table->parent],
                                           &handles[i], NULL);
        assert_ok(code);
        /* Blocks that could belong to any function, so that only symbols can decide. */
        code = bat_builder_add_block(builder, handles[i], 0, i * 16, i + 1, (uint32_t)i, NULL);
        assert_ok(code);
    }
    const struct bat_builder_options options = {.size = sizeof(options), .hot_index = form};
    return encode_map(finish_map(builder, &options), size);
}

KEPT_COPY(kept_binary, struct bat_binary, bat_binary_close)

static struct bat_binary *open_fine(const char *path)
{
    struct bat_binary binary;
    struct bat_error error = {.message = "no message"};
    if (bat_binary_open(path, &binary, &error) != BAT_OK)
        fail_msg("%s: %s", path, error.message);
    return kept_binary(binary);
}

static enum bat_code open_bad(const void *bytes, size_t size, struct bat_error *error)
{
    char *path = write_file(bytes, size);
    struct bat_binary binary;
    enum bat_code code = bat_binary_open(path, &binary, error);
    assert_null(binary.map);
    assert_null(binary.elf);
    assert_null(binary.owned);
    return code;
}

/* --- Opening -------------------------------------------------------------------------------- */

static const struct test_table two_functions[] = {{0x1000, -1}, {0x2000, -1}, {0x3000, 0}};

TEST(test_raw_note)
{
    size_t size = 0;
    uint8_t *note = build_note(two_functions, 3, BAT_HOT_INDEX_TABLE, &size);
    char *path = write_file(note, size);
    struct bat_binary *binary = open_fine(path);
    assert_null(binary->elf);
    assert_int_equal(binary->note_size, size);
    assert_memory_equal(binary->note, note, size);
    assert_int_equal(bat_map_tables(binary->map), 3);

    const char **names = NULL;
    assert_ok(bat_binary_table_names(binary, &names, NULL));
    for (int i = 0; i < 3; i++)
        assert_null(names[i]);
    free(names);
}

/* A pipe has no known size; 200 kB need more than one read. */
TEST(test_raw_note_from_pipe)
{
    struct bat_builder *builder = new_builder();
    uint32_t table = 0;
    assert_ok(bat_builder_add_function(builder, 0x1000, 1, 20000, &table, NULL));
    for (uint32_t i = 0; i < 20000; i++)
        assert_ok(bat_builder_add_block(builder, table, i, i, i + 1, i, NULL));
    struct bat_map *map = finish_map(builder, NULL);
    size_t size = 0;
    uint8_t *note = encode_map(map, &size);
    assert_true(size > 200000);

    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t writer = fork();
    if (writer == 0)
        _exit(write(ends[1], note, size) == (ssize_t)size ? 0 : 1);
    close(ends[1]);
    char path[64];
    snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
    struct bat_binary *binary = open_fine(path);
    assert_int_equal(binary->note_size, size);
    assert_memory_equal(binary->note, note, size);
    close(ends[0]);
    int status = 1;
    assert_int_equal(waitpid(writer, &status, 0), writer);
    assert_int_equal(status, 0);
}

TEST(test_neither_elf_nor_note)
{
    struct bat_error error;
    assert_int_equal(open_bad("", 0, &error), BAT_ERR_NOT_ELF);
    assert_int_equal(open_bad("#!/bin/sh\necho hello\n", 21, &error), BAT_ERR_NOT_ELF);
    assert_non_null(strstr(error.message, "expected an ELF file or a BAT note"));
    struct bat_binary unopened;
    assert_int_equal(bat_binary_open("/nonexistent/file", &unopened, &error), BAT_ERR_IO);
    assert_non_null(strstr(error.message, "No such file"));
    assert_int_equal(bat_binary_open("/", &unopened, &error), BAT_ERR_IO);
}

/* A prefix of a note, however short, is a damaged note, not a file of an unknown kind. */
TEST(test_note_cut_short)
{
    size_t size = 0;
    uint8_t *note = build_note(two_functions, 3, BAT_HOT_INDEX_TABLE, &size);
    for (size_t kept = 1; kept < size; kept++) {
        struct bat_error error;
        assert_int_equal(open_bad(note, kept, &error), BAT_ERR_TRUNCATED);
        assert_int_equal(error.place, BAT_PLACE_SECTION);
    }
}

/* --- Names ---------------------------------------------------------------------------------- */

static const struct test_symbol named[] = {
    {"$x", 0x1000, 0, STT_NOTYPE, STB_LOCAL},
    {"label", 0x1000, 0, STT_NOTYPE, STB_GLOBAL},
    {"local", 0x1000, 0x80, STT_FUNC, STB_LOCAL},
    {"weak", 0x1000, 0x80, STT_FUNC, STB_WEAK},
    {"unsized", 0x1000, 0, STT_FUNC, STB_GLOBAL},
    {"second", 0x1000, 0x80, STT_FUNC, STB_GLOBAL},
    {"another", 0x1000, 0x80, STT_FUNC, STB_GLOBAL},
    {"variable", 0x2000, 8, STT_OBJECT, STB_GLOBAL},
    {"start", 0x2000, 0, STT_NOTYPE, STB_GLOBAL},
    {"inner", 0x1010, 0, STT_NOTYPE, STB_LOCAL},
    {"small", 0x4000, 4, STT_FUNC, STB_GLOBAL},
    {"open", 0x5000, 0, STT_FUNC, STB_GLOBAL},
    {"last", 0x6000, 0x10, STT_FUNC, STB_GLOBAL},
};

static struct bat_binary *open_named(void)
{
    size_t size = 0;
    uint8_t *note = build_note(two_functions, 3, BAT_HOT_INDEX_TABLE, &size);
    return open_fine(write_elf(named, COUNT(named), note, size));
}

TEST(test_table_names)
{
    struct bat_binary *binary = open_named();
    const char **names = NULL;
    assert_ok(bat_binary_table_names(binary, &names, NULL));
    assert_string_equal(names[0], "second"); /* sized, global, before "another" in the table */
    assert_string_equal(names[1], "start");
    assert_null(names[2]);
    free(names);
}

TEST(test_input_of)
{
    static const struct {
        uint64_t address;
        bool is_branch_source;
        const char *name; /* NULL: in no function */
        uint32_t table;
        uint32_t function;
        uint64_t offset;
    } cases[] = {
        {0x107f, false, "second", 0, 0, 0x7f},
        {0x107f, true, "second", 0, 0, 0},
        {0x1080, false, NULL, BAT_NONE, BAT_NONE, 0},
        {0x2fff, false, "start", 1, 1, 0x1010 - 1}, /* its block is at 0x10 of the input */
        {0x3010, false, "second", 2, 0, 0x30},      /* a fragment of the first, from 0x20 on */
        {0x3010, true, "second", 2, 0, 0x20},
        {0x4003, false, "small", BAT_NONE, BAT_NONE, 3},
        {0x4003, true, "small", BAT_NONE, BAT_NONE, 3},
        {0x4004, false, NULL, BAT_NONE, BAT_NONE, 0},
        {0, false, NULL, BAT_NONE, BAT_NONE, 0},
    };
    struct bat_binary *binary = open_named();
    struct bat_names names;
    assert_ok(bat_names_collect(binary, &names, NULL));
    struct bat_binary_place place;
    for (size_t i = 0; i < COUNT(cases); i++) {
        memset(&place, 0x5a, sizeof(place));
        assert_int_equal(bat_binary_input_of(binary, &names, cases[i].address,
                                             cases[i].is_branch_source, &place),
                         cases[i].name != NULL);
        if (cases[i].name)
            assert_string_equal(place.symbol->name, cases[i].name);
        else
            assert_null(place.symbol);
        assert_int_equal(place.table, cases[i].table);
        assert_int_equal(place.function, cases[i].function);
        assert_int_equal(place.offset, cases[i].offset);
    }
    bat_names_free(&names);
    /* Without symbols only the tables tell. */
    assert_true(bat_binary_input_of(binary, &names, 0x3010, false, &place));
    assert_null(place.symbol);
    assert_int_equal(place.function, 0);
    assert_int_equal(place.offset, 0x30);
    assert_false(bat_binary_input_of(binary, &names, 0xfff, false, &place));
}

TEST(test_addresses_to_symbols_and_tables)
{
    struct bat_binary *binary = open_named();
    struct bat_names names;
    assert_ok(bat_names_collect(binary, &names, NULL));
    size_t first = 0;
    assert_int_equal(bat_names_at(&names, 0x1000, &first), 6);
    assert_string_equal(names.symbols[first]->name, "another");
    assert_int_equal(bat_names_at(&names, 0x1001, &first), 0);
    assert_null(bat_names_best(&names, 0x3000));

    /* A label inside a function does not end it. */
    assert_string_equal(bat_names_containing(&names, 0x1020)->name, "second");
    assert_string_equal(bat_names_containing(&names, 0x107f)->name, "second");
    assert_null(bat_names_containing(&names, 0x1080));
    assert_null(bat_names_containing(&names, 0xfff));
    assert_string_equal(bat_names_containing(&names, 0x5fff)->name, "open");
    assert_null(bat_names_containing(&names, UINT64_MAX));

    assert_int_equal(bat_binary_table_containing(binary, &names, 0xfff), BAT_NONE);
    assert_int_equal(bat_binary_table_containing(binary, &names, 0x107f), 0);
    assert_int_equal(bat_binary_table_containing(binary, &names, 0x1080), BAT_NONE);
    /* These two have no size: they end at the next table and at the next function. */
    assert_int_equal(bat_binary_table_containing(binary, &names, 0x2fff), 1);
    assert_int_equal(bat_binary_table_containing(binary, &names, 0x3fff), 2);
    assert_int_equal(bat_binary_table_containing(binary, &names, 0x4000), BAT_NONE);
    bat_names_free(&names);
}

TEST(test_fragment_names)
{
    static const char *const fragments[][2] = {
        {"f.cold", "f"},       {"f.cold.0", "f"},           {"f.cold.417", "f"},
        {"f.warm", "f"},       {"f.cold.cold.1", "f.cold"}, {"f.constprop.0.cold", "f.constprop.0"},
        {"f/1.cold.0", "f/1"}, {"f.cold.0/1", "f/2"},       {"f/a.c/1.cold", "f/a.c/1"},
    };
    static const char *const others[][2] = {
        {"f", "f"},
        {"f.cold", "g"},
        {"f.cold", "ff"},
        {"ff.cold", "f"},
        {"f.cold.0", "f.cold.0"},
        {"f.cold.x", "f"},
        {"f.colder", "f"},
        {".cold", ""},
        {"", ""},
        {"f.0", "f"},
        {"f.constprop.0.cold", "f"},
    };
    for (size_t i = 0; i < COUNT(fragments); i++)
        assert_true(bat_name_is_fragment_of(fragments[i][0], fragments[i][1]));
    for (size_t i = 0; i < COUNT(others); i++)
        assert_false(bat_name_is_fragment_of(others[i][0], others[i][1]));
}

/* What each reading of suffixes finds in a name: the lengths of what it keeps, 0 if it is no such
 * name. */
TEST(test_name_parts)
{
    static const struct {
        const char *name;
        const char *fragment;     /* of, with nothing behind it */
        const char *any_fragment; /* of, with anything behind it, as BOLT reads its input */
        const char *patched;      /* where it began before BOLT moved it */
        const char *profile;      /* without what LLVM appends after it matched a sample profile */
        const char *unnumbered;   /* without the number and file of a local function */
        bool is_of_part;
    } cases[] = {
        {"f", "", "", "", "f", "f", false},
        {"f.cold", "f", "f", "", "f.cold", "f.cold", true},
        {"f.cold.7", "f", "f", "", "f.cold.7", "f.cold.7", true},
        {"f.warm", "f", "f", "", "f.warm", "f.warm", true},
        {"f.warm.0", "f", "f", "", "f.warm.0", "f.warm.0", true},
        {"f.colder", "", "f", "", "f.colder", "f.colder", false},
        {"f.cold.x", "", "f", "", "f.cold.x", "f.cold.x", true},
        {"f.cold.org.0", "", "f", "f.cold", "f.cold.org.0", "f.cold.org.0", true},
        {"f.cold.llvm.12", "", "f", "", "f.cold", "f.cold.llvm.12", true},
        {"f.llvm.12.cold", "f.llvm.12", "f.llvm.12", "", "f.llvm.12.cold", "f.llvm.12.cold", true},
        {"f.cold.1.cold.2", "f.cold.1", "f.cold.1", "", "f.cold.1.cold.2", "f.cold.1.cold.2", true},
        {"f.org.0", "", "", "f", "f.org.0", "f.org.0", false},
        {"f.org", "", "", "", "f.org", "f.org", false},
        {"f.organ.0", "", "", "", "f.organ.0", "f.organ.0", false},
        {"f.llvm.123", "", "", "", "f", "f.llvm.123", false},
        {"f.llvm.", "", "", "", "f", "f.llvm.", false},
        {"f.llvm.1.2", "", "", "", "f.llvm.1.2", "f.llvm.1.2", false},
        {"f.part.1.llvm.123", "", "", "", "f", "f.part.1.llvm.123", false},
        {"f.llvm.123.part.1", "", "", "", "f.llvm.123", "f.llvm.123.part.1", false},
        {"f.__uniq.99", "", "", "", "f.__uniq.99", "f.__uniq.99", false},
        {"f.__uniq.99.llvm.1", "", "", "", "f.__uniq.99", "f.__uniq.99.llvm.1", false},
        {".part.", "", "", "", "", ".part.", false},
        {"part.1", "", "", "", "part.1", "part.1", false},
        {"f.part.0", "", "", "", "f", "f.part.0", false},
        {"f.part.0.cold", "f.part.0", "f.part.0", "", "f.part.0.cold", "f.part.0.cold", true},
        {"f.isra.0", "", "", "", "f.isra.0", "f.isra.0", false},
        {"f.constprop.0.isra.0", "", "", "", "f.constprop.0.isra.0", "f.constprop.0.isra.0", false},
        {"f.lto_priv.0", "", "", "", "f.lto_priv.0", "f.lto_priv.0", false},
        {"f.resume", "", "", "", "f.resume", "f.resume", true},
        {"f/1", "", "", "", "f/1", "f", false},
        {"f/a.c/1", "", "", "", "f/a.c/1", "f", false},
        {"f.cold/2", "", "f", "", "f.cold/2", "f.cold", false},
        {"f.cold.0/a.c/1", "", "f", "", "f.cold.0/a.c/1", "f.cold.0", true},
        {"/1", "", "", "", "/1", "/1", false},
        {".cold", "", "", "", ".cold", ".cold", true},
        {".org.0", "", "", "", ".org.0", ".org.0", false},
        {"_ZN1a1b17h0123456789abcdefE.llvm.5", "", "", "", "_ZN1a1b17h0123456789abcdefE",
         "_ZN1a1b17h0123456789abcdefE.llvm.5", false},
        {"", "", "", "", "", "", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *name = cases[i].name;
        size_t length = strlen(name);
        assert_int_equal(fragment_name_stem(name, length), strlen(cases[i].fragment));
        assert_int_equal(fragment_name_any_stem(name), strlen(cases[i].any_fragment));
        assert_int_equal(patched_name_stem(name, length), strlen(cases[i].patched));
        assert_int_equal(profile_name_length(name), strlen(cases[i].profile));
        assert_int_equal(unnumbered_name_length(name), strlen(cases[i].unnumbered));
        assert_int_equal(name_is_of_part(name, length), cases[i].is_of_part);
    }
}

/* --- Hot indices by symbols ----------------------------------------------------------------- */

/*
 * One fragment lies between the hot functions: f has index 1 in the hot table and 2 among all
 * tables, g has 2 in the hot table and 3 among all.
 */
static const struct test_table of_f[] = {{0x1000, -1}, {0x2000, -1}, {0x3000, -1}, {0x1800, 1}};
static const struct test_symbol f_symbols[] = {
    {"first", 0x1000, 0x40, STT_FUNC, STB_GLOBAL}, {"f", 0x2000, 0x40, STT_FUNC, STB_LOCAL},
    {"ff", 0x3000, 0x40, STT_FUNC, STB_GLOBAL},    {"f.cold.0", 0x1800, 0x40, STT_FUNC, STB_LOCAL},
    {"alias", 0x2000, 0x40, STT_FUNC, STB_GLOBAL},
};
static const struct test_symbol g_symbols[] = {
    {"first", 0x1000, 0x40, STT_FUNC, STB_GLOBAL},
    {"f", 0x2000, 0x40, STT_FUNC, STB_LOCAL},
    {"g", 0x3000, 0x40, STT_FUNC, STB_GLOBAL},
    {"g.cold.0", 0x1800, 0x40, STT_FUNC, STB_LOCAL},
};

/* Open BOLT 19's note for of_f with these symbols, and check the fragment's parent. */
static void check_parent(const struct test_symbol *symbols, size_t count, uint64_t parent,
                         enum bat_hot_index form, bool ambiguous)
{
    size_t size = 0;
    uint8_t *note = build_note(of_f, 4, BAT_HOT_INDEX_MERGED, &size);
    const struct bat_map *map = open_fine(write_elf(symbols, count, note, size))->map;
    assert_int_equal(map->tables[bat_map_parent(map, 3)].address, parent);
    assert_int_equal(map->hot_index, form);
    assert_int_equal(map->hot_index_ambiguous, ambiguous);
    size_t again_size = 0;
    uint8_t *again = encode_map(map, &again_size);
    assert_int_equal(again_size, size);
    assert_memory_equal(again, note, size);
}

TEST(test_symbols_choose_the_reading)
{
    /* Without symbols the documented reading is used: index 2 is the hot table's third, g. */
    check_parent(f_symbols, 0, 0x3000, BAT_HOT_INDEX_TABLE, true);
    check_parent(f_symbols, 3, 0x3000, BAT_HOT_INDEX_TABLE, true);
    check_parent(f_symbols, 5, 0x2000, BAT_HOT_INDEX_MERGED, false);
    check_parent(g_symbols, 4, 0x3000, BAT_HOT_INDEX_TABLE, false);
}

/* --- Where the bytes go --------------------------------------------------------------------- */

#define HASH 1, 2, 3, 4, 5, 6, 7, 8
#define FFFFFFF 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff

static const uint8_t measured_note[] = {
    5,    0,       0,       0,    121,  0,    0, 0, 1, 0, 0,
    0,    'B',     'O',     'L',  'T',  0,    0, 0, 0, 2, /* NumFuncs */
    0x80, 0x20,    HASH,                                  /* 0x1000 */
    0xc8, 0x01,    2,       3,    2,    0x02, /* 200 blocks, 2 secondary, 3 entries, 2 equal */
    0,    HASH,    0,                         /* 0 -> 0, block 0 */
    0x10,                                     /* 0x10 -> 0x10, branch */
    0x10, 0xdf,    0x03,    HASH, 0x96, 0x01, /* 0x20 -> 0x100, block 150 */
    0x1a, 0xf6,    0xff,    0xff, 0xff, 0x0f, /* secondary: 0x1a, 0x10 */
    0xe0, 0x1f,    HASH,                      /* 0x2000 */
    1,    0,       1,       1,    0,          /* 1 block, 0 secondary, 1 entry, 1 equal */
    0,    HASH,    0,                         /* 0 -> 0, block 0 */
    1,                                        /* NumFuncs */
    0x80, 0xd0,    FFFFFFF, 0x01,             /* 0x800 */
    0,    0x80,    0x06,    2,    1,    0,    /* of 0, skew 0x300, 2 entries, 1 equal */
    0,    HASH,    0xa0,    0x01,             /* 0 -> 0x300, block 160 */
    0x20, 0x80,    0x7c,    HASH,             /* 0x20 -> 0x200, ... */
    0xc4, FFFFFFF, 0xff,    0x01,             /* ... block 100 */
    0,    0,       0,                         /* padding */
};

TEST(test_shares_of_known_note)
{
    static const uint64_t expected[BAT_SHARES] = {
        [BAT_SHARE_CONTAINER] = 20 + 3,
        [BAT_SHARE_COUNTS] = 2 + 5 + 4 + 2,
        [BAT_SHARE_ADDRESSES] = 2 + 2 + 10,
        [BAT_SHARE_FUNCTION_HASHES] = 16,
        [BAT_SHARE_HOT_INDICES] = 1,
        [BAT_SHARE_SKEWS] = 2,
        [BAT_SHARE_BRANCH_MASKS] = 3,
        [BAT_SHARE_OUTPUT_OFFSETS] = 6,
        [BAT_SHARE_INPUT_OFFSETS] = 2 + 2,
        [BAT_SHARE_BLOCK_HASHES] = 40,
        [BAT_SHARE_BLOCK_INDICES] = 1 + 2 + 1 + 2 + 10,
        [BAT_SHARE_SECONDARY_ENTRIES] = 1 + 5,
    };
    struct bat_map *map = NULL;
    struct bat_error error = {.message = ""};
    if (bat_decode(measured_note, sizeof(measured_note), NULL, &map, &error) != BAT_OK)
        fail_msg("%#lx: %s", (unsigned long)error.offset, error.message);
    struct bat_shares shares;
    bat_map_shares(kept_map(map), &shares);
    for (unsigned i = 0; i < BAT_SHARES; i++)
        assert_int_equal(shares.bytes[i], expected[i]);
    assert_int_equal(bat_shares_sum(&shares), sizeof(measured_note));
}

/* Numbers on both sides of every length that a LEB128 number can have. */
TEST(test_shares_add_up)
{
    struct bat_builder *builder = new_builder();
    uint64_t address = 0;
    for (unsigned i = 0; i < 62; i++) {
        uint32_t table = 0;
        address += ((uint64_t)1 << i) - 1;
        assert_ok(bat_builder_add_function(builder, address + i, i, 1u << i % 32, &table, NULL));
        for (unsigned j = 0; j < 31; j++) {
            uint64_t input = j % 2 ? ((uint64_t)1 << j) : ((uint64_t)1 << (30 - j)) - 1;
            assert_ok(bat_builder_add_block(builder, table, (uint64_t)1 << (j + i % 2), input, j,
                                            1u << j, NULL));
            assert_ok(bat_builder_add_branch(builder, table, ((uint64_t)1 << j) + 3, input, NULL));
            assert_ok(bat_builder_add_secondary(builder, table, input, NULL));
        }
    }
    struct bat_map *map = finish_map(builder, NULL);
    size_t size = 0;
    encode_map(map, &size);
    struct bat_shares shares;
    bat_map_shares(map, &shares);
    assert_int_equal(bat_shares_sum(&shares), size);
}

TEST(test_shares_of_merged_note)
{
    /* Two fragments of the last of 127 hot functions lie below all: index 126 in the hot table,
     * 128 among all tables. */
    struct bat_builder *builder = new_builder();
    uint32_t table = 0;
    for (uint64_t i = 1; i <= 127; i++) {
        assert_ok(bat_builder_add_function(builder, i * 0x100, i, 1, &table, NULL));
        assert_ok(bat_builder_add_block(builder, table, 0, 0, i, 0, NULL));
    }
    for (uint64_t i = 1; i <= 2; i++) {
        uint32_t fragment = 0;
        assert_ok(bat_builder_add_fragment(builder, i, table, &fragment, NULL));
        assert_ok(bat_builder_add_block(builder, fragment, 0, 9, i, 0, NULL));
    }
    const struct bat_builder_options options = {.size = sizeof(options),
                                                .hot_index = BAT_HOT_INDEX_MERGED};
    struct bat_map *map = finish_map(builder, &options);
    struct bat_shares shares;
    bat_map_shares(map, &shares);
    assert_int_equal(shares.bytes[BAT_SHARE_HOT_INDICES], 2 + 1); /* 128, then a delta of 0 */
    size_t size = 0;
    encode_map(map, &size);
    assert_int_equal(bat_shares_sum(&shares), size);

    bat_map_canonicalize(map);
    bat_map_shares(map, &shares);
    assert_int_equal(shares.bytes[BAT_SHARE_HOT_INDICES], 1 + 1); /* 126, then a delta of 0 */
}
