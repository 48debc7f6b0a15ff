/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Functions that call stacks lack, because they ended with a jump to another function: found by the
 * calls and jumps that were sampled.
 */
#pragma once

#include "bat_original.h"
#include "bat_probes.h"
#include "probe_functions.h"
#include "ranges.h"

/* The caller of code that nothing is known of. */
#define CONTEXT_ROOT 0u

/* A caller, as seen from its callee. */
struct context {
    uint64_t behind; /* the address behind the call; BAT_ADDRESS_EXTERNAL: in another file */
    uint32_t caller; /* the context of the code that calls; less than its own number */
};

struct unwound_run;
struct probe_functions;

struct unwinder {
    const struct bat_elf *elf;
    const struct bat_probes
        *probes; /* tell which of the instructions before an address is a call */
    struct code_map code;
    struct context *contexts; /* the first is CONTEXT_ROOT */
    uint32_t context_count;
    size_t context_capacity;
    struct bat_counts by_call;  /* caller, address behind the call: index in contexts, 0 */
    struct bat_counts ranges;   /* first instruction, last instruction, context: count, 0 */
    struct bat_counts branches; /* source, target, context: count, 0 */
    struct bat_counts_batch range_batch; /* to be added to these: unwinder_flush() */
    struct bat_counts_batch branch_batch;
    struct bat_counts calls;    /* address behind a call: the call, true if it was sampled */
    struct bat_counts runs;     /* cache; branch, first, last instruction: what is known of them */
    struct unwound_run *listed; /* of one sample */
    size_t listed_capacity;
    uint64_t samples;
    uint64_t cut; /* samples of which older branches do not fit the call stack's code */
};

/* elf and probes must outlive the result. Free it with unwinder_free(), in any case. */
enum bat_code unwinder_new(struct unwinder *unwinder, const struct bat_elf *elf,
                           const struct bat_probes *probes, struct bat_error *error);
void unwinder_free(struct unwinder *unwinder);

/* Fails with BAT_ERR_MEMORY or BAT_ERR_RANGE. */
enum bat_code unwinder_add(struct unwinder *unwinder, const struct bat_call_chain *sample);

/* After all samples: complete ranges and branches. The same errors. */
enum bat_code unwinder_flush(struct unwinder *unwinder);

/* The address of the call before an address, which can be that of a context; 0: there is none. */
enum bat_code unwinder_call(struct unwinder *unwinder, uint64_t behind, uint64_t *call);

/* The instruction at an address; of kind BAT_INSTRUCTION_OTHER if there is none. */
struct bat_instruction unwinder_instruction(const struct unwinder *unwinder, uint64_t address);

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
