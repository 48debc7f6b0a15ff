/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the parts of inlined.h share: the caller's code (inlined_find.c), the beginnings of
 * functions (inlined_beginnings.c), and comparisons of code (inlined_compare.c). Internal to them.
 */
#pragma once

#include "inlined.h"
#include "same_code.h"
#include "support/key_sort.h"

#define MOST_JUMPS 8u /* in a row */

/* --- The caller's code ------------------------------------------------------------------------ */

/* An instruction of the caller. */
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

/* The index of the first spot at or behind an address. Logarithmic. */
size_t bat_spots_from(const struct bat_spots *spots, uint64_t address);

/*
 * The spot at an address; NULL if no instruction of the caller starts there. Tries the index *hint
 * and the next one first; sets *hint to the spot's index if it is found.
 */
const struct bat_spot *bat_spots_at(const struct bat_spots *spots, uint64_t address, size_t *hint);

/* --- Other functions ------------------------------------------------------------------------ */

/* The function or fragment of the last look-up, to speed up the next one. */
struct bat_known_code {
    struct bat_code_range range; /* empty at first */
    uint32_t table;              /* its hot table */
};

/* True if an address is in the function of a hot table, or in one of its fragments. */
bool bat_program_is_in(const struct bat_program *program, uint32_t table, uint64_t address,
                       struct bat_known_code *known);

/* --- Beginnings ----------------------------------------------------------------------------- */

/* The most keys that the code from one spot on can have. */
#define BEGINNING_KEYS 4u

/*
 * The keys for bat_beginnings_find() of functions that the code from a spot on may be a copy of.
 * Returns the number of keys; 0 if the code cannot be a copy of any function.
 */
unsigned bat_beginning_keys(const struct bat_program *program, const struct bat_spots *spots,
                            size_t spot, uint64_t keys[BEGINNING_KEYS]);

/* Fails with BAT_ERR_MEMORY. */
enum bat_code bat_beginnings_create(const struct bat_program *program,
                                    struct bat_beginnings **beginnings);

/* The functions with a key, as hot tables in the values of *count items. */
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
    uint32_t instructions;             /* number of copied instructions; 0 if it is no copy */
    const struct bat_copied_run *runs; /* in no order; valid until the next comparison */
    size_t run_count;
};

/*
 * Compare the caller's code at start with the function of a hot table. Each instruction lowers
 * *budget; at 0 nothing is found. Fails with BAT_ERR_MEMORY.
 */
enum bat_code bat_compare(struct bat_comparison *comparison, uint64_t start, uint32_t table,
                          uint64_t *budget, struct bat_copy *copy);
