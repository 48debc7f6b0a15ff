/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Ways through the input's code, and where they are kept. Internal to to_input*.c. */
#ifndef BAT_PROFILE_TO_INPUT_PATH_H
#define BAT_PROFILE_TO_INPUT_PATH_H

#include "bat_profile.h"
#include "to_input_flow.h"

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
    struct input_jump jumps[INPUT_PATH_JUMPS];
};

/* --- Paths that are kept ---------------------------------------------------------------------- */

struct input_paths {
    struct input_path *all; /* the first is empty and found, the second not found */
    uint32_t count;
    uint32_t capacity;
};

#define INPUT_PATH_EMPTY 0u
#define INPUT_PATH_UNKNOWN 1u

enum bat_code input_paths_open(struct input_paths *paths);
void input_paths_close(struct input_paths *paths);

/* Keep a copy of a path; *number is its index in all. */
enum bat_code input_paths_keep(struct input_paths *paths, const struct input_path *path,
                               uint32_t *number);

#endif
