/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What llvm-bolt would say of one function's records: spec/profiles.md 7. Internal to the library.
 */
#ifndef BAT_PROFILE_JUDGE_H
#define BAT_PROFILE_JUDGE_H

#include "code_graph.h"
#include "records.h"

/* The records of a function: its own, as a source. */
struct judged_records {
    struct bat_records *records;
    uint32_t function;
    uint32_t first; /* positions in records->branches */
    uint32_t end;
    bool is_yaml; /* as YAML has them; else as fdata has */
};

struct verdict {
    bool is_given_up; /* llvm-bolt does not judge it */
    bool is_stale;
    uint64_t samples; /* as llvm-bolt counts them */
};

/* By the function's code in the input binary. */
enum bat_code judge_by_code(const struct judged_records *of, const struct bat_code_graph *graph,
                            struct verdict *verdict, struct bat_error *error);

/* By the note and the code that BOLT made of the function, which has a table. */
enum bat_code judge_by_note(const struct judged_records *of, struct verdict *verdict,
                            struct bat_error *error);

/* --- What both ask for ---------------------------------------------------------------------- */

/* A record of branches: kinds of memory accesses are others. */
static inline bool judged_is_branch(const uint64_t *item)
{
    return item[0] >> 32 <= BAT_KIND_SYMBOL && item[2] >> 32 <= BAT_KIND_SYMBOL;
}

/* How a record counts in YAML: those without a count are left out. */
static inline enum bat_yaml_place judged_yaml_place(const struct bat_records *records, uint32_t i)
{
    return bat_counts_item(&records->branches, i)[4] == 0
               ? BAT_YAML_NOWHERE
               : (enum bat_yaml_place)records->yaml_places[i];
}

/*
 * The input blocks that the note knows of a function with a table, to be freed; *count may be 0.
 * NULL if there is no memory.
 */
struct bat_block *judged_blocks(const struct judged_records *of, uint32_t *count);

#endif
