/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a profile says of the input binary, before it is written. Internal to the library. */
#ifndef BAT_PROFILE_RECORDS_H
#define BAT_PROFILE_RECORDS_H

#include "bat_profile.h"
#include "counts.h"
#include "functions.h"
#include "output_flow.h"
#include "string_table.h"
#include "uncovered.h"

/* The kinds of ends (the digit that fdata puts first) that translation makes. */
#define BAT_KIND_UNKNOWN 0u
#define BAT_KIND_SYMBOL 1u

/* The same of memory samples: what a load read is unknown data, or known by a symbol. */
#define BAT_KIND_MEMORY_UNKNOWN 3u
#define BAT_KIND_MEMORY 4u

/* The name of an end that is in no function: "[unknown]". */
#define BAT_NAME_UNKNOWN BAT_NONE

/* How YAML tells a branch. */
enum bat_yaml_place {
    BAT_YAML_NOWHERE,   /* a memory access; of a block whose index and hash are not known */
    BAT_YAML_SUCCESSOR, /* a branch or fall-through from a block to another one of the function */
    BAT_YAML_CALL,      /* a call or jump to a function */
};

/*
 * Ends are words like bat_fdata_word()'s, a kind and a name. Names below function_count are
 * functions of the binary, by index; the others, less function_count, are extra_names: data, and
 * what fdata inputs name and the binary does not have.
 */
struct bat_records {
    struct bat_binary *binary;
    struct bat_binary *input; /* binary, if the records own it; its file is another's */
    const struct bat_map
        *map; /* which the tables are of: binary's, or that of what BOLT made of it */
    const struct bat_original *original; /* what the input binary is, if it is at hand; or NULL */
    const struct bat_elf *symbols_elf;   /* where functions are from; NULL: the binary's file */
    struct bat_functions *functions;
    const struct bat_function_symbol *symbols; /* function_count */
    struct bat_function_symbol *renamed;       /* symbols with the input's names, or NULL */
    uint32_t function_count;
    uint32_t *tables;       /* of each function: its BAT table, or BAT_NONE */
    uint32_t *block_counts; /* of each function without a table: its blocks; 0: not known. NULL if
                               the binary has a note */
    struct bat_strings extra_names;

    enum bat_profile_kind kind;
    struct bat_counts branches; /* from, offset, to, offset: count, mispredictions */
    struct bat_counts samples;  /* name, offset: count */
    bool is_parity;             /* the records are perf2bolt's, not edges alone */
    /* Function, offset: how much of its record to the function's own start are fall-throughs into
       a block there, not calls of itself. Only perf2bolt's records need it. */
    struct bat_counts starts_reached;
    uint8_t *yaml_places; /* of each branch: enum bat_yaml_place */
    /* Function without a table, offset: id of the secondary entry point that is called there. */
    struct bat_counts entry_ids;
    struct bat_strings events;
    struct bat_translate_counters counters;

    /* Code of the binary's that was read; afterwards only what bat_records_judge() needs of it. */
    struct bat_uncovered uncovered; /* functions without a table that traces run through */
    struct bat_output_flows *flows; /* NULL as long as none is asked for */
};

/* The name of an end: a C string without escapes for functions, escaped for extra names. */
const char *bat_records_name(const struct bat_records *records, uint32_t name, bool *is_escaped);

/* The output's code of the function that a hot table is of, read once; owned by records. */
enum bat_code bat_records_flow(struct bat_records *records, uint32_t hot,
                               const struct bat_output_flow **flow, struct bat_error *error);

/* Forget what code was read. */
void bat_records_forget_code(struct bat_records *records);

/*
 * Fill yaml_places; branches are sorted. By the input's code where that is at hand: of the
 * functions in uncovered. Else by the note and the output's code. Time n log n in the records of
 * functions.
 */
enum bat_code bat_records_find_places(struct bat_records *records, struct bat_error *error);

/* Add a profile's fdata records; their names become the binary's where it has them. */
enum bat_code bat_records_add_fdata(struct bat_records *records, const struct bat_profile *profile,
                                    struct bat_error *error);

/*
 * Fill entry_ids for the branches from functions that have a table. symbols may be NULL: the
 * binary's own.
 */
enum bat_code bat_records_find_entries(struct bat_records *records, const struct bat_elf *symbols,
                                       struct bat_error *error);

#endif
