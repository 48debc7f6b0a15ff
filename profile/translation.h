/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a translation holds, for its parts: translate.c, translate_flow.c. Internal to them. */
#ifndef BAT_PROFILE_TRANSLATION_H
#define BAT_PROFILE_TRANSLATION_H

#include "profile.h"
#include "records.h"

struct translation {
    const struct bat_profile *profile;
    const struct bat_profile *fdata_of;   /* whose fdata records are added */
    const struct bat_original *hashes_of; /* whose note knows the hashes; NULL: the binary's own */
    struct bat_records *records;
    struct bat_counts_batch batch; /* not yet in records->branches */
    uint8_t *touched;              /* for each function: has samples */
    struct bat_error *error;
};

/* An address as the input binary has it. */
struct place {
    uint32_t function; /* fragments are their parents; BAT_NONE outside */
    uint64_t offset;   /* in that function of the input binary; 0 outside */
};

/* One trace with its counters, as an item of the profile's table. */
struct trace {
    uint64_t branch;
    uint64_t from;
    uint64_t to;
    uint64_t count;
    uint64_t mispredictions;
};

static inline const struct bat_map *translation_map(const struct translation *translation)
{
    return translation->records->binary->map;
}

static inline uint32_t translation_function(const struct translation *translation, uint64_t address)
{
    return bat_functions_find(translation->records->functions, address);
}

/* The function that a fragment belongs to; any other function itself. */
uint32_t translation_parent(const struct translation *translation, uint32_t function);

/* Where an address is in the input, by the note alone (BAT.md 8.1). */
struct place translation_place(const struct translation *translation, uint64_t address,
                               bool is_branch_source);

/* Note that a function has samples, `count` of them more. */
void translation_touch(struct translation *translation, uint32_t function, uint64_t count);

/* Add a record. */
enum bat_code translation_add(struct translation *translation, struct place from, struct place to,
                              uint64_t count, uint64_t mispredictions);

/* Add a record from one offset of a function to another, of what is surely no call. */
enum bat_code translation_add_inside(struct translation *translation, uint32_t function,
                                     uint64_t from, uint64_t to, uint64_t count,
                                     uint64_t mispredictions);

/*
 * The record of a branch whose source is in a function with a table, as far as llvm-bolt can use
 * it. from and to are what the note alone says of the trace's branch.
 */
enum bat_code translation_flow_branch(struct translation *translation, const struct trace *trace,
                                      struct place from, struct place to);

/* The records of a fall-through from address from in function, which has a table, to trace->to. */
enum bat_code translation_flow_run(struct translation *translation, uint32_t function,
                                   uint64_t from, const struct trace *trace);

#endif
