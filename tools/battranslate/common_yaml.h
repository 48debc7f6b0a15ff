/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What YAML profiles agree on: spec/compare.md, 5. */
#ifndef BAT_TOOLS_BATTRANSLATE_COMMON_YAML_H
#define BAT_TOOLS_BATTRANSLATE_COMMON_YAML_H

#include "yaml_profile.h"

/*
 * Sort a profile that was read: functions by name, blocks by index, edges; equal edges are added
 * up. BAT_ERR_SYNTAX for a function or a block that is there twice, BAT_ERR_RANGE for sums of 2^64.
 */
enum bat_code common_yaml_sort(struct yaml_profile *profile, struct bat_error *error);

/*
 * Keep of a sorted profile what another sorted one has, too, each with the lower count. The result
 * is sorted. BAT_ERR_MISMATCH if they are not of the same kind and build.
 */
enum bat_code common_yaml_keep(struct yaml_profile *profile, const struct yaml_profile *from,
                               struct bat_error *error);

/*
 * Put functions into the order in which they are written, by number; leave out calls of functions
 * that were not kept, and blocks without counts. Returns the number of edges, calls and samples.
 */
uint64_t common_yaml_finish(struct yaml_profile *profile);

#endif
