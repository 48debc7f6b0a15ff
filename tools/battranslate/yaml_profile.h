/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A YAML profile of BOLT in memory (spec/profiles.md 4), and how it is read and written. */
#ifndef BAT_TOOLS_BATTRANSLATE_YAML_PROFILE_H
#define BAT_TOOLS_BATTRANSLATE_YAML_PROFILE_H

#include "bat_output.h"

/* A call (at: its offset in the block) or a successor (at: its block). */
struct yaml_edge {
    uint64_t at;
    uint32_t function; /* calls: fid, 0 if not known */
    uint32_t entry;    /* calls: disc */
    uint64_t count;
    uint64_t mispredictions;
};

struct yaml_edges {
    struct yaml_edge *all;
    uint32_t count;
    uint32_t capacity;
};

struct yaml_profile_block {
    uint32_t index;
    uint32_t instructions;
    uint64_t hash;
    uint64_t executions;
    uint64_t events;
    struct yaml_edges calls;
    struct yaml_edges successors;
};

struct yaml_profile_function {
    char *name;
    uint32_t number; /* fid */
    uint32_t block_count;
    uint64_t hash;
    uint64_t executions;
    uint64_t from_outside; /* extern */
    struct yaml_profile_block *blocks;
    uint32_t count; /* of blocks */
    uint32_t capacity;
};

enum yaml_flag { YAML_FLAG_LBR = 1, YAML_FLAG_SAMPLE = 2, YAML_FLAG_MEMEVENT = 4 };

/* Strings are owned, and never NULL after reading. */
struct yaml_profile {
    uint64_t version;
    char *binary;
    char *build_id;
    char *origin;
    char *events;
    uint32_t flags; /* enum yaml_flag */
    bool is_dfs_order;
    bool has_xxh3; /* the hashes are xxh3, not std-hash */
    struct yaml_profile_function *functions;
    uint32_t count; /* of functions */
    uint32_t capacity;
};

/* Free what a profile, a function or a block holds. */
void yaml_profile_free(struct yaml_profile *profile);
void yaml_profile_free_function(struct yaml_profile_function *function);
void yaml_profile_free_block(struct yaml_profile_block *block);

/* As bat_grow(), but the least that it allocates is little: most lists are short. */
bool yaml_profile_grow(void *list, uint32_t *capacity, uint32_t count, size_t size);

/*
 * Read the text of a profile: YAML in the layout that LLVM and battranslate write. Unknown keys are
 * skipped. *profile is to be freed in any case. Errors have line and column: BAT_ERR_SYNTAX,
 * BAT_ERR_MEMORY. Linear in the text.
 */
enum bat_code yaml_profile_read(const char *text, size_t size, struct yaml_profile *profile,
                                struct bat_error *error);

/* True for text that begins as YAML does. */
bool yaml_profile_is(const char *text, size_t size);

/* Read the file at path, or standard input ("-"). Also BAT_ERR_MISMATCH for another form. */
enum bat_code yaml_profile_read_file(const char *path, struct yaml_profile *profile,
                                     struct bat_error *error);

/* Write a profile as LLVM's YAML writer does, with lists broken behind column 70. */
enum bat_code yaml_profile_write(const struct yaml_profile *profile, struct bat_output *output,
                                 struct bat_error *error);

/* Compare as qsort() wants it: edges by place, fid and disc; blocks by index; functions. */
int yaml_by_place(const void *left, const void *right);
int yaml_by_index(const void *left, const void *right);
int yaml_by_name(const void *left, const void *right);
int yaml_by_number(const void *left, const void *right); /* then by name */

/* qsort(), but linear if all is sorted already. */
void yaml_profile_sort(void *all, uint32_t count, size_t size,
                       int (*compare)(const void *, const void *));

/* Find a function by its number. They must be sorted by it. NULL if there is none. */
const struct yaml_profile_function *yaml_profile_find(const struct yaml_profile *profile,
                                                      uint32_t number);

/* BAT_ERR_MISMATCH if a function, or a block of it, is not that of the profiles before. */
enum bat_code yaml_profile_check_function(const struct yaml_profile_function *function,
                                          const struct yaml_profile_function *other,
                                          struct bat_error *error);
enum bat_code yaml_profile_check_block(const struct yaml_profile_block *block,
                                       const struct yaml_profile_block *other, const char *function,
                                       struct bat_error *error);

/*
 * Sort the blocks of a function and their edges, and add up equal ones. Fails with BAT_ERR_RANGE
 * for sums of 2^64 and more, BAT_ERR_MISMATCH for blocks that differ, BAT_ERR_MEMORY.
 */
enum bat_code yaml_profile_sort_function(struct yaml_profile_function *function,
                                         struct bat_error *error);

/*
 * Add up a sorted function and another of its name, which loses its blocks. Fails as above, and
 * with BAT_ERR_SYNTAX for a block that the function cannot have.
 */
enum bat_code yaml_profile_add_function(struct yaml_profile_function *function,
                                        struct yaml_profile_function *more,
                                        struct bat_error *error);

#endif
