/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* struct bat_original, and the parts that fill and search it. Internal to the library. */
#pragma once

#include <stdatomic.h>

#include "bat_original.h"
#include "binary/code/instructions.h"
#include "binary/functions/functions.h"
#include "binary/sparse_note.h"
#include "support/key_sort.h"

/* The symbols of one file that can name functions, by their names. */
struct bat_symbol_side {
    struct bat_elf *elf;
    const struct bat_symbol *symbols; /* all of the file */
    size_t symbol_count;
    /* key: hash of the name and, for a local symbol, its file; value: index in symbols. Sorted by
     * hash, then by index. */
    struct bat_sort_key *keyed;
    size_t count;
    enum bat_code code; /* of reading */
    struct bat_error error;
};

/*
 * Indices of "output" functions are those of bat_functions_all(output_functions), of "input" ones
 * those of bat_functions_all(input_functions).
 */
struct bat_original {
    struct bat_binary *binary;
    const struct bat_map *map;    /* of binary, or else of sparse */
    struct bat_sparse_map sparse; /* if only look-ups are wanted; map is NULL otherwise */
    /* By table: the entries that look-ups needed; NULL for a complete map. */
    struct bat_sparse_entries *_Atomic *entries;
    _Atomic(bool) no_memory; /* for entries, so that a look-up failed */
    bool only_look_ups;      /* bat_original_input_of() and the like: there are no homes */
    struct bat_elf *elf;     /* the input binary */
    bool owns_elf;
    unsigned threads;               /* that may pair; 0: as many as are of use */
    struct bat_elf *output_symbols; /* the file with the symbols: of the options, or binary->elf */
    struct bat_elf *input_symbols;
    struct bat_functions *output_functions;
    struct bat_functions *input_functions;
    const struct bat_function_symbol *outputs;
    const struct bat_function_symbol *inputs;
    uint32_t output_count;
    uint32_t input_count;

    uint32_t *input_of;   /* output_count: the input function of each, or BAT_NONE */
    uint32_t *table_of;   /* output_count: the table at the function's address, or BAT_NONE */
    uint32_t *output_of;  /* bat_map_tables(): the function at the table's address, or BAT_NONE */
    uint32_t *first_home; /* input_count + 1: the code of input function i is in ... */
    uint32_t *homes;      /* ... output functions homes[first_home[i] .. first_home[i + 1]), which
                             include functions that it was folded into, but no fragments */
    struct bat_original_counters counters;

    struct bat_symbol_side output_side; /* until the functions are paired */
    struct bat_symbol_side input_side;
};

/* --- Symbols (symbols.c) ------------------------------------------------------------------ */

/* A symbol that is in the output and in the input. */
struct bat_symbol_pair {
    uint64_t output; /* addresses */
    uint64_t input;
    uint64_t rank; /* of several at one address, the lowest names the function best */
};

struct bat_symbol_pairs {
    struct bat_symbol_pair *all; /* ascending by output, then by rank */
    size_t count;
};

/*
 * Read the symbols of side->elf; all other members are 0 before. The caller frees the side, also
 * after a failure: side->code is that of bat_elf_symbols(), BAT_ERR_MEMORY, or BAT_ERR_ELF.
 */
void bat_symbol_side_read(struct bat_symbol_side *side);
void bat_symbol_sides_read(struct bat_symbol_side sides[2], unsigned threads);
void bat_symbol_side_free(struct bat_symbol_side *side);

/*
 * Pair the symbols of code of two sides that were read. Symbols of fragments, by the map of the
 * output, are left out. The caller frees pairs->all with free(), also after a failure. Fails with
 * BAT_ERR_MISMATCH if one of the files has no function symbols, as a side has failed, or with
 * BAT_ERR_MEMORY.
 */
enum bat_code bat_original_pair_symbols(const struct bat_map *map, struct bat_symbol_side *output,
                                        const struct bat_symbol_side *input,
                                        struct bat_symbol_pairs *pairs, struct bat_error *error);

/* The position of the first pair at or above an output address; pairs->count if there is none. */
size_t bat_symbol_pairs_at(const struct bat_symbol_pairs *pairs, uint64_t output);

/* --- Functions (pair.c) ------------------------------------------------------------------- */

/*
 * bat_original_open() for the translation of addresses from the output to the input alone: that
 * takes less time and memory. The note's entries are decoded where they are asked for, and binary
 * gets no map. The counter folded stays 0. beside is work with the input binary that is done
 * while functions are paired, in another thread if options allow it.
 */
struct bat_original_beside {
    void (*run)(void *context, struct bat_elf *input);
    void *context;
};

enum bat_code bat_original_open_for_look_ups(const char *path, struct bat_binary *binary,
                                             const struct bat_original_options *options,
                                             const struct bat_original_beside *beside,
                                             struct bat_original **original,
                                             struct bat_error *error);

/* True if a look-up failed because there was no memory. */
bool bat_original_lacks_memory(const struct bat_original *original);

/* Tables that do not fit the input binary. */
struct bat_misfits {
    uint64_t unnamed;        /* hot tables without an input function */
    uint64_t too_small;      /* hot tables with offsets beyond their input function */
    uint32_t example;        /* the first too small one, else the first unnamed one; or BAT_NONE */
    uint64_t example_size;   /* of its input function; 0 if it is unnamed */
    uint64_t example_offset; /* its largest input offset */
};

/* Fill input_of, counters and, unless only_look_ups is set, first_home and homes. */
enum bat_code bat_original_pair_functions(struct bat_original *original,
                                          struct bat_misfits *misfits, struct bat_error *error);

/* True if both files have the same bytes where a function of one of them is. */
bool bat_original_is_same_code(const struct bat_original *original,
                               const struct bat_function_symbol *function);

/*
 * Pair elf, an open input binary that must outlive *original. Misfits are counted, not refused.
 * beside may be NULL; its work is always done.
 */
enum bat_code bat_original_pair(struct bat_elf *elf, struct bat_binary *binary,
                                const struct bat_original_options *options, bool only_look_ups,
                                const struct bat_original_beside *beside,
                                struct bat_original **original, struct bat_misfits *misfits,
                                struct bat_error *error);

/* The index of a hot table's input function, or BAT_NONE. */
static inline uint32_t bat_original_input_of_table(const struct bat_original *original,
                                                   uint32_t table)
{
    uint32_t output = original->output_of[table];
    return output == BAT_NONE ? BAT_NONE : original->input_of[output];
}

/* True if output is one of the homes of input. Logarithmic. */
bool bat_original_is_home(const struct bat_original *original, uint32_t input, uint32_t output);

/*
 * The name, in profiles of the input binary, of the function that starts at an output address;
 * NULL if its input function is not known.
 */
const char *bat_original_name(const struct bat_original *original, uint64_t output_address);

/* --- Entries (places.c) ------------------------------------------------------------------- */

/*
 * The code from one BAT entry to the next one in the output. Both binaries have the same
 * instructions from these addresses on, except some that BOLT made shorter, removed (no-operations,
 * jumps at the end) or added (jumps at the end).
 */
struct bat_original_run {
    uint64_t output;     /* address in the output */
    uint64_t output_end; /* of the next entry, or the function's end */
    uint64_t input;      /* address in the input */
    uint64_t input_end;  /* of the function */
};

/*
 * Walks through long runs, recorded for later look-ups: all look-ups of a profile together are
 * linear in the code and in their number. Starts as {0}; threads must not share one.
 */
struct bat_original_walks {
    void *tree;
};

void bat_original_walks_free(struct bat_original_walks *walks);

/*
 * The input address of the instruction at output address `at`, inside the run. walks may be NULL;
 * the time is then linear in the distance from the run's start.
 */
uint64_t bat_original_align(const struct bat_original *original, const struct bat_original_run *run,
                            uint64_t at, struct bat_original_walks *walks);

/* bat_original_input_of() and bat_original_input_address_of() that use and extend walks. */
bool bat_original_input_of_again(const struct bat_original *original,
                                 struct bat_original_walks *walks, uint64_t output_address,
                                 bool is_branch_source, struct bat_original_place *place);
bool bat_original_input_address_of_again(const struct bat_original *original,
                                         struct bat_original_walks *walks, uint64_t output_address,
                                         uint64_t *input_address);

/* An output function and its input function: their code without padding. */
struct bat_original_functions {
    uint64_t output; /* addresses */
    uint64_t output_end;
    uint64_t input;
    uint64_t input_end;
};

/*
 * The functions of an output address. False if the input function is not known, if the address is
 * in padding, or if it can lie outside of the input function.
 */
bool bat_original_functions_at(const struct bat_original *original, uint64_t output_address,
                               struct bat_original_functions *functions);

/* The reverse: false if the instruction at input address `at` is not in the run's output. */
bool bat_original_align_back(const struct bat_original *original,
                             const struct bat_original_run *run, uint64_t at, uint64_t *output);

/* The entries of a table. */
struct bat_original_entries {
    const uint32_t *outputs;
    const uint32_t *inputs;
    uint32_t count;
};

/* The position of the table's last entry at or below an output offset, or BAT_NONE. */
uint32_t bat_original_entry(const struct bat_map *map, uint32_t table, uint64_t output_offset);

/*
 * True if the last entry of the table at or below an output address is that of a branch or call
 * whose instruction can contain the address.
 */
bool bat_original_is_in_branch(const struct bat_original *original, uint32_t table,
                               uint64_t output_address);

/* The instruction at an address of a file; false if there is none. */
bool bat_original_decode(const struct bat_elf *elf, uint64_t address,
                         struct bat_instruction *instruction);

/*
 * Where the jump leads that BOLT has patched over the entry of a function that it moved, 0 if there
 * is none. *jump is its instruction that jumps: on AArch64 two others form the target before.
 */
uint64_t bat_original_patch(const struct bat_elf *elf, uint64_t entry, uint64_t *jump);
