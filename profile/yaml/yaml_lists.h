/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The lists of a YAML profile: growing, sorting, adding up. Internal to the library. */
#pragma once

#include "bat_yaml_profile.h"

/* Free what a function or a block holds. */
void bat_yaml_profile_free_function(struct bat_yaml_profile_function *function);
void bat_yaml_profile_free_block(struct bat_yaml_profile_block *block);

/* True for a call that only has a probe, and no count. */
static inline bool bat_yaml_is_uncounted(const struct bat_yaml_edge *call)
{
    return call->probe != 0 && call->function == 0 && call->count == 0;
}

/* As bat_grow(), but the least that it allocates is little: most lists are short. */
bool bat_yaml_profile_grow(void *list, uint32_t *capacity, uint32_t count, size_t size);

/* Compare as qsort() wants it: edges by place, fid and disc; blocks by index; functions. */
int bat_yaml_by_place(const void *left, const void *right);
int bat_yaml_by_index(const void *left, const void *right);
int bat_yaml_by_name(const void *left, const void *right);
int bat_yaml_by_number(const void *left, const void *right); /* then by name */

/* qsort(), but linear if all is sorted already. */
void bat_yaml_sort_list(void *all, uint32_t count, size_t size,
                        int (*compare)(const void *, const void *));

/* Find a function by its number. They must be sorted by it. NULL if there is none. */
const struct bat_yaml_profile_function *
bat_yaml_profile_find(const struct bat_yaml_profile *profile, uint32_t number);

/* BAT_ERR_MISMATCH if a function, or a block of it, is not that of the profiles before. */
enum bat_code bat_yaml_profile_check_function(const struct bat_yaml_profile_function *function,
                                              const struct bat_yaml_profile_function *other,
                                              struct bat_error *error);
enum bat_code bat_yaml_profile_check_block(const struct bat_yaml_profile_block *block,
                                           const struct bat_yaml_profile_block *other,
                                           const char *function, struct bat_error *error);

/*
 * Add the tables of probes of another profile, which may be empty. BAT_ERR_MEMORY. n log n.
 */
enum bat_code bat_yaml_profile_add_tables(struct bat_yaml_profile *profile,
                                          const struct bat_yaml_profile *more,
                                          struct bat_error *error);

/*
 * Make the inline trees of two functions one, and give the probes of both its nodes. If the
 * functions at the roots differ, more loses its probes. BAT_ERR_MEMORY. n log n.
 */
enum bat_code bat_yaml_profile_join_trees(struct bat_yaml_profile_function *function,
                                          struct bat_yaml_profile_function *more,
                                          struct bat_error *error);

/* Take the probes from a function. */
void bat_yaml_profile_drop_probes(struct bat_yaml_profile_function *function);

/* Sort the probes of a block, and add those of another one, sorted, that it has not yet. */
enum bat_code bat_yaml_profile_add_probes(struct bat_yaml_profile_block *block,
                                          const struct bat_yaml_profile_block *more,
                                          struct bat_error *error);
void bat_yaml_profile_sort_probes(struct bat_yaml_profile_block *block);

/* Of calls in order: leave out those without counts where others are, which get their probes. */
void bat_yaml_profile_place_probes(struct bat_yaml_edges *calls);

/*
 * Sort the blocks of a function and their edges, and add up equal ones. Fails with BAT_ERR_RANGE
 * for sums of 2^64 and more, BAT_ERR_MISMATCH for blocks that differ, BAT_ERR_MEMORY.
 */
enum bat_code bat_yaml_profile_sort_function(struct bat_yaml_profile_function *function,
                                             struct bat_error *error);

/*
 * Add up a sorted function and another of its name, which loses its blocks. Fails as above, and
 * with BAT_ERR_SYNTAX for a block that the function cannot have.
 */
enum bat_code bat_yaml_profile_add_function(struct bat_yaml_profile_function *function,
                                            struct bat_yaml_profile_function *more,
                                            struct bat_error *error);
