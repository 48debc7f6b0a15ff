/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Ways through the input's code, and where they are kept. Internal to to_input*.c. */
#ifndef BAT_PROFILE_TO_INPUT_PATH_H
#define BAT_PROFILE_TO_INPUT_PATH_H

#include "bat_profile.h"
#include "to_input_flow.h"

/* Ways with more jumps are not found. */
#define INPUT_PATH_JUMPS 16u

/* From or to BAT_ADDRESS_EXTERNAL: out of the binary, and back. */
struct input_jump {
    uint64_t from; /* the branch, call or return */
    uint64_t to;
};

/* A way through the input: fall-throughs and jumps, inlined calls and their returns among them. */
struct input_path {
    uint64_t last; /* the instruction before the end, if it is reached by falling through */
    uint32_t jump_count;
    bool found;
    struct input_jump jumps[];
};

/* The same while it is looked for. */
struct input_path_draft {
    uint64_t last;
    uint32_t jump_count;
    bool found;
    struct input_jump jumps[INPUT_PATH_JUMPS];
};

/* A way without anything on it, and one that is not found. */
extern const struct input_path input_path_empty;
extern const struct input_path input_path_unknown;

/* --- Paths that are kept ---------------------------------------------------------------------- */

/* Starts as {0}. */
struct input_paths {
    struct input_path_block *blocks;
};

void input_paths_free(struct input_paths *paths);

/* Keep a path: *kept is a copy of draft, owned by paths. Fails with BAT_ERR_MEMORY. */
enum bat_code input_paths_keep(struct input_paths *paths, const struct input_path_draft *draft,
                               const struct input_path **kept);

#endif
