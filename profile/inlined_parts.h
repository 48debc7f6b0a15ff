/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The parts of inlined.h: code, how functions begin, and how they are compared. Internal to them.
 */
#ifndef BAT_PROFILE_INLINED_PARTS_H
#define BAT_PROFILE_INLINED_PARTS_H

#include "inlined.h"
#include "key_sort.h"
#include "same_code.h"

#define MOST_JUMPS 8u /* that follow each other */

/* --- The caller's code ------------------------------------------------------------------------ */

struct bat_spot {
    uint64_t address;
    uint64_t target; /* of a branch, jump or call */
    uint64_t hash;   /* see bat_code_hash() */
    uint8_t kind;    /* enum bat_instruction_kind */
    uint8_t length;
    bool has_entry;
};

struct bat_spots {
    const struct bat_caller *caller;
    struct bat_spot *all; /* each instruction, ascending */
    size_t count;
    size_t capacity;
};

/* The number of the spot at an address, or of the first one behind it. Logarithmic. */
size_t bat_spots_from(const struct bat_spots *spots, uint64_t address);

/* The spot at an address; NULL if no instruction of the caller stands there. *near, a number of
 * a spot, is tried first, and is then that of this one. */
const struct bat_spot *bat_spots_at(const struct bat_spots *spots, uint64_t address, size_t *near);

/* --- Other functions ----------------------------------------------------------------------------
 */

/* The code of one function or fragment, kept from one look-up to the next. */
struct bat_known_code {
    struct bat_code_range range; /* empty at first */
    uint32_t table;              /* hot */
};

/* True if an address is in the function of a hot table, or in one of its fragments. */
bool bat_program_is_in(const struct bat_program *program, uint32_t table, uint64_t address,
                       struct bat_known_code *known);

/* --- Beginnings ----------------------------------------------------------------------------- */

/* The most numbers that the beginning of a function's code in a caller can have. */
#define BEGINNING_KEYS 4u

/*
 * Numbers by which bat_beginnings_find() knows the functions that the code from a spot on may be a
 * copy of. Returns how many there are; 0: it is the copy of no function.
 */
unsigned bat_beginning_keys(const struct bat_program *program, const struct bat_spots *spots,
                            size_t spot, uint64_t keys[BEGINNING_KEYS]);

/* Fails with BAT_ERR_MEMORY. */
enum bat_code bat_beginnings_create(const struct bat_program *program,
                                    struct bat_beginnings **beginnings);

/* The functions with a number: the value of each key is a hot table. */
const struct bat_sort_key *bat_beginnings_find(const struct bat_beginnings *beginnings,
                                               uint64_t key, size_t *count);

/* --- Comparing ------------------------------------------------------------------------------ */

struct bat_comparison;

/* NULL if there is no memory. program and spots must outlive it. */
struct bat_comparison *bat_comparison_new(const struct bat_program *program,
                                          const struct bat_spots *spots);
void bat_comparison_free(struct bat_comparison *comparison);

/* What the comparison found. */
struct bat_copy {
    uint32_t instructions;             /* 0: it is no copy */
    const struct bat_copied_run *runs; /* in no order; until the next comparison */
    size_t run_count;
};

/*
 * Compare the caller's code at start with the function of a hot table. *budget counts instructions
 * down; at 0 nothing is found any more. Fails with BAT_ERR_MEMORY.
 */
enum bat_code bat_compare(struct bat_comparison *comparison, uint64_t start, uint32_t table,
                          uint64_t *budget, struct bat_copy *copy);

#endif
