/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The parts of a YAML profile as text: of profiles in memory, and of records that are translated,
 * function by function. Internal to the library.
 */
#pragma once

#include "bat_yaml_profile.h"
#include "support/text_writer.h"

/*
 * Write a C string as LLVM's YAML writer does: without quotes where it reads back as the same
 * string, in single quotes, or in double quotes if it has characters that need escapes or are not
 * ASCII. A byte that is not UTF-8, for which YAML has no form, is written as four characters such
 * as \x9b.
 */
void bat_yaml_string(struct bat_text_writer *text, const char *string);

struct bat_yaml_group;

/* Where it is written to. Each thread has its own; groups are to be freed. */
struct bat_yaml_out {
    struct bat_text_writer *text;
    const struct bat_yaml_profile *profile; /* without functions, if they are not in memory */
    const uint32_t *guids;                  /* bat_yaml_guids_in_order(profile) */
    bool is_in_lines;              /* lists are not broken: each has a line, however long it is */
    size_t column;                 /* in a list */
    struct bat_yaml_group *groups; /* of a block's probes */
    size_t group_capacity;
};

/* The indices of profile->guids, ascending by GUID, to be freed. NULL if there is no memory. */
uint32_t *bat_yaml_guids_in_order(const struct bat_yaml_profile *profile);

/* Write the header, and the key of the functions, of which there are `count`. */
void bat_yaml_write_header(struct bat_yaml_out *out, uint32_t count);

/* Write a function without its blocks and tree, which follow. */
void bat_yaml_write_head(struct bat_yaml_out *out,
                         const struct bat_yaml_profile_function *function);

/* Write a block, with the key of the blocks if it is the first. False if there is no memory. */
bool bat_yaml_write_block(struct bat_yaml_out *out, const struct bat_yaml_profile_block *block,
                          bool is_first);

/* Write the tree of a function, if it has one. */
void bat_yaml_write_tree(struct bat_yaml_out *out,
                         const struct bat_yaml_profile_function *function);

/* Write the profile's tables of pseudo probes. False if there is no memory. */
bool bat_yaml_write_tables(struct bat_yaml_out *out);
