/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A program with many and long names, made of the bytes: names repeat pieces, share their ends, are
 * those of fragments and of mangled functions. Whatever finds functions by names gives the same for
 * each, and the time for all stays within the time limit.
 */
#include "made_elf.h"

#include "bat_encoder.h"
#include "bat_symbolizer.h"
#include "binary/functions/functions.h"
#include "binary/note_text.h"
#include "binary/original/original.h"
#include "stacks/symbol_index.h"
#include "tools/common/tool.h"

#define TEXT 0x401000u
#define TEXT_SIZE 0x1000u
#define SYMBOLS 512u
#define STRINGS 49152u

struct names {
    char strings[STRINGS];
    size_t size;
    Elf64_Sym symbols[SYMBOLS];
    size_t count;
};

static void put(struct names *names, const char *piece, size_t size)
{
    if (size > STRINGS - 1 - names->size)
        size = STRINGS - 1 - names->size;
    memcpy(names->strings + names->size, piece, size);
    names->size += size;
}

/* --- Names from bytes ----------------------------------------------------------------------- */

static void put_pieces(struct names *names, struct fuzz_bytes *bytes)
{
    static const char *const pieces[] = {".cold",  ".cold.0",   ".warm",   "/1",
                                         "/2",     ".llvm.123", ".part.0", ".isra.0",
                                         "f",      "main",      "_Z",      "_ZN1a1bE",
                                         "I",      "E",         "S0_",     "T_",
                                         "N4llvm", "Dp",        "17h",     "0123456789abcdefE",
                                         ".org.0", ".cold.1",   "@PLT",    "$x",
                                         "_R",     "C",         "3abc",    "Ul",
                                         "_",      "v",         "a.c/",    "__BOLT_FDE_FUNCat"};
    for (uint64_t left = fuzz_take(bytes, 1) % 8; left > 0; left--) {
        uint64_t choice = fuzz_take(bytes, 1);
        if (choice < 192) {
            const char *piece = pieces[choice % (sizeof(pieces) / sizeof(pieces[0]))];
            put(names, piece, strlen(piece));
        } else if (choice < 224) {
            char letter = (char)(choice % 2 ? 'A' : fuzz_take(bytes, 1));
            for (uint64_t count = fuzz_take(bytes, choice < 212 ? 1 : 2); count > 0; count--)
                put(names, letter ? &letter : "x", 1);
        } else {
            /* A piece again and again: what a demangler substitutes grows. */
            const char *piece = pieces[choice % (sizeof(pieces) / sizeof(pieces[0]))];
            for (uint64_t count = fuzz_take(bytes, 1); count > 0; count--)
                put(names, piece, strlen(piece));
        }
    }
    put(names, "", 1);
}

static void add_symbol(struct names *names, uint32_t name, uint64_t address, uint64_t size,
                       uint64_t form)
{
    static const uint8_t types[] = {STT_FUNC, STT_FUNC, STT_NOTYPE, STT_OBJECT};
    bool is_file = form % 32 == 31;
    if (names->count == SYMBOLS)
        return;
    names->symbols[names->count++] = (Elf64_Sym){
        .st_name = name,
        .st_info = (uint8_t)ELF64_ST_INFO(form / 32 % 2, is_file ? STT_FILE : types[form % 4]),
        .st_shndx = is_file ? SHN_ABS : 1,
        .st_value = is_file ? 0 : address,
        .st_size = size,
    };
}

/* Several symbols of a name, or of its ends. */
static void add_symbols(struct names *names, struct fuzz_bytes *bytes)
{
    uint64_t form = fuzz_take(bytes, 1);
    uint32_t name = (uint32_t)names->size;
    if (form >= 64 || names->size < 2)
        put_pieces(names, bytes);
    else
        name = (uint32_t)(fuzz_take(bytes, 2) % names->size);
    uint64_t address = TEXT + fuzz_take(bytes, 2) % TEXT_SIZE;
    uint64_t copies = form % 8 == 0 ? fuzz_take(bytes, 1) : 0;
    uint64_t step = fuzz_take(bytes, 1);
    for (uint64_t i = 0; i <= copies; i++) {
        uint32_t start = name + (step & 64 ? (uint32_t)i : 0);
        if (start < names->size)
            add_symbol(names, start, TEXT + (address - TEXT + i * (step % 16)) % TEXT_SIZE,
                       step / 16 % 4 * 4, form);
    }
}

/* Functions and fragments at addresses of symbols. */
static uint8_t *make_note(const struct names *names, size_t *size)
{
    struct bat_builder *builder = bat_builder_new();
    fuzz_expect(builder, "there is memory for a builder");
    uint32_t parent = BAT_NONE;
    for (size_t i = 1; i < names->count; i++) {
        const Elf64_Sym *symbol = &names->symbols[i];
        bool is_fragment = i % 3 != 0 && parent != BAT_NONE;
        uint32_t table;
        if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
            continue;
        if (is_fragment)
            bat_builder_add_fragment(builder, symbol->st_value, parent, &table, NULL);
        else
            bat_builder_add_function(builder, symbol->st_value, 1, 1, &table, NULL);
        bat_builder_add_block(builder, table, 0, 0, 1, 0, NULL);
        if (!is_fragment)
            parent = table;
    }
    struct bat_map *map;
    uint8_t *note = NULL;
    /* It fails if two symbols are at one address: then there is no note. */
    if (bat_builder_finish(builder, NULL, &map, NULL) == BAT_OK)
        bat_encode(map, &note, size, NULL);
    bat_map_free(map);
    bat_builder_free(builder);
    return note;
}

static char *make_file(const struct names *names)
{
    static const uint8_t text[TEXT_SIZE] = {0xc3};
    struct image image = image_new();
    made_loaded(&image, ".text", SHF_EXECINSTR, TEXT, text, sizeof(text));
    size_t note_size = 0;
    uint8_t *note = make_note(names, &note_size);
    if (note)
        made_section(&image, ".note.bolt_bat", SHT_NOTE, note, note_size);
    free(note);
    made_symbols(&image, names->symbols, names->count, names->strings, names->size);
    return made_file(&image, "input", EM_X86_64);
}

/* --- Checks --------------------------------------------------------------------------------- */

static void check_functions(struct bat_elf *elf)
{
    struct bat_functions *functions;
    struct bat_error error;
    enum bat_code code = bat_functions_create_unnamed(elf, NULL, 1, &functions, &error);
    if (code == BAT_OK) {
        uint32_t count;
        if (bat_elf_build_id(elf, &(size_t){0}) == NULL)
            bat_functions_take_first_names(functions);
        code = bat_functions_name(functions, NULL, &error);
        const struct bat_function_symbol *all = bat_functions_all(functions, &count);
        for (uint32_t i = 0; code == BAT_OK && i < count; i++)
            fuzz_expect(all[i].name && *all[i].name, "each function has a name");
    }
    if (code != BAT_OK)
        fuzz_expect_error(code, &error, UINT64_MAX);
    bat_functions_free(functions);
}

static void check_index(struct bat_elf *elf)
{
    struct symbol_index index;
    struct bat_error error;
    enum bat_code code = symbol_index_make(&index, elf, &error);
    if (code != BAT_OK) {
        fuzz_expect_error(code, &error, UINT64_MAX);
        return;
    }
    const struct bat_symbol *symbols;
    size_t count;
    fuzz_expect(bat_elf_symbols(elf, false, &symbols, &count, NULL) == BAT_OK,
                "symbols that were read can be read again");
    size_t last = 0;
    for (size_t i = 0; i < count; i++) {
        struct bat_slice name = {symbols[i].name, strlen(symbols[i].name)};
        const struct named_symbol *first;
        size_t found = symbol_index_named(&index, name, demangle_name, &first);
        for (size_t k = 0; k < found && k < 4; k++)
            fuzz_expect(first[k].symbol != NULL, "what has a name is a symbol");
        const struct bat_symbol *at = symbol_index_at(&index, symbols[i].address);
        fuzz_expect(at == symbol_index_near(&index, symbols[i].address, &last),
                    "both look-ups find the same symbol");
    }
    symbol_index_free(&index);
}

static void check_note(const char *path, struct bat_elf *elf)
{
    struct bat_binary binary;
    struct bat_error error;
    enum bat_code code = bat_binary_open(path, &binary, &error);
    if (code != BAT_OK) {
        fuzz_expect_error(code, &error, UINT64_MAX);
        return;
    }
    const char **names;
    struct bat_names collected;
    code = bat_binary_table_names(&binary, &names, &error);
    if (code != BAT_OK) {
        fuzz_expect_error(code, &error, UINT64_MAX);
        bat_binary_close(&binary);
        return;
    }
    fuzz_expect(bat_names_collect(&binary, &collected, &error) == BAT_OK,
                "names that were found can be collected");
    for (uint32_t i = 0; i < bat_map_tables(binary.map); i++) {
        const struct bat_symbol *best = bat_names_best(&collected, binary.map->tables[i].address);
        fuzz_expect(!names[i] == !best && (!best || strcmp(names[i], best->name) == 0),
                    "a table has the best name");
        struct bat_binary_place place;
        bat_binary_input_of(&binary, &collected, binary.map->tables[i].address, false, &place);
    }
    struct bat_original *original;
    const struct bat_original_options options = {.size = sizeof(options), .threads = 1};
    struct bat_misfits misfits;
    code = bat_original_pair(elf, &binary, &options, false, NULL, &original, &misfits, &error);
    if (code == BAT_OK)
        bat_original_close(original);
    else
        fuzz_expect_error(code, &error, UINT64_MAX);
    bat_names_free(&collected);
    free(names);
    bat_binary_close(&binary);
}

/* Two names, in whole: is one a fragment's of the other? */
static void check_fragments(const struct names *names)
{
    for (size_t i = 1; i < names->count && i < 32; i++) {
        const char *name = names->strings + names->symbols[i].st_name;
        const char *other = names->strings + names->symbols[i - 1].st_name;
        fuzz_expect(bat_name_stem(name) <= strlen(name), "a stem is a part of a name");
        if (bat_name_is_fragment_of(name, other))
            fuzz_expect(bat_name_stem(name) != 0, "a fragment's name has a stem");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_poison_gaps(true);
    struct fuzz_bytes bytes = {data, size};
    static struct names names;
    names.size = 1;
    names.count = 1;
    while (bytes.left != 0 && names.count < SYMBOLS)
        add_symbols(&names, &bytes);
    names.strings[names.size++] = '\0';
    char *path = make_file(&names);
    struct bat_elf *elf;
    fuzz_expect(bat_elf_open(path, &elf, NULL) == BAT_OK, "a program can be opened");
    check_functions(elf);
    check_index(elf);
    check_note(path, elf);
    check_fragments(&names);
    bat_elf_close(elf);
    unlink(path);
    free(path);
    return 0;
}
