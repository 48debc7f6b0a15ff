/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Remaps a profile of the BOLTed binary (the output) to the input binary. Internal to
 * profile/remap/.
 *
 * A trace of the output runs through a row of basic blocks. Each step from one block to the next,
 * by fall-through or by branch, is also a step in the input's flow of control, and the input's code
 * says which: a branch, a fall-through, or several of them where BOLT removed blocks in between.
 * A trace is cut at each step that is a branch in the input. Where a branch of the output is a
 * fall-through in the input, the run before it and the run after it are joined.
 */
#pragma once

#include "follow.h"
#include "profile/profile.h"

/* --- Pieces of traces (join.c) ------------------------------------------------------ */

/* A run of the input's code (all by fall-through) and the branch that leads to it. */
struct input_piece {
    uint64_t branch;
    uint64_t from;
    uint64_t to;
    uint64_t count;
    uint64_t mispredictions;
    uint32_t start_join; /* the join whose second half this run is, or BAT_NONE */
    uint32_t end_join;   /* the join whose first half this run is; BAT_NONE if `to` is the end */
};

/* A branch of the output that is a fall-through in the input. */
struct input_join {
    uint64_t point; /* input address where the second halves start */
    uint64_t last;  /* the instruction before it */
    uint32_t rank;  /* its place among the joins of one point */
    uint32_t first_left;
    uint32_t first_right;
};

/* --- Balances ----------------------------------------------------------------------- */

static inline bool input_has_branch(const struct input_piece *piece)
{
    return piece->branch < BAT_TRACE_EXTERNAL_RETURN;
}

/* Count a piece that is not in the result because no end of it is known in the input. */
static inline void input_count_outside(struct bat_balances *balances,
                                       const struct input_piece *piece)
{
    balances->branches.outside += input_has_branch(piece) ? piece->count : 0;
    balances->runs.outside += piece->to == BAT_TRACE_BRANCH_ONLY ? 0 : piece->count;
    balances->mispredictions.outside += piece->mispredictions;
}

/* The pieces of one trace in their order, for samples that are moved one by one. */
struct input_trail {
    struct input_piece *pieces;
    size_t count;
    size_t capacity;
    uint32_t frame; /* where the run of the last trace starts */
};

struct input_joins {
    struct input_trail *trail; /* takes all pieces, which are not in result; or NULL */
    struct bat_profile *result;
    struct bat_to_input_counters *counters;
    struct bat_counts by_branch; /* output address to index in all */
    struct input_join *all;
    uint32_t count;
    size_t capacity;
    struct input_piece *pieces; /* the halves */
    uint32_t *next;             /* for each piece, the next one of its list */
    uint32_t first_free;        /* places of pieces that are done, as a list */
    uint64_t passes_left;       /* of halves through joins */
    uint32_t piece_count;
    size_t piece_capacity;
    size_t next_capacity;
};

struct input_joins input_joins_new(struct bat_profile *result,
                                   struct bat_to_input_counters *counters);
void input_joins_free(struct input_joins *joins);

/* Find the join of a branch of the output; make it if there is none. */
enum bat_code input_joins_find(struct input_joins *joins, uint64_t branch, uint64_t point,
                               uint64_t last, uint32_t *join);

/*
 * Add a piece to the result, or keep it until input_joins_finish() if it is a half. A second half
 * without a run (`to` is BAT_TRACE_BRANCH_ONLY) is dropped: it says nothing.
 */
enum bat_code input_joins_add(struct input_joins *joins, const struct input_piece *piece);

/* Join the halves and add them to the result. */
enum bat_code input_joins_finish(struct input_joins *joins);

/* --- Starts of runs (starts.c) ------------------------------------------------------ */

/* How an execution arrives at the first node of a run, and what the input runs before that. */
enum input_way {
    INPUT_WAY_PLAIN,   /* nothing */
    INPUT_WAY_ENTERS,  /* the code from the function's first instruction to the node */
    INPUT_WAY_RETURNS, /* the code from behind the call to the node */
};

/*
 * Where a run starts whose own record names no branch (a fall-through alone), as learned from a
 * record of a branch alone.
 */
struct input_start {
    uint64_t branch;     /* see struct input_piece */
    uint64_t from;       /* in the input; 0 if the run does not exist there */
    uint32_t start_join; /* see struct input_piece */
    uint8_t way;         /* enum input_way: to the output address */
    uint64_t count;      /* number of branches that came this way */
    uint32_t next;       /* the next start of the same output address */
};

/*
 * Counts of runs that start elsewhere in the input than their own records say, by the output
 * address where the records say that they start.
 */
struct input_starts {
    struct bat_counts by_output; /* output address to index of its first start */
    struct bat_counts by_start;  /* output address and start to index */
    struct input_start *all;
    uint32_t count;
    size_t capacity;
};

struct input_starts input_starts_new(void);
void input_starts_free(struct input_starts *starts);

/* Add a start of runs; start->next is ignored. */
enum bat_code input_starts_add(struct input_starts *starts, uint64_t output,
                               const struct input_start *start);

/*
 * Lower the count of an equal start by up to start->count: the record of those runs says itself
 * where they come from.
 */
void input_starts_remove(struct input_starts *starts, uint64_t output,
                         const struct input_start *start);

/*
 * Take up to count from one start: *start is a copy with the count taken. False if none is left.
 * All starts must have been added.
 */
bool input_starts_take(struct input_starts *starts, uint64_t output, uint64_t count,
                       struct input_start *start);

/*
 * Check that original was opened with binary, and that their machine's code can be followed: fails
 * as bat_profile_to_input().
 */
enum bat_code input_check_pair(const struct bat_binary *binary, const struct bat_original *original,
                               struct bat_error *error);

/* --- Traces (remap_trace.c) --------------------------------------------------------------- */

/* What a trace runs through, for the counters. */
struct input_sights {
    bool is_promoted;   /* a comparison of a promoted indirect call or jump */
    bool is_inlined;    /* code of an inlined call */
    bool is_cut;        /* a step that the input's code does not have: the run is cut there */
    bool is_unsourced;  /* its branch is left out */
    bool is_unlisted;   /* see struct input_node */
    uint32_t run_in;    /* the hot table of the function that its run is in, or BAT_NONE */
    uint32_t branch_in; /* ... of the one that its branch is in */
    uint32_t lost_in;   /* ... of the one where the input is not known at an end of it */
};

/* Of an output function with its fragments: see struct bat_unexplained. */
struct input_explained {
    uint64_t counts;
    uint64_t cut;
    uint64_t left_out;
    uint64_t unlisted;
};

struct input_move {
    const struct bat_profile *profile;
    const struct bat_original *original;
    struct bat_original_walks *walks;
    struct bat_to_input_counters counters;
    struct input_sights sights;                 /* of the current trace */
    const struct bat_function_symbol *function; /* the input function that holds the current run */
    struct input_follow follow;
    struct input_joins joins;
    struct input_starts starts;        /* from records of branches without a run */
    uint64_t nodes_left;               /* that long runs may still go through */
    struct input_explained *explained; /* of each hot table's function */
    struct bat_profile *by_note;       /* traces that are moved by the note alone; NULL at first */
    uint8_t *is_by_note;               /* for each hot table, once there is by_note */
};

/* The sights of a trace that has not begun. */
static inline struct input_sights input_no_sights(void)
{
    return (struct input_sights){.run_in = BAT_NONE, .branch_in = BAT_NONE, .lost_in = BAT_NONE};
}

/*
 * Remap one trace. Traces without a run (`to` is BAT_TRACE_BRANCH_ONLY) must come before traces
 * without a branch, which use what they say of the starts of runs.
 */
enum bat_code input_move_trace(struct input_move *move, const struct input_piece *trace);

/*
 * What a call of the output is in the input, by an address in it: *call is an address in the
 * input's call, and *frame the frame that it is in. BAT_ADDRESS_EXTERNAL if it is not known, and
 * BAT_TRACE_FALLTHROUGH_ONLY if the input does not call there.
 */
enum bat_code input_move_call(struct input_move *move, uint64_t address, uint64_t *call,
                              uint32_t *frame);

/* The input address of the branch at an output address; BAT_ADDRESS_EXTERNAL if not known. */
enum bat_code input_move_source(struct input_move *move, uint64_t address, uint64_t *source);

/* --- Patched entries (patches.c) ------------------------------------------------------ */

/* True if BOLT has patched jumps over entries of functions. */
bool input_has_patches(const struct bat_original *original);

/* Add the traces to *passed without these jumps. */
enum bat_code input_pass_patches(const struct bat_original *original,
                                 const struct bat_counts *traces, struct bat_counts *passed,
                                 struct bat_balances *balances);

/* --- What is explained (explained.c) -------------------------------------------------- */

/* Make room for what is counted. Fails with BAT_ERR_MEMORY. */
enum bat_code input_explained_open(struct input_move *move);
void input_explained_close(struct input_move *move);

/* Count what the sights of a trace, or of a part of it, say about the functions of its ends. */
void input_explain(struct input_move *move, uint64_t count);

/*
 * After all traces: choose the functions that are not explained. If there are any, by_note is set,
 * and all traces must be moved again.
 */
enum bat_code input_by_note_choose(struct input_move *move);

/* Fill the counters of what is explained, and of what is not. */
void input_explained_report(struct input_move *move);

/* --- By the note alone (by_note.c) ---------------------------------------------------- */

/* True if the function of a table is moved by the note alone. */
static inline bool input_is_by_note(const struct input_move *move, uint32_t table)
{
    return move->by_note &&
           move->is_by_note[move->original->binary->map->tables[table].parent] != 0;
}

/* How much of a trace is not moved by the note alone. */
enum input_rest {
    INPUT_REST_ALL,
    INPUT_REST_BRANCH, /* without its run: *rest is a branch alone */
    INPUT_REST_RUN, /* without its branch: *rest comes from an unknown one, or an unknown return */
    INPUT_REST_NOTHING,
};

/* Keep the parts of a trace that are moved by the note alone, if there is by_note. */
enum bat_code input_by_note_keep(struct input_move *move, const struct input_piece *trace,
                                 struct input_piece *rest, enum input_rest *kind);

/* Move what was kept, and add it to the result. Fails as bat_profile_translate(). */
enum bat_code input_by_note_add(struct input_move *move, struct bat_profile *result);

/* --- Folded functions (unfold.c) ----------------------------------------------------- */

/*
 * Where BOLT has folded equal functions into one (-icf), all their samples are in the function that
 * it kept: give them to the functions that were called. Only traces change; the sum of their counts
 * stays the same.
 */
enum bat_code input_unfold(const struct bat_original *original, struct bat_profile *result,
                           struct bat_to_input_counters *counters);

/*
 * Where BOLT has shortened the way of a jump table or of a call of a PLT entry, give the traces of
 * the result the input's way (detours.c). Fails with BAT_ERR_MEMORY, or as bat_code_graph().
 */
enum bat_code input_add_detours(struct input_move *move, struct bat_profile *result);
