/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "made_program.h"

#include "made_elf.h"

bool made_is_damaged;

/* --- Code ----------------------------------------------------------------------------------- */

void made_emit(struct side *side, const void *bytes, size_t size)
{
    if (size > CODE_MAX - side->size)
        size = CODE_MAX - side->size;
    memcpy(side->code + side->size, bytes, size);
    side->size += size;
}

/* --- AArch64 -------------------------------------------------------------------------------- */

static void emit_word(struct side *side, uint32_t word)
{
    made_emit(side, &word, sizeof(word));
}

/* A branch with a distance of so many bits. */
static void emit_branch_aarch64(struct side *side, uint32_t word, unsigned width, struct place to)
{
    if (side->distance_count < sizeof(side->distances) / sizeof(side->distances[0]))
        side->distances[side->distance_count++] =
            (struct distance){.at = side->size, .to = to, .width = width};
    emit_word(side, word);
}

static void emit_body_aarch64(struct side *side, const struct block *block)
{
    static const uint32_t plain[] = {
        0xd503201f, /* nop */
        0x11000400, /* add w0, w0, #1 */
        0x52804020, /* mov w0, #0x201 */
        0x7100001f, /* cmp w0, #0 */
        0xf9400400, /* ldr x0, [x0, #8] */
        0x90000001, /* adrp x1, . */
        0x91004021, /* add x1, x1, #0x10 */
        0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
    };
    for (unsigned i = 0; i < block->count; i++) {
        unsigned kind = block->body[i] % 11;
        if (kind < 8) {
            emit_word(side, plain[kind]);
        } else if (kind == 8) {
            const struct place callee = {block->body[i] / 11 % FUNCTIONS, 0};
            emit_branch_aarch64(side, 0x94000000, 26, callee);
        } else if (kind == 9) {
            emit_word(side, 0xd63f0000); /* blr x0 */
        } else {
            made_is_damaged = true; /* any instruction */
            emit_word(side, block->body[i] * 0x9e3779b1u);
        }
    }
}

/* A jump, or one by a table: its entries are the bytes of the instructions behind ADR. */
static void emit_indirect_aarch64(struct side *side, bool has_table)
{
    static const uint32_t by_table[] = {
        0x71000c1f, /* cmp w0, #3 */
        0x10000021, /* adr x1, .+4 */
        0x38604821, /* ldrb w1, [x1, w0, uxtw] */
        0x10000062, /* adr x2, .+12 */
        0x8b218841, /* add x1, x2, w1, sxtb #2 */
        0xd61f0020, /* br x1 */
    };
    if (!has_table)
        emit_word(side, 0xd61f0000); /* br x0 */
    for (size_t i = 0; has_table && i < sizeof(by_table) / sizeof(by_table[0]); i++)
        emit_word(side, by_table[i]);
}

static void emit_ending_aarch64(struct side *side, const struct block *block, struct place to,
                                struct place other)
{
    switch (block->ending) {
    case JUMP:
        emit_branch_aarch64(side, 0x14000000, 26, to);
        return;
    case BRANCH:
    case BRANCH_AND_JUMP:
        /* b.cond; cbz or cbnz x0 */
        emit_branch_aarch64(side,
                            block->other % 2 ? 0x54000000 | block->condition
                                             : 0xb4000000 | (block->condition & 1) << 24,
                            19, to);
        if (block->ending == BRANCH_AND_JUMP)
            emit_branch_aarch64(side, 0x14000000, 26, other);
        return;
    case RETURN:
        emit_word(side, 0xd65f03c0);
        return;
    case TAIL_CALL:
        emit_branch_aarch64(side, 0x14000000, 26, (struct place){block->target % FUNCTIONS, 0});
        return;
    case INDIRECT:
        emit_indirect_aarch64(side, block->target % 2);
        return;
    case TRAP:
        emit_word(side, 0xd4200020); /* brk #1 */
        return;
    case FALL:
        return;
    }
}

static void resolve_aarch64(struct side *side, const struct distance *distance, size_t to)
{
    uint32_t word;
    if (distance->at + sizeof(word) > side->size)
        return;
    memcpy(&word, side->code + distance->at, sizeof(word));
    uint32_t count = (uint32_t)(((int64_t)to - (int64_t)distance->at) / 4);
    word |= (count & ((UINT32_C(1) << distance->width) - 1)) << (distance->width == 19 ? 5 : 0);
    memcpy(side->code + distance->at, &word, sizeof(word));
}

/* --- x86-64 --------------------------------------------------------------------------------- */

static void emit_distance(struct side *side, const void *opcode, size_t size, struct place to)
{
    static const uint8_t zeros[4];
    made_emit(side, opcode, size);
    if (side->distance_count < sizeof(side->distances) / sizeof(side->distances[0]))
        side->distances[side->distance_count++] = (struct distance){.at = side->size, .to = to};
    made_emit(side, zeros, sizeof(zeros));
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
void made_emit_body(struct side *side, const struct tables *tables, const struct block *block,
                    size_t input)
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
    if (side->is_aarch64) {
        emit_body_aarch64(side, block);
        return;
    }
    for (unsigned i = 0; i < block->count; i++) {
        unsigned kind = block->body[i] % 11;
        size_t at = input + (side->size - start);
        if (kind < 8) {
            made_emit(side, plain[kind].bytes, plain[kind].size);
        } else if (kind == 8) {
            add_branch(side, tables, at);
            emit_distance(side, "\xe8", 1, (struct place){block->body[i] / 11 % FUNCTIONS, 0});
        } else if (kind == 9) {
            add_branch(side, tables, at);
            made_emit(side, "\xff\xd0", 2);
        } else {
            made_is_damaged = true; /* may be the first byte of any instruction */
            made_emit(side, &block->body[i], 1);
        }
    }
}

/* The block's end, if the block `next` follows it (BLOCKS: another one). */
void made_emit_ending(struct side *side, const struct tables *tables, const struct function *in,
                      struct place place, unsigned next, size_t input)
{
    const struct block *block = &in->blocks[place.block];
    struct place to = {place.function, block->target % in->count};
    struct place other = {place.function, block->other % in->count};
    struct place fall = {place.function, place.block + 1};
    bool has_fall = fall.block < in->count;
    if (side->is_aarch64) {
        emit_ending_aarch64(side, block, to, other);
        return;
    }
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
            made_emit(side, "\xc3", 1);
        return;
    case TAIL_CALL:
        emit_jump(side, tables, input, (struct place){block->target % FUNCTIONS, 0});
        return;
    case INDIRECT:
        add_branch(side, tables, input);
        made_emit(side, "\xff\xe0", 2);
        return;
    case TRAP:
        made_emit(side, "\x0f\x0b", 2);
        return;
    case FALL:
        break;
    }
    if (tables && has_fall && fall.block != next)
        emit_distance(side, "\xe9", 1, fall); /* BOLT's jump: without an entry */
}

void made_resolve(struct side *side)
{
    for (size_t i = 0; i < side->distance_count; i++) {
        const struct distance *distance = &side->distances[i];
        size_t to = side->starts[distance->to.function][distance->to.block];
        if (to == SIZE_MAX)
            to = side->function_start[distance->to.function];
        uint32_t value = (uint32_t)(to - (distance->at + 4));
        if (side->is_aarch64)
            resolve_aarch64(side, distance, to);
        else if (distance->at + 4 <= side->size)
            memcpy(side->code + distance->at, &value, sizeof(value));
    }
}

/* --- The program ---------------------------------------------------------------------------- */

void made_take_program(struct fuzz_bytes *bytes, struct function *all)
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
}

void made_write_program(struct side *side, const struct function *all, const unsigned *order,
                        size_t ends[][BLOCKS])
{
    for (unsigned n = 0; n < FUNCTIONS; n++) {
        unsigned i = order[n];
        side->function_start[i] = side->size;
        for (unsigned k = 0; k < all[i].count; k++) {
            side->starts[i][k] = side->size;
            made_emit_body(side, NULL, &all[i].blocks[k], 0);
            ends[i][k] = side->size - side->function_start[i];
            made_emit_ending(side, NULL, &all[i], (struct place){i, k}, BLOCKS, 0);
        }
        side->function_size[i] = side->size - side->function_start[i];
    }
    made_resolve(side);
}

/* --- Files ---------------------------------------------------------------------------------- */

void made_patch(uint8_t *to, size_t size, struct fuzz_bytes *bytes, bool is_input)
{
    uint64_t count = fuzz_take(bytes, 1) % 8;
    for (uint64_t patches = count < 4 ? 0 : count - 3; patches > 0 && size != 0; patches--) {
        made_is_damaged |= is_input;
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
    made_is_damaged = true;
    return choice < 248 ? size + choice % 8 - 4 : choice % 2 ? 0 : UINT64_MAX - choice % 4;
}

char *made_write_file(struct side *side, const char *name, const uint8_t *note, size_t note_size,
                      struct fuzz_bytes *bytes)
{
    struct image image = image_new();
    uint32_t text =
        made_loaded(&image, ".text", SHF_EXECINSTR, side->address, side->code, side->size);
    if (note)
        made_section(&image, ".note.bolt_bat", SHT_NOTE, note, note_size);
    char strings[] = "\0f0\0f1\0f2\0f3\0f0.cold.0\0f1.cold.0\0f2.cold.0\0f3.cold.0\0a.c";
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
        if (side->is_renamed[function])
            strings[is_cold ? 13 + 10 * function : 1 + 3 * function] = 'g';
        symbols[count++] = (Elf64_Sym){
            .st_name = is_cold ? 13 + 10 * function : 1 + 3 * function,
            .st_info = (uint8_t)ELF64_ST_INFO(binding, STT_FUNC),
            .st_shndx = (uint16_t)text,
            .st_value = side->address + start,
            .st_size = symbol_size(size, bytes),
        };
    }
    made_symbols(&image, symbols, count, strings, sizeof(strings));
    return made_file(&image, name, side->is_aarch64 ? EM_AARCH64 : EM_X86_64);
}

/* Mostly an ordinary address, else one near the end of all addresses: the code may end there. */
uint64_t made_choose_base(struct fuzz_bytes *bytes, uint64_t ordinary, size_t room)
{
    uint64_t choice = fuzz_take(bytes, 1);
    return choice < 224 ? ordinary : 0 - room - choice % 4 * 16;
}
