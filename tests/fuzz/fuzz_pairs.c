/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A program and what BOLT could make of it, both made of the bytes: functions of a few blocks;
 * then the blocks in any order, also copied, inlined elsewhere or in a cold fragment, with a note.
 * Bytes of the code, the note and sizes of symbols may be wrong. What holds for any pair of
 * binaries and any profile must hold (pair_checks.h).
 */
#include "made_elf.h"

#include "bat_encoder.h"
#include "pair_checks.h"

#define FUNCTIONS 4u
#define BLOCKS 8u
#define BODY 4u
#define CODE_MAX 8192u

/* How a block ends. */
enum ending {
    FALL,
    JUMP,
    BRANCH,
    BRANCH_AND_JUMP,
    RETURN,
    TAIL_CALL,
    INDIRECT,
    TRAP,
};

struct block {
    uint8_t body[BODY]; /* kinds of instructions */
    unsigned count;
    enum ending ending;
    unsigned condition;
    unsigned target; /* block or, of a tail call, function */
    unsigned other;
};

struct function {
    struct block blocks[BLOCKS];
    unsigned count;
};

struct place {
    unsigned function;
    unsigned block;
};

/* A distance of 4 bytes at `at` that must lead to a block. */
struct distance {
    size_t at;
    struct place to;
};

/* One of the two binaries. */
struct side {
    uint64_t address;
    uint8_t code[CODE_MAX];
    size_t size;
    struct distance distances[512];
    size_t distance_count;
    size_t starts[FUNCTIONS][BLOCKS]; /* offsets of blocks; SIZE_MAX: none */
    size_t function_start[FUNCTIONS];
    size_t function_size[FUNCTIONS];
    size_t cold_start[FUNCTIONS];
    size_t cold_size[FUNCTIONS]; /* 0: none */
};

/* The output's tables, while its code is written. */
struct tables {
    struct bat_builder *builder;
    uint32_t current;
    size_t start;     /* of the current table's code */
    bool has_entries; /* of the block that is written: inlined ones have none */
    const struct side *input;
};

static bool is_damaged; /* the input: its code or its symbols are not what a compiler makes */

/* --- Code ---------------------------------------------------------------------------------------
 */

static void emit(struct side *side, const void *bytes, size_t size)
{
    if (size > CODE_MAX - side->size)
        size = CODE_MAX - side->size;
    memcpy(side->code + side->size, bytes, size);
    side->size += size;
}

static void emit_distance(struct side *side, const void *opcode, size_t size, struct place to)
{
    static const uint8_t zeros[4];
    emit(side, opcode, size);
    if (side->distance_count < sizeof(side->distances) / sizeof(side->distances[0]))
        side->distances[side->distance_count++] = (struct distance){side->size, to};
    emit(side, zeros, sizeof(zeros));
}

static void add_branch(const struct side *side, const struct tables *tables, size_t input)
{
    if (tables && tables->has_entries)
        bat_builder_add_branch(tables->builder, tables->current, side->size - tables->start, input,
                               NULL);
}

static void emit_jump(struct side *side, const struct tables *tables, size_t input, struct place to)
{
    add_branch(side, tables, input);
    emit_distance(side, "\xe9", 1, to);
}

static void emit_condition(struct side *side, const struct tables *tables, size_t input,
                           unsigned condition, struct place to)
{
    const uint8_t opcode[2] = {0x0f, (uint8_t)(0x80 | condition)};
    add_branch(side, tables, input);
    emit_distance(side, opcode, sizeof(opcode), to);
}

/* The body's instructions; `input` is the offset of the block in the input function. */
static void emit_body(struct side *side, const struct tables *tables, const struct block *block,
                      unsigned functions, size_t input)
{
    static const struct {
        uint8_t bytes[10];
        uint8_t size;
    } plain[] = {
        {{0x90}, 1},
        {{0xff, 0xc0}, 2},
        {{0xb8, 1, 2, 3, 4}, 5},
        {{0x85, 0xc0}, 2},
        {{0x0f, 0x1f, 0x44, 0, 0}, 5},
        {{0x48, 0x3d, 0, 0x10, 0x40, 0}, 6},
        {{0x48, 0x8d, 0x05, 1, 0, 0, 0}, 7},
        {{0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}, 10},
    };
    size_t start = side->size;
    for (unsigned i = 0; i < block->count; i++) {
        unsigned kind = block->body[i] % 11;
        size_t at = input + (side->size - start);
        if (kind < 8) {
            emit(side, plain[kind].bytes, plain[kind].size);
        } else if (kind == 8) {
            add_branch(side, tables, at);
            emit_distance(side, "\xe8", 1, (struct place){block->body[i] / 11 % functions, 0});
        } else if (kind == 9) {
            add_branch(side, tables, at);
            emit(side, "\xff\xd0", 2);
        } else {
            is_damaged = true; /* may be the first byte of any instruction */
            emit(side, &block->body[i], 1);
        }
    }
}

/* The block's end, if the block `next` follows it (BLOCKS: another one). */
static void emit_ending(struct side *side, const struct tables *tables, const struct function *in,
                        struct place place, unsigned next, size_t input)
{
    const struct block *block = &in->blocks[place.block];
    struct place to = {place.function, block->target % in->count};
    struct place other = {place.function, block->other % in->count};
    struct place fall = {place.function, place.block + 1};
    bool has_fall = fall.block < in->count;
    switch (block->ending) {
    case JUMP:
        if (!tables || to.block != next)
            emit_jump(side, tables, input, to);
        return;
    case BRANCH_AND_JUMP:
        emit_condition(side, tables, input, block->condition, to);
        emit_jump(side, tables, input + 6, other);
        return;
    case BRANCH:
        if (tables && to.block == next && has_fall) {
            emit_condition(side, tables, input, block->condition ^ 1, fall);
            return;
        }
        emit_condition(side, tables, input, block->condition, to);
        break;
    case RETURN:
        if (!tables || tables->has_entries)
            emit(side, "\xc3", 1);
        return;
    case TAIL_CALL:
        emit_jump(side, tables, input, (struct place){block->target % FUNCTIONS, 0});
        return;
    case INDIRECT:
        add_branch(side, tables, input);
        emit(side, "\xff\xe0", 2);
        return;
    case TRAP:
        emit(side, "\x0f\x0b", 2);
        return;
    case FALL:
        break;
    }
    if (tables && has_fall && fall.block != next)
        emit_distance(side, "\xe9", 1, fall); /* BOLT's jump: without an entry */
}

static void resolve(struct side *side)
{
    for (size_t i = 0; i < side->distance_count; i++) {
        const struct distance *distance = &side->distances[i];
        size_t to = side->starts[distance->to.function][distance->to.block];
        if (to == SIZE_MAX)
            to = side->function_start[distance->to.function];
        uint32_t value = (uint32_t)(to - (distance->at + 4));
        if (distance->at + 4 <= side->size)
            memcpy(side->code + distance->at, &value, sizeof(value));
    }
}

/* --- The program --------------------------------------------------------------------------------
 */

static unsigned take_program(struct fuzz_bytes *bytes, struct function *all)
{
    unsigned count = 1 + (unsigned)fuzz_take(bytes, 1) % FUNCTIONS;
    for (unsigned i = 0; i < count; i++) {
        all[i].count = 1 + (unsigned)fuzz_take(bytes, 1) % BLOCKS;
        for (unsigned k = 0; k < all[i].count; k++) {
            struct block *block = &all[i].blocks[k];
            unsigned form = (unsigned)fuzz_take(bytes, 1);
            block->ending = form % 8;
            block->count = form / 8 % (BODY + 1);
            for (unsigned j = 0; j < block->count; j++)
                block->body[j] = (uint8_t)fuzz_take(bytes, 1);
            unsigned ways = (unsigned)fuzz_take(bytes, 1);
            block->target = ways % BLOCKS;
            block->other = ways / BLOCKS % BLOCKS;
            block->condition = 4 + ways / 64 % 4;
        }
    }
    /* What calls name is there. */
    for (unsigned i = count; i < FUNCTIONS; i++)
        all[i] = (struct function){.blocks = {{.ending = RETURN}}, .count = 1};
    return count;
}

static void write_input(struct side *side, const struct function *all, size_t ends[][BLOCKS])
{
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        side->function_start[i] = side->size;
        for (unsigned k = 0; k < all[i].count; k++) {
            side->starts[i][k] = side->size;
            emit_body(side, NULL, &all[i].blocks[k], FUNCTIONS, 0);
            ends[i][k] = side->size - side->function_start[i];
            emit_ending(side, NULL, &all[i], (struct place){i, k}, BLOCKS, 0);
        }
        side->function_size[i] = side->size - side->function_start[i];
    }
    resolve(side);
}

/* Write one block into the output's function i. */
static void write_copy(struct side *side, struct tables *tables, const struct function *all,
                       unsigned i, struct place place, unsigned next, size_t ends[][BLOCKS])
{
    const struct side *input = tables->input;
    const struct function *in = &all[place.function];
    size_t offset =
        input->starts[place.function][place.block] - input->function_start[place.function];
    tables->has_entries = place.function == i;
    if (tables->has_entries) {
        bat_builder_add_block(tables->builder, tables->current, side->size - tables->start, offset,
                              place.block + 1, place.block, NULL);
        side->starts[i][place.block] = side->size;
    }
    emit_body(side, tables, &in->blocks[place.block], FUNCTIONS, offset);
    emit_ending(side, tables, in, place, next, ends[place.function][place.block]);
}

static void write_function(struct side *side, struct tables *tables, const struct function *all,
                           unsigned i, struct fuzz_bytes *bytes, size_t ends[][BLOCKS])
{
    unsigned form = (unsigned)fuzz_take(bytes, 1);
    unsigned count = all[i].count + form % 8;
    unsigned cold = form / 8 % 4 == 0 ? 1 + form / 32 : count;
    struct place places[BLOCKS + 8];
    for (unsigned k = 0; k < count; k++) {
        unsigned choice = (unsigned)fuzz_take(bytes, 1);
        unsigned function = choice >= 224 ? choice % FUNCTIONS : i;
        unsigned block = k < all[i].count && choice < 64 ? k : choice;
        places[k] = (struct place){function, block % all[function].count};
    }
    side->function_start[i] = side->size;
    for (unsigned k = 0; k < count; k++) {
        if (k == cold) {
            side->function_size[i] = side->size - side->function_start[i];
            side->cold_start[i] = side->size;
            tables->start = side->size;
            bat_builder_add_fragment(tables->builder, side->address + side->size, tables->current,
                                     &tables->current, NULL);
        }
        bool has_next = k + 1 < count && k + 1 != cold && places[k + 1].function == i;
        write_copy(side, tables, all, i, places[k], has_next ? places[k + 1].block : BLOCKS, ends);
    }
    if (cold < count)
        side->cold_size[i] = side->size - side->cold_start[i];
    else
        side->function_size[i] = side->size - side->function_start[i];
}

static void write_output(struct side *side, struct tables *tables, const struct function *all,
                         struct fuzz_bytes *bytes, size_t ends[][BLOCKS])
{
    memset(side->starts, 0xff, sizeof(side->starts));
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        if (fuzz_take(bytes, 1) % 8 == 7)
            emit(side, "\x90\x90\xcc", 3); /* padding */
        tables->start = side->size;
        bat_builder_add_function(tables->builder, side->address + side->size, i, all[i].count,
                                 &tables->current, NULL);
        write_function(side, tables, all, i, bytes, ends);
    }
    resolve(side);
}

/* --- Files --------------------------------------------------------------------------------------
 */

static void patch(uint8_t *to, size_t size, struct fuzz_bytes *bytes, bool is_input)
{
    uint64_t count = fuzz_take(bytes, 1) % 8;
    for (uint64_t patches = count < 4 ? 0 : count - 3; patches > 0 && size != 0; patches--) {
        is_damaged |= is_input;
        size_t at = fuzz_take(bytes, 2) % size;
        to[at] = (uint8_t)fuzz_take(bytes, 1);
    }
}

/* The size that a symbol has: mostly the right one. */
static uint64_t symbol_size(size_t size, struct fuzz_bytes *bytes)
{
    uint64_t choice = fuzz_take(bytes, 1);
    if (choice < 240)
        return size;
    is_damaged = true;
    return choice < 248 ? size + choice % 8 - 4 : choice % 2 ? 0 : UINT64_MAX - choice % 4;
}

static char *write_file(struct side *side, const char *name, const uint8_t *note, size_t note_size,
                        struct fuzz_bytes *bytes)
{
    struct image image = image_new();
    uint32_t text =
        made_loaded(&image, ".text", SHF_EXECINSTR, side->address, side->code, side->size);
    if (note)
        made_section(&image, ".note.bolt_bat", SHT_NOTE, note, note_size);
    static const char strings[] =
        "\0f0\0f1\0f2\0f3\0f0.cold.0\0f1.cold.0\0f2.cold.0\0f3.cold.0\0a.c";
    Elf64_Sym symbols[2 + 2 * FUNCTIONS] = {
        {.st_name = 0}, {.st_name = 53, .st_info = STT_FILE, .st_shndx = SHN_ABS}};
    size_t count = 2;
    for (unsigned i = 0; i < 2 * FUNCTIONS; i++) {
        bool is_cold = i >= FUNCTIONS;
        unsigned function = i % FUNCTIONS;
        size_t start = is_cold ? side->cold_start[function] : side->function_start[function];
        size_t size = is_cold ? side->cold_size[function] : side->function_size[function];
        if (size == 0)
            continue;
        uint8_t binding = function == 3 || is_cold ? STB_LOCAL : STB_GLOBAL;
        symbols[count++] = (Elf64_Sym){
            .st_name = is_cold ? 13 + 10 * function : 1 + 3 * function,
            .st_info = (uint8_t)ELF64_ST_INFO(binding, STT_FUNC),
            .st_shndx = (uint16_t)text,
            .st_value = side->address + start,
            .st_size = symbol_size(size, bytes),
        };
    }
    made_symbols(&image, symbols, count, strings, sizeof(strings));
    return made_file(&image, name, EM_X86_64);
}

/* Mostly an ordinary address, else one near the end of all addresses: the code may end there. */
static uint64_t choose_base(struct fuzz_bytes *bytes, uint64_t ordinary, size_t room)
{
    uint64_t choice = fuzz_take(bytes, 1);
    return choice < 224 ? ordinary : 0 - room - choice % 4 * 16;
}

static void check_files(const char *output, const char *input, struct fuzz_bytes *bytes)
{
    struct bat_binary binary;
    struct bat_error error;
    enum bat_code code = bat_binary_open(output, &binary, &error);
    if (code != BAT_OK) {
        fuzz_expect_error(code, &error, UINT64_MAX);
        return;
    }
    struct bat_elf *elf;
    fuzz_expect(bat_elf_open(input, &elf, NULL) == BAT_OK, "the input can be opened");
    struct bat_original *original;
    const struct bat_original_options options = {.size = sizeof(options), .threads = 1};
    struct bat_misfits misfits;
    code = bat_original_pair(elf, &binary, &options, false, NULL, &original, &misfits, &error);
    if (code == BAT_OK) {
        fuzz_check_pair(&binary, original, is_damaged, bytes);
        bat_original_close(original);
    } else {
        fuzz_expect_error(code, &error, UINT64_MAX);
    }
    bat_elf_close(elf);
    bat_binary_close(&binary);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_poison_gaps(true);
    is_damaged = false;
    struct fuzz_bytes bytes = {data, size};
    struct function all[FUNCTIONS];
    static struct side input;
    static struct side output;
    static size_t ends[FUNCTIONS][BLOCKS];
    input = (struct side){.size = 0};
    output = (struct side){.address = choose_base(&bytes, 0x801000, CODE_MAX / 4)};
    take_program(&bytes, all);
    write_input(&input, all, ends);
    input.address = choose_base(&bytes, 0x401000, input.size);
    struct tables tables = {.builder = bat_builder_new(), .input = &input};
    fuzz_expect(tables.builder, "there is memory for a builder");
    write_output(&output, &tables, all, &bytes, ends);
    struct bat_map *map;
    struct bat_error error;
    uint8_t *note = NULL;
    size_t note_size;
    if (bat_builder_finish(tables.builder, NULL, &map, &error) == BAT_OK &&
        bat_encode(map, &note, &note_size, &error) == BAT_OK) {
        patch(input.code, input.size, &bytes, true);
        patch(output.code, output.size, &bytes, false);
        patch(note, note_size, &bytes, false);
        char *output_path = write_file(&output, "output", note, note_size, &bytes);
        char *input_path = write_file(&input, "input", NULL, 0, &bytes);
        check_files(output_path, input_path, &bytes);
        unlink(output_path);
        unlink(input_path);
        free(output_path);
        free(input_path);
    } else {
        fuzz_expect_error(error.code, &error, UINT64_MAX);
    }
    free(note);
    bat_map_free(map);
    bat_builder_free(tables.builder);
    return 0;
}
