/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Functions that call stacks lack, because they ended with a jump to another function: found by the
 * calls and jumps that were sampled.
 */
#pragma once

#include "probe_functions.h"
#include "unwind.h"

/* A sampled call, or a jump from one function to another. */
struct tail_edge {
    uint64_t source; /* the instruction */
    uint32_t from;   /* function; of calls 0 */
    uint32_t to;     /* function */
};

struct tail_calls {
    const struct probe_functions *functions;
    struct tail_edge *calls; /* ascending by source */
    size_t call_count;
    size_t call_capacity;
    struct tail_edge *jumps; /* ascending by from, then by source */
    size_t jump_count;
    size_t jump_capacity;
    struct bat_counts known; /* call, address: first of found, how many */
    uint64_t *found;
    size_t found_count;
    size_t found_capacity;
};

/* All samples have been added to unwinder, and its branches are sorted. Free it with
 * tail_calls_free(), in any case. */
enum bat_code tail_calls_new(struct tail_calls *tail, struct unwinder *unwinder,
                             const struct probe_functions *functions);
void tail_calls_free(struct tail_calls *tail);

/*
 * The jumps by which execution came from a call to the function around an address, if there is one
 * way alone: *jumps has *count of them, none if the call leads there, or nothing is known. They are
 * valid until the next question.
 */
enum bat_code tail_calls_between(struct tail_calls *tail, uint64_t call, uint64_t address,
                                 const uint64_t **jumps, size_t *count);
