/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Paths through the input's code, and the memory that holds them. Internal to profile/remap/. */
#ifndef BAT_PROFILE_REMAP_PATH_H
#define BAT_PROFILE_REMAP_PATH_H

#include "bat_profile.h"
#include "input_flow.h"

/* A path with more jumps counts as not found: an inlined call has two, its return included. */
#define INPUT_PATH_JUMPS 128u

/* BAT_ADDRESS_EXTERNAL as `to` leaves the binary, as `from` comes back. */
struct input_jump {
    uint64_t from; /* the branch, call or return */
    uint64_t to;
};

/* A path through the input: jumps, inlined calls and their returns, with fall-throughs between. */
struct input_path {
    uint64_t last; /* the instruction before the end, if a fall-through reaches the end */
    uint32_t jump_count;
    bool found;
    struct input_jump jumps[];
};

/* A path of fixed size, filled by a search. */
struct input_path_draft {
    uint64_t last;
    uint32_t jump_count;
    bool found;
    struct input_jump jumps[INPUT_PATH_JUMPS];
};

/* An empty path, and one that was not found. */
extern const struct input_path input_path_empty;
extern const struct input_path input_path_unknown;

/* --- Kept paths ------------------------------------------------------------------------------- */

/* Starts as {0}. */
struct input_paths {
    struct input_path_block *blocks;
};

void input_paths_free(struct input_paths *paths);

/* Keep a copy of draft: *kept is owned by paths. Fails with BAT_ERR_MEMORY. */
enum bat_code input_paths_keep(struct input_paths *paths, const struct input_path_draft *draft,
                               const struct input_path **kept);

#endif
