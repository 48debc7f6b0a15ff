/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any bytes as the code of a few functions, which ends anywhere, with .eh_frame and exception
 * tables: every part that reads instructions stays in the code; blocks ascend and lie in their
 * function, and a profile of the program can be translated. x86-64, AArch64 and RISC-V.
 */
#include "made_elf.h"

#include "bat_profile.h"
#include "binary/code/code_blocks.h"
#include "binary/code/conditions.h"
#include "binary/code/same_code.h"
#include "field_mutator.h"
#include "mutator.h"

#define FUNCTIONS 6u
#define STRINGS "\0f\0g\0h\0f.cold\0_init\0i"

struct made {
    uint16_t machine;
    uint64_t address;
    const uint8_t *code;
    size_t size;
};

/* A part of the bytes that are left, of at most `most` bytes. */
static const uint8_t *take_part(struct fuzz_bytes *bytes, size_t most, size_t *size)
{
    *size = (size_t)fuzz_take(bytes, 1);
    if (*size > most)
        *size = most;
    if (*size > bytes->left)
        *size = bytes->left;
    const uint8_t *part = bytes->at;
    bytes->at += *size;
    bytes->left -= *size;
    return part;
}

/* --- The file ------------------------------------------------------------------------------- */

static size_t take_symbols(struct fuzz_bytes *bytes, const struct made *made, Elf64_Sym *symbols)
{
    static const uint8_t names[] = {1, 3, 5, 7, 14, 20};
    size_t count = 1 + (size_t)fuzz_take(bytes, 1) % FUNCTIONS;
    symbols[0] = (Elf64_Sym){.st_name = 0};
    uint64_t start = 0;
    for (size_t i = 1; i <= count; i++) {
        uint64_t size = fuzz_take(bytes, 1);
        /* The last function mostly ends where the code ends, and there may be odd ones. */
        if (i == count && size < 192)
            size = start < made->size ? made->size - start : 0;
        else if (size >= 250)
            size = UINT64_MAX - size % 4;
        symbols[i] = (Elf64_Sym){.st_name = names[i - 1],
                                 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                 .st_shndx = 1,
                                 .st_value = made->address + start,
                                 .st_size = size};
        start += size;
        if (start > made->size)
            start = made->size ? fuzz_take(bytes, 2) % made->size : 0;
    }
    return count + 1;
}

static char *make_file(struct fuzz_bytes *bytes, struct made *made)
{
    static const uint16_t machines[] = {EM_X86_64, EM_X86_64, EM_AARCH64, EM_RISCV};
    made->machine = machines[fuzz_take(bytes, 1) % 4];
    uint64_t base = fuzz_take(bytes, 1);
    size_t frame_size;
    const uint8_t *frame = take_part(bytes, 256, &frame_size);
    size_t table_size;
    const uint8_t *table = take_part(bytes, 64, &table_size);
    struct fuzz_bytes head = *bytes;
    size_t reserved = bytes->left < 24 ? bytes->left : 24;
    made->code = bytes->at + reserved;
    made->size = bytes->left - reserved;
    made->address = base < 224 ? 0x401000 + base % 16 : 0 - (uint64_t)made->size - base % 4;
    head.left = reserved;

    struct image image = image_new();
    made_loaded(&image, ".text", SHF_EXECINSTR, made->address, made->code, made->size);
    made_loaded(&image, ".eh_frame", 0, 0x404000, frame, frame_size);
    made_loaded(&image, ".gcc_except_table", 0, 0x404200, table, table_size);
    made_loaded(&image, ".rodata", 0, 0x405000, table, table_size);
    Elf64_Sym symbols[FUNCTIONS + 1];
    size_t count = take_symbols(&head, made, symbols);
    made_symbols(&image, symbols, count, STRINGS, sizeof(STRINGS));
    bytes->at = head.at;
    bytes->left = head.left;
    return made_file(&image, "input", made->machine);
}

/* --- Checks --------------------------------------------------------------------------------- */

static void check_blocks(const struct bat_code_blocks *blocks)
{
    fuzz_expect(blocks->count == 0 || blocks->obstacle == BAT_CODE_CLEAR,
                "a function with an obstacle has no blocks");
    for (uint32_t i = 0; i < blocks->count; i++) {
        const struct bat_code_block *block = &blocks->all[i];
        uint32_t end = i + 1 < blocks->count ? blocks->all[i + 1].start : blocks->size;
        fuzz_expect(block->start <= block->last && block->last < end,
                    "a block has its last instruction before its end");
        fuzz_expect(block->reach >= i && block->reach < blocks->count,
                    "a block reaches blocks that are there");
        fuzz_expect(bat_code_block_at(blocks, block->last) == i, "a block is found");
    }
    for (uint64_t at = 0; at < blocks->size && at < 64; at++) {
        struct bat_code_fallthroughs found;
        if (bat_code_fallthroughs(blocks, at, at + 9, BAT_TRACE_RETURN, &found))
            fuzz_expect(found.first <= found.end && found.end < blocks->count,
                        "fall-throughs are between blocks");
    }
}

static void read_blocks(const struct bat_elf *elf, const struct bat_functions *functions)
{
    uint32_t count;
    bat_functions_all(functions, &count);
    uint32_t *indices = calloc(count + 1u, sizeof(*indices));
    fuzz_expect(indices, "there is memory for indices");
    for (uint32_t i = 0; i < count; i++)
        indices[i] = i;
    struct bat_code_reader *reader;
    struct bat_error error;
    enum bat_code code = bat_code_open(elf, elf, functions, indices, count, 1, &reader, &error);
    for (uint32_t i = 0; code == BAT_OK && i < count; i++) {
        struct bat_code_blocks blocks;
        fuzz_expect(bat_code_blocks(reader, i, &blocks, &error) == BAT_OK,
                    "any function's blocks can be read");
        check_blocks(&blocks);
        bat_code_blocks_free(&blocks);
    }
    if (code == BAT_OK)
        bat_code_close(reader);
    else
        fuzz_expect_error(code, &error, UINT64_MAX);
    free(indices);
}

volatile uint64_t kept_sum; /* keeps calls from being optimized away */

/* Instructions at all addresses, from exact copies, and in the file. */
static void read_instructions(const struct bat_elf *elf, const struct made *made)
{
    uint64_t sum = 0;
    for (size_t at = 0; at < made->size && at < 256; at++) {
        size_t left = made->size - at < 16 ? made->size - at : 16;
        uint8_t *copy = malloc(left);
        fuzz_expect(copy, "there is memory for an instruction");
        memcpy(copy, made->code + at, left);
        struct bat_instruction instruction;
        bool is_one =
            bat_instruction_decode(made->machine, copy, left, made->address + at, &instruction);
        fuzz_expect(!is_one || (instruction.length != 0 && instruction.length <= left),
                    "an instruction has all its bytes");
        free(copy);
        struct bat_code_at here;
        bool is_there = bat_code_read(elf, made->address + at, &here);
        sum += condition_at(elf, made->address + at);
        if (!is_there)
            continue;
        fuzz_expect(here.instruction.length <= made->size - at, "code ends at its last byte");
        sum += bat_code_hash(made->machine, &here);
        fuzz_expect(bat_code_alike(made->machine, &here, &here), "an instruction is alike itself");
        struct bat_code_at next;
        if (bat_code_read(elf, made->address + at + here.instruction.length, &next))
            sum += bat_code_same(made->machine, &here, &next) +
                   bat_code_alike(made->machine, &here, &next);
    }
    kept_sum = sum;
}

static void translate(const char *path, const struct made *made, struct fuzz_bytes *bytes)
{
    struct bat_binary binary;
    struct bat_error error;
    enum bat_code code = bat_binary_find_note_if_any(path, &binary, &error);
    fuzz_expect(code == BAT_OK, "a program without a note is one");
    struct bat_profile *profile;
    fuzz_expect(bat_profile_new_of(&binary, &profile, NULL) == BAT_OK,
                "there is memory for a profile");
    for (uint64_t i = 0; i < 12 && made->size != 0; i++) {
        uint64_t from = made->address + fuzz_take(bytes, 1) % made->size;
        struct bat_trace trace = {.branch = made->address + i * 7 % made->size,
                                  .from = from,
                                  .to = from + fuzz_take(bytes, 1) % 32,
                                  .count = 1 + i};
        fuzz_expect(bat_profile_add_trace(profile, &trace, NULL) == BAT_OK, "few traces add up");
    }
    const struct bat_translate_options options = {.size = sizeof(options), .threads = 1};
    struct bat_records *records;
    code = bat_profile_translate(profile, &binary, &options, &records, &error);
    if (code == BAT_OK)
        bat_records_free(records);
    else
        fuzz_expect_error(code, &error, UINT64_MAX);
    bat_profile_free(profile);
    bat_binary_close(&binary);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    struct mutated mutated = {data, size, seed};
    uint32_t choice = mutated_draw(&mutated, 4);
    const size_t frame = 3;
    if (choice < 2 || size <= frame + 8 || data[2] < 8 || data[2] > size - frame - 1)
        return LLVMFuzzerMutate(data, size, max_size);
    const size_t table = frame + data[2] + 1;
    const size_t table_size = data[table - 1] < size - table ? data[table - 1] : size - table;
    if (choice == 2 && table_size != 0)
        mutate_number(&mutated, (struct mutated_part){table, table_size});
    else
        mutate_unit(&mutated, (struct mutated_part){frame, data[2]});
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_poison_gaps(true);
    struct fuzz_bytes bytes = {data, size};
    struct made made;
    char *path = make_file(&bytes, &made);
    struct bat_elf *elf;
    struct bat_functions *functions;
    struct bat_error error;
    if (bat_elf_open(path, &elf, &error) == BAT_OK) {
        enum bat_code code = bat_functions_create(elf, NULL, &functions, &error);
        if (code == BAT_OK) {
            read_blocks(elf, functions);
            bat_functions_free(functions);
        } else {
            fuzz_expect_error(code, &error, UINT64_MAX);
        }
        read_instructions(elf, &made);
        bat_elf_close(elf);
        translate(path, &made, &bytes);
    } else {
        fuzz_expect_error(error.code, &error, UINT64_MAX);
    }
    unlink(path);
    free(path);
    return 0;
}
