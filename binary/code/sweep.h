/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * One function's instructions, decoded from its first byte to its last, with the marks (labels,
 * entry points, landing pads) and jump tables that its blocks are made from. Internal to
 * binary/code/.
 */
#pragma once

#include "reader.h"

/* A target that is not in the function. */
#define CODE_OUTSIDE UINT32_MAX

struct code_instruction {
    uint32_t offset;   /* from the function's start, like all offsets here */
    uint32_t target;   /* of a direct branch or call: its offset, or CODE_OUTSIDE */
    uint32_t table;    /* of an indirect jump: 1 + index of its jump table; 0 if it has none */
    uint8_t kind;      /* enum bat_instruction_kind */
    uint8_t jump;      /* enum bat_indirect_jump */
    bool reaches_next; /* an indirect jump whose table has the next instruction as a target */
};

/* Bits for each byte of the function. */
enum code_mark {
    CODE_MARK_INSTRUCTION = 1, /* one starts here */
    CODE_MARK_LABEL = 2,       /* a block starts here */
    CODE_MARK_ENTRY = 4,
    CODE_MARK_LANDING_PAD = 8,
    CODE_MARK_TABLE = 16,     /* a target of the table that is being read */
    CODE_MARK_REFERENCE = 32, /* data refers to it, other than tables that were read */
};

#define CODE_NO_JUMP UINT32_MAX

/* A jump table of x86-64, or a candidate for one. */
struct code_table {
    uint64_t address;
    uint64_t limit;   /* where the next table starts */
    uint32_t first;   /* index of the first instruction that the table's address is taken from */
    uint32_t jump;    /* index of the indirect jump that uses it, or CODE_NO_JUMP */
    bool is_relative; /* four-byte distances from the table's start; else eight-byte addresses */
};

struct code_sweep {
    const struct bat_code_reader *reader;
    const struct bat_function_symbol *function;
    const uint8_t *bytes;
    uint32_t size;

    struct code_instruction *all;
    uint32_t count;
    size_t capacity;
    uint8_t *marks; /* one for each byte: bits of enum code_mark */

    struct code_table *tables;
    uint32_t table_count;
    size_t table_capacity;
    bool has_register_jump; /* a jump whose target is in a register */
    bool has_fixed_jump;    /* an indirect jump by a constant slot, made direct */
    bool has_own_reference; /* an instruction takes the address of an instruction of the function */

    enum bat_code_obstacle obstacle;
};

/* Add marks (bits of enum code_mark) to a byte. Offsets beyond the function are ignored. */
static inline void code_mark(struct code_sweep *sweep, uint64_t offset, uint8_t marks)
{
    if (offset < sweep->size)
        sweep->marks[offset] |= marks;
}

/* Add a candidate for a table (jump_tables.c); code_limit_tables() will set its limit. */
enum bat_code code_add_table(struct code_sweep *sweep, const struct code_table *table,
                             struct bat_error *error);

/* Add candidates for jumps that take their target from a register (registers.c). */
enum bat_code code_find_register_tables(struct code_sweep *sweep, struct bat_error *error);

/* Keep the candidates that are tables, ascending (jump_tables.c). */
void code_keep_tables(struct code_sweep *sweep);

/*
 * The same, and end each where the next one starts. Returns the highest offset that an entry would
 * have if its table started there, 0 without four-byte distances.
 */
uint64_t code_limit_tables(struct code_sweep *sweep);

/* End tables where those of another function start. */
void code_end_tables(struct code_sweep *sweep, const struct code_sweep *other);

/* Mark the tables' targets as labels. */
void code_mark_tables(struct code_sweep *sweep);

/* Add the table's targets in other parts of a split function to others; *leaves if there are any.
 */
enum bat_code code_table_leaves(const struct code_sweep *sweep, const struct code_table *table,
                                struct code_addresses *others, bool *leaves,
                                struct bat_error *error);

/*
 * The targets of a table, as offsets in the table's order. *count is their number; at most capacity
 * of them are written.
 */
void code_table_targets(const struct code_sweep *sweep, const struct code_table *table,
                        uint32_t *targets, uint32_t capacity, uint32_t *count);

/* Make a jump through a constant slot a direct one where BOLT does (jump_tables.c). */
void code_read_slot(struct code_sweep *sweep, struct code_instruction *jump, uint64_t slot);

/*
 * Decode a function that need not be wanted, and find candidates for its jump tables. The caller
 * frees *sweep with code_sweep_free(), also after a failure.
 */
enum bat_code code_sweep_begin(const struct bat_code_reader *reader, uint32_t function,
                               struct code_sweep *sweep, struct bat_error *error);

/* The same for a wanted function, and find its labels. */
enum bat_code code_sweep_function(const struct bat_code_reader *reader, uint32_t function,
                                  struct code_sweep *sweep, struct bat_error *error);
void code_sweep_free(struct code_sweep *sweep);

/* Make the blocks from instructions and labels (flow.c). */
enum bat_code code_build_blocks(const struct code_sweep *sweep, struct bat_code_blocks *blocks,
                                struct bat_error *error);

/*
 * True if llvm-bolt knows where control goes at the end of a block, the instructions first to last,
 * of a function with several blocks (graph_simple.c). It does not optimize functions with an
 * indirect jump that it cannot resolve.
 */
bool code_knows_jump(const struct code_sweep *sweep, uint32_t first, uint32_t last);

/* False if llvm-bolt does not optimize the function for another reason. */
bool code_can_be_simple(const struct code_sweep *sweep, const struct bat_code_blocks *blocks);

/* True if control does not reach the next instruction. */
bool code_ends_flow(const struct code_instruction *instruction);

/* A branch that leaves the function. */
static inline bool code_is_tail_call(const struct code_instruction *instruction, uint8_t kind)
{
    return instruction->kind == kind && instruction->target == CODE_OUTSIDE;
}
