/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Judges the records of one function as llvm-bolt does when it reads the profile: spec/profiles.md
 * 7. A function whose records do not fit its code is stale, and llvm-bolt refuses its profile.
 * Internal to the library.
 */
#pragma once

#include "binary/code/graph.h"
#include "records.h"

/* The records whose source is one function. */
struct judged_records {
    struct bat_records *records;
    uint32_t function;
    uint32_t first; /* indices in records->branches: first to end - 1 */
    uint32_t end;
};

/* What becomes of the records in a profile of one form. */
struct verdict {
    bool is_stale;                /* a record does not fit the code */
    enum bat_stale_reason reason; /* if it is stale: what was found first */
    uint32_t record;              /* index in records->branches, or BAT_NONE */
    uint64_t samples;             /* as llvm-bolt counts them */
};

/* The verdicts for both forms. */
struct verdicts {
    bool is_given_up; /* llvm-bolt does not check it: the function is not simple for it */
    struct verdict fdata;
    struct verdict yaml;
};

/* Judge by the graph of the function's code in the input binary. */
enum bat_code judge_by_code(const struct judged_records *judged, const struct bat_code_graph *graph,
                            struct verdicts *verdicts, struct bat_error *error);

/* A function that is stale in one of both forms. */
struct judged_function {
    uint32_t function;
    bool is_by_note;
    struct verdict fdata;
    struct verdict yaml;
};

/* The function is stale for a record, or, with BAT_NONE, as a whole. The first reason stays. */
static inline void judged_refuse(struct verdict *verdict, enum bat_stale_reason reason,
                                 uint32_t record)
{
    if (verdict->is_stale)
        return;
    verdict->is_stale = true;
    verdict->reason = reason;
    verdict->record = record;
}

/* Memory that is used for one function after the other; all zero at first. */
struct judge_scratch {
    void *memory; /* the caller frees it */
    size_t size;
};

/* Judge by the note and the output's code of the function, which must have a table. */
enum bat_code judge_by_note(const struct judged_records *judged, const struct bat_output_flow *flow,
                            struct judge_scratch *scratch, struct verdicts *verdicts,
                            struct bat_error *error);

/* --- Shared by both ------------------------------------------------------------------------- */

/* True for a record of a branch, false for one of a memory access. */
static inline bool judged_is_branch(const uint64_t *item)
{
    return item[0] >> 32 <= BAT_KIND_SYMBOL && item[2] >> 32 <= BAT_KIND_SYMBOL;
}

/* Where YAML has a record; records without a count are left out. */
static inline enum bat_yaml_place judged_yaml_place(const struct bat_records *records, uint32_t i)
{
    return bat_records_branch(records, i)[4] == 0 ? BAT_YAML_NOWHERE
                                                  : (enum bat_yaml_place)records->yaml_places[i];
}
