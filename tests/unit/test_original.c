/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* original/: the demo program before and after BOLT, and files that are not its input. */
#include "bat_decoder.h"
#include "bat_original.h"
#include "bat_profile.h"
#include "binary/build_ids.h"
#include "binary/original/original.h"
#include "elf_image.h"
#include "unit_test.h"

#define BOLTED TEST_DATA "/demo/small.bolt"
#define INPUT TEST_DATA "/demo/small"

struct pair {
    struct bat_binary binary;
    struct bat_original *original;
};

static int open_pair(void **state)
{
    static struct pair pair;
    struct bat_error error;
    assert_ok(bat_binary_open(BOLTED, &pair.binary, &error));
    assert_ok(bat_original_open(INPUT, &pair.binary, NULL, &pair.original, &error));
    *state = &pair;
    return 0;
}

static int close_pair(void **state)
{
    struct pair *pair = *state;
    bat_original_close(pair->original);
    bat_binary_close(&pair->binary);
    return 0;
}

/* The address that a symbol of the file has, or 0. */
static uint64_t symbol_address(struct bat_elf *elf, const char *name)
{
    const struct bat_symbol *symbols;
    size_t count;
    assert_ok(bat_elf_symbols(elf, false, &symbols, &count, NULL));
    for (size_t i = 0; i < count; i++)
        if (strcmp(symbols[i].name, name) == 0 && symbols[i].type == STT_FUNC)
            return symbols[i].address;
    return 0;
}

/* --- Pairing -------------------------------------------------------------------------------- */

TEST(test_every_table_is_paired)
{
    const struct pair *pair = *state;
    struct bat_original_counters counters = bat_original_counters(pair->original);
    assert_true(counters.tables > 3);
    assert_int_equal(counters.tables, pair->binary.map->hot_count);
    assert_int_equal(counters.tables_paired, counters.tables);
    assert_int_equal(counters.folded, 0);
    assert_true(counters.plt > 0);
}

TEST(test_names_lead_to_the_same_function)
{
    const struct pair *pair = *state;
    const char **names = NULL;
    struct bat_binary binary = pair->binary;
    assert_ok(bat_binary_table_names(&binary, &names, NULL));
    for (uint32_t table = 0; table < binary.map->hot_count; table++) {
        uint64_t input;
        assert_true(bat_original_input_address_of(pair->original, binary.map->tables[table].address,
                                                  true, &input));
        assert_non_null(names[table]);
        assert_int_equal(input, symbol_address(bat_original_elf(pair->original), names[table]));
    }
    free(names);
}

TEST(test_functions_by_name)
{
    const struct pair *pair = *state;
    uint64_t address = 0;
    assert_int_equal(bat_original_input_function_named(pair->original, "main", &address), 1);
    assert_int_equal(address, symbol_address(bat_original_elf(pair->original), "main"));
    assert_int_equal(
        bat_original_input_function_named(pair->original, "no such function", &address), 0);
    struct bat_original_place place;
    assert_true(bat_original_input_function_at(pair->original, address + 1, &place));
    assert_string_equal(place.name, "main");
    assert_int_equal(place.kind, BAT_ORIGINAL_TABLE);
    assert_int_equal(place.function_address, address);
    assert_int_equal(place.address, address + 1);
}

/* --- Addresses ------------------------------------------------------------------------------ */

/* The input address of an entry's address is the one that the entry has. */
TEST(test_entries_are_where_they_say)
{
    const struct pair *pair = *state;
    const struct bat_map *map = pair->binary.map;
    for (uint32_t table = 0; table < bat_map_tables(map); table++) {
        const struct bat_table *function = &map->tables[table];
        uint64_t start =
            pair->original->inputs[bat_original_input_of_table(pair->original, function->parent)]
                .address;
        for (uint32_t i = 0; i < function->entry_count; i++) {
            uint32_t entry = function->first_entry + i;
            bool is_last_there = i + 1 == function->entry_count ||
                                 map->output_offsets[entry + 1] != map->output_offsets[entry];
            struct bat_original_place place;
            uint64_t output = function->address + map->output_offsets[entry];
            if (!is_last_there || !bat_original_input_of(pair->original, output, false, &place) ||
                place.table != table)
                continue; /* a deleted block, at the function's end */
            assert_int_equal(place.address, start + (map->input_offsets[entry] >> 1));
        }
    }
}

/* Every instruction of the output maps to one of the input, which maps back to it. */
TEST(test_there_and_back)
{
    const struct pair *pair = *state;
    const struct bat_original *original = pair->original;
    size_t there = 0;
    size_t back = 0;
    for (uint32_t output = 0; output < original->output_count; output++) {
        if (original->table_of[output] == BAT_NONE)
            continue;
        const struct bat_function_symbol *symbol = &original->outputs[output];
        struct bat_instruction instruction;
        for (uint64_t at = symbol->address; at < symbol->address + symbol->size;
             at += instruction.length) {
            assert_true(bat_original_decode(pair->binary.elf, at, &instruction));
            if (instruction.kind == BAT_INSTRUCTION_NOP)
                continue;
            uint64_t input;
            assert_true(bat_original_input_address_of(original, at, false, &input));
            there++;
            uint64_t *outputs;
            size_t count;
            assert_ok(bat_original_outputs_of(original, input, &outputs, &count, NULL));
            bool found = false;
            for (size_t i = 0; i < count; i++)
                found = found || outputs[i] == at;
            /* Jumps that BOLT added map to the instruction before them. */
            assert_true(found || instruction.kind == BAT_INSTRUCTION_JUMP);
            back += found;
            free(outputs);
        }
    }
    assert_true(there > 100);
    assert_true(back * 10 > there * 9);
}

/* The result is an instruction's start, and of the same kind, except for branches. */
TEST(test_instructions_are_alike)
{
    const struct pair *pair = *state;
    const struct bat_original *original = pair->original;
    for (uint32_t output = 0; output < original->output_count; output++) {
        if (original->table_of[output] == BAT_NONE)
            continue;
        const struct bat_function_symbol *symbol = &original->outputs[output];
        struct bat_instruction instruction;
        for (uint64_t at = symbol->address; at < symbol->address + symbol->size;
             at += instruction.length) {
            struct bat_instruction before;
            uint64_t input;
            assert_true(bat_original_decode(pair->binary.elf, at, &instruction));
            assert_true(bat_original_input_address_of(original, at, false, &input));
            assert_true(bat_original_decode(original->elf, input, &before));
            if (instruction.kind != BAT_INSTRUCTION_JUMP && instruction.kind != BAT_INSTRUCTION_NOP)
                assert_int_equal(before.kind, instruction.kind);
        }
    }
}

TEST(test_the_middle_of_an_instruction_is_its_start)
{
    const struct pair *pair = *state;
    uint64_t output = symbol_address(pair->binary.elf, "main");
    struct bat_instruction first;
    while (bat_original_decode(pair->binary.elf, output, &first) && first.length == 1)
        output++;
    uint64_t start;
    uint64_t middle;
    assert_true(bat_original_input_address_of(pair->original, output, false, &start));
    assert_true(bat_original_input_address_of(pair->original, output + 1, false, &middle));
    assert_int_equal(middle, start);
}

TEST(test_addresses_outside)
{
    const struct pair *pair = *state;
    const uint64_t outside[] = {0, 1, UINT64_MAX, bat_elf_base_address(pair->binary.elf)};
    for (size_t i = 0; i < COUNT(outside); i++) {
        uint64_t input;
        uint64_t *outputs;
        size_t count;
        struct bat_original_place place;
        assert_false(bat_original_input_address_of(pair->original, outside[i], false, &input));
        assert_false(bat_original_input_address_of(pair->original, outside[i], true, &input));
        assert_false(bat_original_input_function_at(pair->original, outside[i], &place));
        assert_ok(bat_original_outputs_of(pair->original, outside[i], &outputs, &count, NULL));
        assert_int_equal(count, 0);
        free(outputs);
    }
}

/* --- Files that do not fit ------------------------------------------------------------------- */

/* A copy of a file that can be changed. */
struct copy {
    char *path;
    uint8_t *bytes;
    size_t size;
};

static struct copy copy_file(const char *path)
{
    struct copy copy = {.path = path_in(make_folder(), "copy")};
    struct loaded file = load(path);
    copy.bytes = file.bytes;
    copy.size = file.size;
    return copy;
}

static void write_copy(const struct copy *copy)
{
    save(copy->path, copy->bytes, copy->size);
}

/* Open the copy as the input binary; it must be refused with this text in the message. */
static void refuse(const struct pair *pair, struct copy *copy,
                   const struct bat_original_options *options, enum bat_code code,
                   const char *wanted)
{
    write_copy(copy);
    struct bat_binary binary = pair->binary;
    struct bat_original *original = pair->original;
    struct bat_error error = {0};
    assert_int_equal(bat_original_open(copy->path, &binary, options, &original, &error), code);
    assert_null(original);
    assert_int_equal(error.code, code);
    if (!strstr(error.message, wanted))
        fail_msg("expected \"%s\" in \"%s\"", wanted, error.message);
    assert_null(strchr(error.message, '\n'));
}

/* The build-id in the file's bytes. */
static uint8_t *find_id(const struct pair *pair, struct copy *copy, size_t *size)
{
    const uint8_t *id = bat_elf_build_id(bat_original_elf(pair->original), size);
    assert_non_null(id);
    uint8_t *found = memmem(copy->bytes, copy->size, id, *size);
    assert_non_null(found);
    return found;
}

TEST(test_another_build)
{
    struct copy copy = copy_file(INPUT);
    size_t size;
    find_id(*state, &copy, &size)[0] ^= 0x10;
    refuse(*state, &copy, NULL, BAT_ERR_MISMATCH, "build-id");
}

/* The input with bits of its build-id flipped. */
static struct copy flip_id(const struct pair *pair, uint8_t first, uint8_t last)
{
    struct copy copy = copy_file(INPUT);
    size_t size;
    uint8_t *id = find_id(pair, &copy, &size);
    id[0] ^= first;
    id[size - 1] ^= last;
    return copy;
}

static void accept_id(const struct pair *pair, uint8_t first, uint8_t last)
{
    struct copy copy = flip_id(pair, first, last);
    write_copy(&copy);
    struct bat_binary binary = pair->binary;
    struct bat_original *original;
    assert_ok(bat_original_open(copy.path, &binary, NULL, &original, NULL));
    bat_original_close(original);
}

static void refuse_id(const struct pair *pair, uint8_t first, uint8_t last)
{
    struct copy copy = flip_id(pair, first, last);
    refuse(pair, &copy, NULL, BAT_ERR_MISMATCH, "build-id");
}

/* BOLT 22 flipped the last bit; here it is flipped back, as if BOLT had not changed it. */
TEST(test_last_bit_of_the_build_id)
{
    accept_id(*state, 0, 1);
    refuse_id(*state, 0, 2);
    refuse_id(*state, 0, 3);
}

/* BOLT 24 flips the first bit as well, never alone. */
TEST(test_first_bit_of_the_build_id)
{
    accept_id(*state, 0x80, 0);
    refuse_id(*state, 0x80, 1);
    refuse_id(*state, 0x40, 0);
    refuse_id(*state, 0x81, 0);
}

TEST(test_build_id_of_one_byte)
{
    const uint8_t output[] = {0x21, 0x05};
    for (unsigned flipped = 0; flipped < 256; flipped++) {
        const uint8_t input[] = {(uint8_t)(output[0] ^ flipped), 0x05};
        bool may_be = flipped == 0 || flipped == 1 || flipped == 0x81;
        assert_int_equal(build_id_is_of_input(output, 1, input, 1), may_be);
        assert_false(build_id_is_of_input(output, 1, input, 2));
        assert_int_equal(build_ids_share_input(output, 1, input, 1), (flipped & 0x7e) == 0);
    }
    assert_false(build_ids_share_input(output, 0, output, 0));
    assert_false(build_ids_share_input(output, 1, output, 2));
    assert_false(build_id_is_of_input(output, 0, output, 0));
}

TEST(test_the_bolted_file_itself)
{
    struct copy copy = copy_file(BOLTED);
    refuse(*state, &copy, NULL, BAT_ERR_MISMATCH, "found a file that BOLT wrote");
}

TEST(test_another_machine)
{
    struct copy copy = copy_file(INPUT);
    ((Elf64_Ehdr *)(void *)copy.bytes)->e_machine = EM_AARCH64;
    refuse(*state, &copy, NULL, BAT_ERR_MISMATCH, "machine");
}

TEST(test_another_type)
{
    struct copy copy = copy_file(INPUT);
    Elf64_Ehdr *header = (Elf64_Ehdr *)(void *)copy.bytes;
    header->e_type = header->e_type == ET_EXEC ? ET_DYN : ET_EXEC;
    refuse(*state, &copy, NULL, BAT_ERR_MISMATCH, "ELF type");
}

/* The section of that type, in a file with sound headers. */
static Elf64_Shdr *find_section(const struct copy *copy, uint32_t type)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)copy->bytes;
    Elf64_Shdr *sections = (Elf64_Shdr *)(void *)(copy->bytes + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; i++)
        if (sections[i].sh_type == type)
            return &sections[i];
    fail_msg("no section of type %u", type);
    return NULL;
}

TEST(test_a_stripped_file)
{
    struct copy copy = copy_file(INPUT);
    find_section(&copy, SHT_SYMTAB)->sh_type = SHT_PROGBITS;
    refuse(*state, &copy, NULL, BAT_ERR_MISMATCH, "stripped");
}

/* Without its build-id a file has to fit by its functions. */
TEST(test_without_build_id)
{
    const struct bat_original_options ignoring = {.size = sizeof(ignoring),
                                                  .ignore_build_id = true};
    struct copy copy = copy_file(INPUT);
    const Elf64_Shdr *section = find_section(&copy, SHT_SYMTAB);
    Elf64_Sym *symbols = (Elf64_Sym *)(void *)(copy.bytes + section->sh_offset);
    for (size_t i = 0; i < section->sh_size / sizeof(*symbols); i++)
        if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC)
            symbols[i].st_name++; /* other names */
    refuse(*state, &copy, &ignoring, BAT_ERR_MISMATCH, "found no function for");
}

/* The function symbol with that name in a copy. */
static Elf64_Sym *find_symbol(const struct copy *copy, const char *name)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)copy->bytes;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(const void *)(copy->bytes + header->e_shoff);
    const Elf64_Shdr *table = find_section(copy, SHT_SYMTAB);
    const char *strings = (const char *)copy->bytes + sections[table->sh_link].sh_offset;
    Elf64_Sym *symbols = (Elf64_Sym *)(void *)(copy->bytes + table->sh_offset);
    for (size_t i = 0; i < table->sh_size / sizeof(*symbols); i++)
        if (strcmp(strings + symbols[i].st_name, name) == 0)
            return &symbols[i];
    fail_msg("no symbol %s", name);
    return NULL;
}

/* Two functions have changed their names: one is too small for the other's table. */
TEST(test_functions_too_small)
{
    struct copy copy = copy_file(INPUT);
    size_t size;
    uint8_t *id = find_id(*state, &copy, &size);
    id[-4] = 'X'; /* the note's owner: no build-id any more */
    Elf64_Sym *large = find_symbol(&copy, "main");
    Elf64_Sym *small = find_symbol(&copy, "_start");
    Elf64_Word name = large->st_name;
    assert_true(large->st_size > small->st_size);
    large->st_name = small->st_name;
    small->st_name = name;
    refuse(*state, &copy, NULL, BAT_ERR_MISMATCH, "too small for 1");
}

TEST(test_no_elf_file)
{
    struct copy copy = copy_file(INPUT);
    copy.size = 4;
    memcpy(copy.bytes, "text", 4);
    refuse(*state, &copy, NULL, BAT_ERR_NOT_ELF, "");
}

TEST(test_a_raw_note)
{
    const struct pair *pair = *state;
    struct bat_binary note = pair->binary;
    note.elf = NULL;
    struct bat_original *original;
    struct bat_error error;
    assert_int_equal(bat_original_open(INPUT, &note, NULL, &original, &error), BAT_ERR_ARGUMENT);
    assert_null(original);
}

/* --- While others prepare ------------------------------------------------------------------- */

/* bat_preparation_begin() does not change the binary, so it may be paired at the same time. */
TEST(test_beside_preparing)
{
    struct bat_binary binary;
    struct bat_original *original;
    struct bat_records *records;
    struct bat_error error;
    const struct bat_profile_target target = {.size = sizeof(target), .is_bolted = true};
    for (unsigned i = 0; i < 2; i++) {
        struct bat_profile *profile;
        assert_ok(bat_profile_new(&target, &profile, NULL));
        assert_ok(bat_binary_find_note(BOLTED, &binary, &error));
        struct bat_preparation *preparation = bat_preparation_begin(&binary, NULL);
        assert_non_null(preparation);
        const struct bat_symbol *symbols;
        size_t count;
        assert_ok(bat_elf_symbols(binary.elf, false, &symbols, &count, &error));
        assert_int_not_equal(count, 0);
        usleep(20000); /* by then the note is decoded, more often than not */
        assert_null(binary.map);
        if (i == 1) {
            assert_ok(bat_binary_decode(&binary, &error));
            const struct bat_map *map = binary.map;
            assert_ok(bat_original_open(INPUT, &binary, NULL, &original, &error));
            const struct bat_translate_options options = {
                .size = sizeof(options), .original = original, .preparation = preparation};
            assert_ok(bat_profile_translate(profile, &binary, &options, &records, &error));
            assert_ptr_equal(binary.map, map);
            bat_records_free(records);
            bat_original_close(original);
        }
        bat_preparation_free(preparation);
        bat_profile_free(profile);
        bat_binary_close(&binary);
    }
}

GROUP(open_pair, close_pair)
