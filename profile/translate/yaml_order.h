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

/* Compare the functions of two indices by name, for functions with a table. */
int bat_yaml_compare_functions(const struct bat_records *records, uint32_t left, uint32_t right);

/*
 * Sort calls, which are indices in records->branches and from one function: by offset, then by the
 * name of the target, an unknown one first, then by the target's offset.
 */
void bat_yaml_sort_calls(const struct bat_records *records, uint32_t *calls, uint32_t count);

#endif
