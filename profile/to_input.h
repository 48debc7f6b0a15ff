/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How a profile of the BOLTed binary becomes one of the input binary. Internal to to_input*.c.
 *
 * A trace of the BOLTed layout goes through a row of blocks. Each step from one block to the next,
 * by falling through or by a branch, is a step in the input's flow of control too, which its code
 * tells: there it may be a branch or a fall-through, whatever it is in the BOLTed binary, or
 * several, where BOLT has left out blocks between the two. A trace is cut at steps that branch in
 * the input; and where BOLT's branch is a fall-through there, what ran before it and what ran
 * after it are put together.
 */
#ifndef BAT_PROFILE_TO_INPUT_H
#define BAT_PROFILE_TO_INPUT_H

#include "profile.h"
#include "to_input_follow.h"

/* --- Pieces of traces (to_input_join.c) ------------------------------------------------------ */

/* A run of the input's code with the branch that leads to it. */
struct input_piece {
    uint64_t branch;
    uint64_t from;
    uint64_t to;
    uint64_t count;
    uint64_t mispredictions;
    uint32_t start_join; /* the join that it is the second half of, or BAT_NONE */
    uint32_t end_join;   /* the join that it is the first half of, or BAT_NONE: then to counts */
};

/* A branch of the output that is a fall-through in the input. */
struct input_join {
    uint64_t point; /* where the second halves start */
    uint64_t last;  /* the instruction before it */
    uint32_t first_left;
    uint32_t first_right;
};

struct input_joins {
    struct bat_profile *result;
    struct bat_to_input_counters *counters;
    struct bat_counts by_branch; /* output address: index in all */
    struct input_join *all;
    uint32_t count;
    uint32_t capacity;
    struct input_piece *pieces; /* halves */
    uint32_t *next;             /* of each piece: the next one of its list */
    uint32_t piece_count;
    uint32_t piece_capacity;
};

struct input_joins input_joins_new(struct bat_profile *result,
                                   struct bat_to_input_counters *counters);
void input_joins_free(struct input_joins *joins);

/* The join of a branch of the output, new if need be. */
enum bat_code input_joins_find(struct input_joins *joins, uint64_t branch, uint64_t point,
                               uint64_t last, uint32_t *join);

/*
 * Add a piece to the result, or keep it until its other half is known. A second half without a run
 * (to is BAT_TRACE_BRANCH_ONLY) says nothing.
 */
enum bat_code input_joins_add(struct input_joins *joins, const struct input_piece *piece);

/* Put halves together and add them to the result. */
enum bat_code input_joins_finish(struct input_joins *joins);

/* --- Other beginnings (to_input_starts.c) ------------------------------------------------------
 */

/* How a run comes to its first node, and what the input does before that. */
enum input_way {
    INPUT_WAY_PLAIN,   /* nothing */
    INPUT_WAY_ENTERS,  /* goes from the function's first instruction to it */
    INPUT_WAY_RETURNS, /* goes from behind the call to it */
};

/* Where a run begins whose record does not tell of the branch before it. */
struct input_start {
    uint64_t branch;     /* see struct input_piece */
    uint64_t from;       /* in the input; 0 for runs that are none there */
    uint32_t start_join; /* see struct input_piece */
    uint8_t way;         /* enum input_way: to the output address */
    uint64_t count;      /* how many branches came this way */
    uint32_t next;       /* another one of the same output address */
};

/*
 * How often runs begin elsewhere than where their records alone would make them begin, by an output
 * address that is in the records.
 */
struct input_starts {
    struct bat_counts by_output; /* output address: index of its first start */
    struct input_start *all;
    uint32_t count;
    uint32_t capacity;
};

struct input_starts input_starts_new(void);
void input_starts_free(struct input_starts *starts);

/* Add a start of runs; start->next is set. */
enum bat_code input_starts_add(struct input_starts *starts, uint64_t output,
                               const struct input_start *start);

/* Take up to start->count of this very start away: those runs are told with where they come from.
 */
void input_starts_remove(struct input_starts *starts, uint64_t output,
                         const struct input_start *start);

/* Take up to count of one start, filled with how many there are; false if there are none left. */
bool input_starts_take(struct input_starts *starts, uint64_t output, uint64_t count,
                       struct input_start *start);

/* --- Traces (to_input_trace.c) --------------------------------------------------------------- */

/* What is seen of a trace while it is moved. */
struct input_sights {
    bool is_promoted;  /* it runs through a test of a promoted target */
    bool is_inlined;   /* ... through code of an inlined call */
    bool is_cut;       /* its run is cut where the input's code does not lead on */
    bool is_unsourced; /* its branch is left out */
};

struct input_move {
    const struct bat_profile *profile;
    const struct bat_original *original;
    struct bat_original_walks *walks;
    struct bat_to_input_counters counters;
    struct input_sights sights;                 /* of the trace at hand */
    const struct bat_function_symbol *function; /* of the input: the run at hand is in it */
    struct input_follow follow;
    struct input_joins joins;
    struct input_starts starts; /* by where runs begin: branches that came without them */
};

/*
 * Move one trace. Those without a run (to is BAT_TRACE_BRANCH_ONLY) must come before those without
 * a branch.
 */
enum bat_code input_move_trace(struct input_move *move, const struct input_piece *trace);

/* Where the branch at an output address is in the input; 0 if that is not known. */
enum bat_code input_move_source(struct input_move *move, uint64_t address, uint64_t *source);

/* --- Folded functions (to_input_unfold.c) ------------------------------------------------------
 */

/*
 * Give the samples of functions that BOLT has folded into one (-icf), all moved to the one that it
 * kept, to those that were called. Only traces change, their counts add up to the same.
 */
enum bat_code input_unfold(const struct bat_original *original, struct bat_profile *result,
                           struct bat_to_input_counters *counters);

#endif
