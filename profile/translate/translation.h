/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The state of a translation, from samples of a BOLTed binary to records of its input binary, which
 * translate.c, traces_to_records.c and flow_*.c share. Internal to them.
 */
#pragma once

#include "binary/sparse_note.h"
#include "profile/profile.h"
#include "records.h"
#include "support/key_sort.h"

/* The functions at the ends of a trace; BAT_NONE for none. */
struct trace_functions {
    uint32_t branch;
    uint32_t from;
    uint32_t to;
};

/* What became of a branch or run, for the balances: the first one of these that holds. */
enum outcome {
    OUTCOME_RECORDED = 1,
    OUTCOME_INVALID = 2,
    OUTCOME_OUTSIDE = 4,
    OUTCOME_LEFT_OUT = 8,
    OUTCOME_WITHIN = 16,       /* needs no record */
    OUTCOME_MISPREDICTED = 32, /* besides: a record has its mispredictions */
};

/*
 * Runs of more steps are added up before they become records, so that many long runs do not cost
 * the product of their number and length. See long_runs.c.
 */
#define LONG_RUN 64u

/*
 * A step of runs through a function: from a block into the next one. The three numbers, of steps
 * that were tried (functions with a table), are of the last step up to this one which is so, + 1.
 */
struct run_step {
    uint64_t count; /* how often it ran more, or less, than the step before it */
    uint64_t runs;  /* the runs that these counts are of */
    uint32_t recorded;
    uint32_t left_out;
    uint32_t irregular; /* where it leads depends on the steps before */
};

/* The long runs through one function: not yet records. */
struct long_runs {
    uint32_t function;
    uint32_t low; /* the first step */
    uint32_t high;
    uint32_t tried;         /* the end of the steps that were tried */
    struct run_step *steps; /* zero but for [low, high] and those tried; NULL at first */
    size_t capacity;
};

/* An address translated to the input binary. */
struct place {
    uint32_t function; /* for a fragment its parent; BAT_NONE outside of functions */
    uint64_t offset;   /* in that function of the input binary; 0 outside of functions */
};

struct translation {
    const struct bat_profile *profile;
    const struct bat_profile *fdata_of;   /* its fdata records are added */
    const struct bat_original *hashes_of; /* its note has the hashes; NULL: the binary's own note */
    struct bat_translate_options options;
    struct bat_records *records;
    struct bat_counts_batch batch; /* not yet in records->branches */
    unsigned outcome;           /* bits of enum outcome: of the branch or run that is translated */
    struct long_runs long_runs; /* the same as batch */
    bool is_trial;              /* nothing is added: only the outcome is wanted */

    /* Many traces begin their run where the trace before did: its start and place, and for
     * translation_block_from() its block. */
    uint64_t last_start;
    struct place last_place;
    const struct bat_output_flow *last_flow;
    uint64_t last_from;
    uint32_t last_block;

    struct bat_counts *others; /* more branches, which other threads have translated */
    unsigned other_count;
    bool has_names;      /* of the functions */
    bool has_uncovered;  /* translation_open_uncovered() was called */
    bool has_read_flows; /* bat_records_flow() only looks up what the traces need */

    /* Of translation_sort_traces(). */
    struct bat_sort_key *keys;        /* memory of order */
    const struct bat_sort_key *order; /* the traces (values) by the start of their run */

    /* Of translation_survey(). */
    struct trace_functions *ends; /* for each trace */
    uint8_t *surveyed;            /* for each function: it may get records */
    uint8_t *touched;             /* for each function: it has samples */
    struct bat_error *error;
};

/* A trace with its counts: an item of the profile's traces. */
struct trace {
    uint64_t branch;
    uint64_t from;
    uint64_t to;
    uint64_t count;
    uint64_t mispredictions;
    struct trace_functions in;
};

static inline const struct bat_map *translation_map(const struct translation *translation)
{
    return translation->records->binary_map;
}

static inline uint32_t translation_function(const struct translation *translation, uint64_t address)
{
    return bat_functions_find(translation->records->functions, address);
}

/* Fetch a trace, by its place in the order. */
static inline void translation_fetch(const struct translation *translation, uint32_t i)
{
    const uint32_t number = (uint32_t)translation->order[i].value;
    __builtin_prefetch(bat_counts_item(&translation->profile->traces, number));
    __builtin_prefetch(&translation->ends[number]);
}

/* bat_output_flow_at() for an address where runs begin. */
static inline uint32_t translation_block_from(struct translation *translation,
                                              const struct bat_output_flow *flow, uint64_t from)
{
    if (flow != translation->last_flow || from != translation->last_from) {
        translation->last_flow = flow;
        translation->last_from = from;
        translation->last_block = bat_output_flow_at(flow, from);
    }
    return translation->last_block;
}

/* The parent function of a fragment; any other function itself. */
uint32_t translation_parent(const struct translation *translation, uint32_t function);

/* Translate an address to the input by the note alone (BAT.md 8.1). */
struct place translation_place(const struct translation *translation, uint64_t address,
                               bool is_branch_source);

/*
 * Sort the traces by the start of the run: traces of one function need the same parts of the map
 * and of the functions. Needs the profile alone.
 */
enum bat_code translation_sort_traces(struct translation *translation);

/*
 * After translation_sort_traces(), look up the functions of all samples, name them, decode the
 * entries of their tables in *sparse (of all tables, if is_renamed), and read their code. If
 * records may be of other functions, too, all tables are decoded, and translation_name() is left to
 * the caller (see has_names).
 */
enum bat_code translation_survey(struct translation *translation, struct bat_sparse_map *sparse,
                                 bool is_renamed);

/* Name the functions for which wanted is not 0 (NULL: all). To be called once. */
enum bat_code translation_name(struct translation *translation, const uint8_t *wanted);

/*
 * Add the records of all traces, by several threads if there are many; options.threads limits them.
 * What the others add to the branches is in translation->others, which the caller frees.
 */
enum bat_code translation_all_traces(struct translation *translation);

/* Add the records of the traces first to end - 1 in translation->order. */
enum bat_code translation_traces(struct translation *translation, uint32_t first, uint32_t end);

/* Count a function as one with samples, and `count` of them if it has no table. */
void translation_touch(struct translation *translation, uint32_t function, uint64_t count);

enum bat_code translation_add(struct translation *translation, struct place from, struct place to,
                              uint64_t count, uint64_t mispredictions);

/* Add a record from one offset of a function to another, for a jump or fall-through, not a call. */
enum bat_code translation_add_inside(struct translation *translation, uint32_t function,
                                     uint64_t from, uint64_t to, uint64_t count,
                                     uint64_t mispredictions);

/* Add the record of a fall-through behind a block of a function without a table. */
enum bat_code translation_add_fallthrough(struct translation *translation, uint32_t function,
                                          const struct bat_code_block *block, uint64_t count);

/* Add up a run through the steps [first, end) of a function, which has step_count. */
enum bat_code translation_add_long_run(struct translation *translation, uint32_t function,
                                       uint32_t step_count, uint32_t first, uint32_t end,
                                       uint64_t count);

/* The same, but for adding the run: make room, and add the runs of other functions. */
enum bat_code translation_begin_long_run(struct translation *translation, uint32_t function,
                                         uint32_t step_count, uint32_t first);

/* Make records of the long runs that were added up. */
enum bat_code translation_end_long_runs(struct translation *translation);

/*
 * Add the records of a trace's branch, whose source is in a function with a table, as far as
 * llvm-bolt accepts them. from and to are its ends by the note alone.
 */
enum bat_code translation_flow_branch(struct translation *translation, const struct trace *trace,
                                      struct place from, struct place to);

/* Add the records of a fall-through from an address in a function with a table to trace->to. */
enum bat_code translation_flow_run(struct translation *translation, uint32_t function,
                                   uint64_t from, const struct trace *trace);

/* Add the records of such a fall-through from the start of a block of the flow into the next. */
enum bat_code translation_flow_step(struct translation *translation, uint32_t function,
                                    uint32_t block, uint64_t count);

/*
 * Translate an address of the binary to the input binary: a function and an offset in it. The
 * function will need its name. False outside of functions.
 */
typedef bool bat_place_fn(void *context, uint64_t address, uint32_t *function, uint64_t *offset);

/*
 * Add the profile's memory samples to the records' branches. symbols is the file with symbols.
 * keep_unknown: also those that read no data of the binary.
 */
enum bat_code bat_translate_memory(struct bat_records *records, const struct bat_profile *profile,
                                   const struct bat_elf *symbols, bool keep_unknown,
                                   bat_place_fn *find_place, void *context,
                                   struct bat_error *error);

/* As translation_place(), of an address whose function is known. */
struct place translation_place_in(const struct translation *translation, uint32_t function,
                                  uint64_t address, bool is_branch_source);

/* Add a count to a balance by what became of it; to none if nothing is known of that. */
void translation_settle(struct bat_balance *balance, unsigned outcome, uint64_t count);

/* The code of a failure to add a record, with its message. */
enum bat_code translation_fail(struct bat_error *error, enum bat_code code);

/* Static analysis does not see what it returns. */
#ifdef __clang_analyzer__
#define translation_fail(error, code) (translation_fail(error, code), code)
#endif

/*
 * Open the code of all functions without a table that traces run through; they must be opened
 * together. To judge the records, all functions that the records name are needed. After
 * translation_survey(), or in a thread of it.
 */
enum bat_code translation_open_uncovered(struct translation *translation, struct bat_error *error);
