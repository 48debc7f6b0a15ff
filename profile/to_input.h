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

#include "original.h"
#include "profile.h"

/* --- The input's flow of control (to_input_flow.c) ------------------------------------------ */

#define INPUT_PATH_JUMPS 16u

/* The frame of code that BOLT has not inlined: the function's own. */
#define INPUT_ROOT_FRAME 0u

/* A call that BOLT has inlined: code in it returns to the caller's. */
struct input_frame {
    uint32_t caller;     /* frame */
    uint32_t depth;      /* number of frames below */
    uint64_t returns_to; /* 0: of the root frame and of tail calls, which the output returns from */
};

/* Where an execution of the input is: before the instruction at `at`. */
struct input_state {
    uint64_t at; /* 0: not known */
    uint32_t frame;
};

struct input_jump {
    uint64_t from; /* the branch, call or return */
    uint64_t to;
};

/* A way through the input: fall-throughs and jumps, inlined calls and their returns among them. */
struct input_path {
    uint64_t last; /* the instruction before the end, if it is reached by falling through */
    uint32_t jump_count;
    bool found;
    bool falls_last; /* the end is reached by falling through */
    struct input_jump jumps[INPUT_PATH_JUMPS];
};

/* A block of an input function that BAT knows. */
struct input_block {
    uint64_t address;
    bool is_live; /* some of its code is in the output */
};

/* The blocks of an input function. */
struct input_function {
    struct input_block *blocks; /* ascending */
    uint32_t count;
    bool is_read;
};

struct input_flow {
    const struct bat_original *original;
    struct input_function *functions; /* of the hot tables */
    struct input_frame *frames;
    uint32_t frame_count;
    uint32_t frame_capacity;
    struct bat_counts frames_by_call; /* caller, returns_to: index in frames */
    struct input_decoded *decoded;    /* instructions of the input, by address */
};

enum bat_code input_flow_open(struct input_flow *flow, const struct bat_original *original);
void input_flow_close(struct input_flow *flow);

/* Read the blocks that the note knows of a hot table's function, once. */
enum bat_code input_flow_read(struct input_flow *flow, uint32_t hot);

/* True if such a block starts at an input address. They have been read. */
bool input_flow_is_block(const struct input_flow *flow, uint32_t hot, uint64_t address);

/* The instruction at an input address; false if there is none. */
bool input_flow_decode(struct input_flow *flow, uint64_t address,
                       struct bat_instruction *instruction);

/* The frame of a call in code of frame caller; BAT_NONE if calls are nested too deep. */
enum bat_code input_flow_enter(struct input_flow *flow, uint32_t caller, uint64_t returns_to,
                               uint32_t *frame);

/* True if a call to address leaves the binary, by a PLT entry; *leaves is the jump that does. */
bool input_flow_is_outside(const struct input_flow *flow, uint64_t address, uint64_t *leaves);

/* The input function whose own code a call to address would run, with its size; false for PLTs. */
bool input_flow_has_code(const struct input_flow *flow, uint64_t address);

/*
 * The way from one state to another in the function of a hot table, over as few blocks as possible.
 * It goes through code that can have no trace in the output: calls that are inlined, blocks that
 * have no code. must_move: it is not empty, even if both states are the same. A way that is not
 * found is none; fails with BAT_ERR_MEMORY.
 */
enum bat_code input_flow_path(struct input_flow *flow, uint32_t hot, struct input_state from,
                              struct input_state to, bool must_move, struct input_path *path);

/* --- The output's code beside the input's (to_input_follow.c) ----------------------------------
 */

/*
 * A place in the output: where a block starts, a branch or call stands, or one returns to. Its
 * paths are ways of the input.
 */
struct input_node {
    uint64_t address;         /* in the output */
    uint64_t target;          /* of a direct branch or call, in the output */
    uint64_t source;          /* the input's instruction that this one is; 0 if it is BOLT's own */
    struct input_state state; /* of the input when the output comes here */
    struct input_state taken; /* ... after the branch, before target's state */
    struct input_state fall;  /* ... after the instruction; without a branch as state */
    struct input_state target_state;
    uint64_t tail_call;  /* the jump that a branch out of the function stands for, or 0 */
    uint32_t before;     /* path: from state to the instruction; index in paths */
    uint32_t fall_path;  /* from there to the state of the next node */
    uint32_t taken_path; /* of a branch inside the function: to the state of its target; with
                            tail_call, to that */
    uint32_t enter_path; /* of a fragment's first: from the function's start to state */
    uint8_t kind;        /* enum bat_instruction_kind; OTHER if only a block starts here */
    uint8_t length;
    bool is_fixed;       /* the note knows the block that starts here */
    bool is_inner;       /* a branch to a place in the same function */
    bool is_first;       /* of its fragment */
    bool is_early;       /* state is one before it: the input goes on to it as the output does */
    bool is_late;        /* state is that of the input's next decision */
    bool is_leader;      /* a branch goes here, or stands before it */
    uint64_t jump;       /* the input's branch or call that the next two are about */
    bool jumps_if_taken; /* it jumps in the input if this one is taken */
    bool jumps_if_not;   /* ... if it is not */
    bool falls;          /* the next node follows in the same fragment */
};

/* The nodes of an output function, all its fragments', by ascending address. */
struct input_nodes {
    struct input_node *all;
    uint32_t count;
    bool is_read;
};

struct input_follow {
    struct input_flow flow;
    struct input_nodes *functions; /* of the hot tables */
    struct input_path *paths;      /* the first is empty and found, the second not found */
    uint32_t path_count;
    uint32_t path_capacity;
};

#define INPUT_PATH_EMPTY 0u
#define INPUT_PATH_UNKNOWN 1u

enum bat_code input_follow_open(struct input_follow *follow, const struct bat_original *original);
void input_follow_close(struct input_follow *follow);

/*
 * The last node at or below an address of the output, in the same fragment, which belongs to table
 * and holds address; NULL if there is none. Owned by follow. Reads the function's code once.
 */
enum bat_code input_follow_node(struct input_follow *follow, uint32_t table, uint64_t address,
                                const struct input_node **node);

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

struct input_move {
    const struct bat_profile *profile;
    const struct bat_original *original;
    struct bat_original_walks *walks;
    struct bat_to_input_counters counters;
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

#endif
