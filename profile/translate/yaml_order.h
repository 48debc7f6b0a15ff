/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The numbers and the order that perf2bolt's YAML gives to functions and calls. Internal. */
#ifndef BAT_PROFILE_TRANSLATE_YAML_ORDER_H
#define BAT_PROFILE_TRANSLATE_YAML_ORDER_H

#include "records.h"

/*
 * The number (fid) of each function, from 1: first the functions of symbols by address, then PLT
 * entries section by section, each before its section's start, then those that .eh_frame alone
 * tells. The caller frees the array; NULL if there is no memory.
 */
uint32_t *bat_yaml_numbers(const struct bat_records *records);

/* The part of a function's name that decides where a function with a table is in the file. */
struct bat_yaml_key {
    const char *name;
    size_t size;
};

struct bat_yaml_key bat_yaml_key(const char *name);

/* Compare two of them as memcmp() does; if they are equal, the addresses decide. */
int bat_yaml_compare_keys(const struct bat_yaml_key *left, const struct bat_yaml_key *right);

/*
 * Sort calls, which are indices in records->branches and from one function: by offset, then by the
 * name of the target, an unknown one first, then by the target's offset.
 */
void bat_yaml_sort_calls(const struct bat_records *records, uint32_t *calls, uint32_t count);

#endif
