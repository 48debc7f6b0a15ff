/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Paths through the input's code, and the memory that holds them. Internal to profile/remap/. */
#pragma once

#include "bat_profile.h"

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

/*
 * A path that is being searched. Its jumps are a list in struct input_paths, so that copies cost
 * nothing; to a copy, jumps can be added at the end.
 */
struct input_path_draft {
    uint64_t last;
    uint32_t jump_count;
    uint32_t first_jump; /* index in drafted, if there are jumps */
    uint32_t last_jump;
    bool found;
};

static inline void input_draft_begin(struct input_path_draft *draft)
{
    *draft = (struct input_path_draft){.found = false};
}

/* An empty path, and one that was not found. */
extern const struct input_path input_path_empty;
extern const struct input_path input_path_unknown;

/* --- Memory ----------------------------------------------------------------------------------- */

/* A jump of a draft. */
struct input_drafted_jump {
    struct input_jump jump;
    uint32_t before; /* index of the jump before it */
};

/* Starts as {0}. */
struct input_paths {
    struct input_path_block *blocks; /* of kept paths */
    struct input_drafted_jump *drafted;
    uint32_t drafted_count;
    size_t drafted_capacity;
    bool has_failed; /* a draft lacks a jump: there was no memory for it */
};

void input_paths_free(struct input_paths *paths);

/* All drafts are done. */
static inline void input_paths_drop_drafts(struct input_paths *paths)
{
    paths->drafted_count = 0;
}

/* Add a jump at the end of a draft; false if there is no memory for it. */
bool input_draft_append(struct input_paths *paths, struct input_path_draft *draft,
                        struct input_jump jump);

/* Add a jump at the start of a draft that has no copies. */
bool input_draft_prepend(struct input_paths *paths, struct input_path_draft *draft,
                         struct input_jump jump);

/*
 * Keep a copy of draft: *kept is owned by paths. Fails with BAT_ERR_MEMORY, also if a jump could
 * not be added to any draft.
 */
enum bat_code input_paths_keep(struct input_paths *paths, const struct input_path_draft *draft,
                               const struct input_path **kept);
