/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Programs for x86-64 or AArch64 that targets make of bytes: four functions of a few blocks each.
 */
#pragma once

#include "bat_encoder.h"
#include "fuzz.h"

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

/* A distance that must lead to a block. */
struct distance {
    size_t at; /* of its 4 bytes, or of AArch64's instruction */
    struct place to;
    unsigned width; /* AArch64: bits of the distance */
};

/* One of the two binaries. */
struct side {
    bool is_aarch64; /* only of programs without tables */
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
    bool is_renamed[FUNCTIONS];  /* g0 for f0 */
};

/* The output's tables, while its code is written. */
struct tables {
    struct bat_builder *builder;
    uint32_t current;
    size_t start;     /* of the current table's code */
    bool has_entries; /* of the block that is written: inlined ones have none */
    const struct side *input;
};

/* A program's code or its symbols are not what a compiler makes. */
extern bool made_is_damaged;

void made_emit(struct side *side, const void *bytes, size_t size);

/*
 * Write a block's instructions, and its end if the block `next` follows it (BLOCKS: another one).
 * tables is NULL for the input; else entries are added, for the offset `input` in its function.
 */
void made_emit_body(struct side *side, const struct tables *tables, const struct block *block,
                    size_t input);
void made_emit_ending(struct side *side, const struct tables *tables, const struct function *in,
                      struct place place, unsigned next, size_t input);

/* Let all distances lead to their blocks, or to the start of a function without them. */
void made_resolve(struct side *side);

/* FUNCTIONS functions of the bytes. */
void made_take_program(struct fuzz_bytes *bytes, struct function *all);

/* Write the functions in this order; ends receives where the blocks' ends are in their function. */
void made_write_program(struct side *side, const struct function *all, const unsigned *order,
                        size_t ends[][BLOCKS]);

/* Seldom changes some bytes. */
void made_patch(uint8_t *to, size_t size, struct fuzz_bytes *bytes, bool is_input);

/* Mostly an ordinary address, else one near the end of all addresses: the code may end there. */
uint64_t made_choose_base(struct fuzz_bytes *bytes, uint64_t ordinary, size_t room);

/* Write the ELF file, with a BAT note unless it is NULL; returns its path, to be freed. */
char *made_write_file(struct side *side, const char *name, const uint8_t *note, size_t note_size,
                      struct fuzz_bytes *bytes);
