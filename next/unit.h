/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The code of one function with its cold parts: blocks, the edges between them, and for each
 * instruction hashes of what it is, which do not depend on addresses. Internal to next/.
 */
#pragma once

#include "program.h"

/* Why control goes along an edge. */
enum next_edge_kind {
    NEXT_EDGE_ON,    /* falls through, or jumps */
    NEXT_EDGE_TAKEN, /* a conditional branch is taken */
    NEXT_EDGE_TABLE, /* a jump by a table */
};

/* What a block ends with. */
enum next_end {
    NEXT_END_ON,      /* the next block, or a jump in the unit */
    NEXT_END_BRANCH,  /* a conditional branch in the unit */
    NEXT_END_TABLE,   /* a jump by a table */
    NEXT_END_RETURN,  /* a return */
    NEXT_END_TAIL,    /* a jump out of the unit, or by an unknown pointer */
    NEXT_END_TAIL_IF, /* a conditional one */
    NEXT_END_TRAP,    /* nowhere */
};

enum next_instruction_flag {
    NEXT_IS_NOP = 1,
    NEXT_IS_CALL = 2,            /* also a tail call */
    NEXT_IS_INDIRECT = 4,        /* a call or jump by pointer */
    NEXT_NAMES = 8,              /* name tells much: a function, a string, a datum */
    NEXT_COMPARES_VALUES = 16,   /* two values: another compiler may exchange them */
    NEXT_COMPARES_CONSTANT = 32, /* a value with a constant; with both flags: it sets the condition
                                    in another way */
};

/* What the condition of a branch behind an instruction tells. */
enum next_test {
    NEXT_TEST_NONE,     /* the instruction sets no condition */
    NEXT_TEST_ZERO,     /* a number compared with 0 */
    NEXT_TEST_NULL,     /* ... of 64 bits: often a pointer */
    NEXT_TEST_BITS,     /* some bits of it */
    NEXT_TEST_CONSTANT, /* ... compared with another constant */
    NEXT_TEST_VALUES,   /* two numbers */
    NEXT_TEST_RESULT,   /* what it has calculated */
    NEXT_TEST_SUM,      /* ... of two numbers added up: x86-64's "lower" means a carry */
    NEXT_TESTS,
};

/* What an instruction does with values, as far as these are followed (values.h). */
enum next_effect_kind {
    NEXT_EFFECT_NONE,
    NEXT_EFFECT_MOVE,      /* to = from */
    NEXT_EFFECT_ADDRESS,   /* to = the address of what is in memory */
    NEXT_EFFECT_CALCULATE, /* to = a result of both; NEXT_STACK: to + from */
    NEXT_EFFECT_MASK,      /* to = to & from, which it tests */
    NEXT_EFFECT_COMPARE,   /* compares to with from */
    NEXT_EFFECT_TEST,      /* tests to & from */
    NEXT_EFFECT_PUSH,
    NEXT_EFFECT_POP,
    NEXT_EFFECT_CALL,
};

/* What it does that with: a register, by its number, or another operand. */
#define NEXT_REGISTERS 32u
#define NEXT_STACK 31u /* the stack pointer */
enum next_operand { NEXT_NOTHING = NEXT_REGISTERS, NEXT_IN_MEMORY, NEXT_IS_NUMBER, NEXT_IS_NAMED };

/* Registers that it changes, too. */
enum next_clobbers {
    NEXT_CLOBBERS_NONE,
    NEXT_CLOBBERS_WIDE,
    NEXT_CLOBBERS_STRING,
    NEXT_CLOBBERS_ALL
};

struct next_effect {
    unsigned kind : 4; /* enum next_effect_kind */
    unsigned clobbers : 2;
    unsigned scale : 2; /* 1 << scale */
    unsigned to : 6;
    unsigned from : 6;
    unsigned base : 6; /* of what is in memory: a register, NEXT_NOTHING or NEXT_IS_NAMED */
    unsigned index : 6;
    int32_t displacement;
    int32_t number;
};

struct next_instruction {
    uint32_t offset;   /* in its part */
    uint32_t kind;     /* hash of the mnemonic */
    uint32_t shape;    /* ... and of the operands' kinds, sizes and constants */
    uint32_t exact;    /* ... and of the registers */
    uint32_t name;     /* of what it refers to: see next_reference(); 0: nothing */
    uint32_t field;    /* hash of where in a structure it reads or writes, whatever it does; or 0 */
    uint32_t constant; /* ... of a number that it uses; or 0 */
    uint32_t callee;   /* of a direct call or tail call: the function; BAT_NONE */
    uint16_t flags;
    uint8_t test; /* enum next_test */
    struct next_effect effect;
};

struct next_source;

struct next_edge {
    uint32_t from;
    uint32_t to;
    uint32_t offset; /* where records of the edge start, in from's part */
    uint8_t kind;    /* enum next_edge_kind */
    uint8_t padding; /* so many blocks of no-operations are between; each is a record, too */
};

struct next_block {
    uint32_t function; /* the part that it is in */
    uint32_t start;    /* offset in the part */
    uint32_t last;     /* of the last instruction */
    uint32_t first_instruction;
    uint32_t instruction_count; /* no-operations, too */
    uint32_t first_edge;
    uint32_t edge_count;
    uint32_t table;     /* index in tables, or BAT_NONE */
    uint32_t condition; /* of the conditional branch at the end (conditions.h), or 0 */
    uint8_t end;        /* enum next_end */
    bool is_padding;    /* no-operations that only the block before reaches: in no edge */
    bool is_entered;    /* from elsewhere: an entry point, a landing pad */
    bool is_cold;       /* in a fragment */
    bool is_split;      /* the block before falls through to it, and is one with it for BOLT */
    bool has_callees;   /* of direct calls and tail calls */
};

/* A jump table: targets in the table's order. */
struct next_table {
    uint32_t first; /* in targets */
    uint32_t count;
};

struct next_unit {
    struct next_block *blocks;
    uint32_t block_count;
    struct next_edge *edges; /* by from */
    uint32_t edge_count;
    struct next_instruction *instructions;
    uint32_t instruction_count;
    struct next_source *source; /* source_lines.h; NULL: not read, or not known */
    struct next_table *tables;
    uint32_t table_count;
    uint32_t *targets; /* blocks; BAT_NONE for those in no block */
    uint32_t target_count;
    bool is_read; /* false: the code could not be read, and there are no blocks */

    /* Capacities, while it is being read. */
    size_t block_capacity;
    size_t edge_capacity;
    size_t instruction_capacity;
    size_t table_capacity;
    size_t target_capacity;
};

/*
 * The code of a unit, which is read once and belongs to program. A unit that cannot be read is
 * empty. Linear in its size. Threads may do this at the same time.
 */
enum bat_code next_unit_get(struct next_program *program, uint32_t unit,
                            const struct next_unit **found, struct bat_error *error);
void next_unit_free(struct next_unit *unit);

/*
 * The instructions of a unit alone, in the order of the code, without what control flow tells: in
 * half the time, for code of which most is looked at once. The caller frees *found.
 */
enum bat_code next_unit_read_code(struct next_program *program, uint32_t unit,
                                  struct next_unit **found, struct bat_error *error);

/* Free the code of a unit, which is read again when it is asked for. */
void next_unit_forget(struct next_program *program, uint32_t unit);

/* The block at an offset of a part; BAT_NONE if there is none. Logarithmic. */
uint32_t next_block_at(const struct next_program *program, const struct next_unit *unit,
                       uint32_t function, uint64_t offset);

/* The edge between two blocks: the one whose records start at this offset if there are several;
 * BAT_NONE if there is none. */
uint32_t next_find_edge(const struct next_unit *unit, uint32_t from, uint32_t to, uint32_t offset);

/* True if control goes along an edge without a branch or jump. */
static inline bool next_is_fall_through(const struct next_unit *unit, const struct next_edge *edge)
{
    const struct next_block *from = &unit->blocks[edge->from];
    return edge->kind == NEXT_EDGE_ON && from->end == NEXT_END_ON &&
           edge->to == edge->from + 1 + edge->padding && edge->offset == from->last;
}
