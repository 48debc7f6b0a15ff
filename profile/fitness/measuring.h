/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the measures share. Internal to the library. */
#pragma once

#include "bat_fitness.h"
#include "binary/code/instructions.h"
#include "binary/functions/functions.h"
#include "profile/profile.h"

/* A profile that is measured. */
struct measuring {
    const struct bat_profile *profile;
    const struct bat_elf *elf;
    bool has_note;
    const struct bat_map *map; /* NULL: the binary has no note, or it is not decoded */
    const struct bat_functions *functions;
    const struct bat_function_symbol *symbols;
    uint32_t symbol_count;
    uint32_t *numbers;                    /* for each symbol: its place in sampled, or BAT_NONE */
    struct bat_fitness_function *sampled; /* with room for one more */
    uint32_t sampled_count;
    struct bat_error *error;
};

/* The number of the function that holds an address, which may be none: BAT_NONE then. */
static inline uint32_t measuring_function(const struct measuring *measuring, uint64_t address)
{
    uint32_t symbol = bat_functions_find(measuring->functions, address);
    return symbol == BAT_NONE ? BAT_NONE : measuring->numbers[symbol];
}

/* True if a function of the binary starts at an address. */
static inline bool measuring_starts(const struct measuring *measuring, uint64_t address)
{
    uint32_t symbol = bat_functions_find(measuring->functions, address);
    return symbol != BAT_NONE && measuring->symbols[symbol].address == address;
}

/*
 * By how much two counts of samples that should be equal differ. They do by chance: only what is
 * beyond three standard deviations is a gap, else 0.
 */
uint64_t measuring_gap(uint64_t left, uint64_t right);

/*
 * Find a call, of more bytes than size, that ends directly before an address; there may be several
 * if code can be read from any byte. Returns its size, or 0 if there is none.
 */
unsigned measuring_next_call(const struct measuring *measuring, uint64_t address, unsigned size,
                             uint64_t *call);

/* True if the instruction directly before an address is a call: a return may come here. */
bool measuring_is_behind_call(const struct measuring *measuring, uint64_t address);

/*
 * True if the trace comes back from a call: its branch is a return, or it comes from outside of the
 * binary to a place behind a call.
 */
bool measuring_is_return(const struct measuring *measuring, const struct bat_trace *trace);

/* Add to a measure of a function; of none, if function is BAT_NONE. */
static inline void measuring_add(const struct measuring *measuring, uint32_t function,
                                 enum bat_fitness_measure measure, uint64_t part, uint64_t whole)
{
    if (function == BAT_NONE)
        return;
    struct bat_fitness_share *share = &measuring->sampled[function].shares[measure];
    share->part += part;
    share->whole += whole;
}

/* BRANCHES and TARGETS of all traces. */
void measure_branches(const struct measuring *measuring);

/* NEW_CODE and OLD_CODE. */
void measure_new_code(const struct measuring *measuring);
enum bat_code measure_old_code(struct measuring *measuring);

/* FLOW, ENTRIES and CALLS. */
enum bat_code measure_flow(const struct measuring *measuring);

/* INSTRUCTIONS. */
enum bat_code measure_instructions(const struct measuring *measuring);

/* CONTINUITY. */
enum bat_code measure_continuity(const struct measuring *measuring);
