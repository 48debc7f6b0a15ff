/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Adding up profiles for llvm-bolt, as merge-fdata does: fdata, or YAML. Sums are sorted.
 */
#ifndef BAT_MERGE_H
#define BAT_MERGE_H

#include "bat_yaml_profile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- fdata ----------------------------------------------------------------------------------- */

/* A sum of fdata. One thread may use it. */
struct bat_merged_fdata;

/* An empty sum, to be freed with bat_merged_fdata_free(). NULL if there is no memory. */
BAT_API struct bat_merged_fdata *bat_merged_fdata_new(void);

/* NULL is allowed. */
BAT_API void bat_merged_fdata_free(struct bat_merged_fdata *merged);

/*
 * Add the fdata at path, which may have no records. Errors in the text have line and column. Fails
 * with BAT_ERR_SYNTAX, BAT_ERR_IO, BAT_ERR_MEMORY, BAT_ERR_RANGE for sums of 2^64 and more, and
 * BAT_ERR_MISMATCH for a file with other header lines than the files before. After a failure the
 * sum can only be freed.
 */
BAT_API enum bat_code bat_merged_fdata_add(struct bat_merged_fdata *merged, const char *path,
                                           struct bat_error *error);

/*
 * Write the lines, sorted by their text: branches or basic samples, loads. The events are sorted,
 * too. Fails with BAT_ERR_MEMORY, and as bat_output_write().
 */
BAT_API enum bat_code bat_merged_fdata_write(const struct bat_merged_fdata *merged,
                                             struct bat_output *output, struct bat_error *error);

/* --- YAML ------------------------------------------------------------------------------------ */

/* A sum of YAML profiles. One thread may use it. */
struct bat_merged_yaml;

/* An empty sum, to be freed with bat_merged_yaml_free(). NULL if there is no memory. */
BAT_API struct bat_merged_yaml *bat_merged_yaml_new(void);

/* NULL is allowed. */
BAT_API void bat_merged_yaml_free(struct bat_merged_yaml *merged);

/*
 * Add a profile; its functions and strings may be moved to the sum, but it is to be freed in any
 * case. Names of binaries and events, and build-ids, may differ. Fails with BAT_ERR_SYNTAX,
 * BAT_ERR_MEMORY, BAT_ERR_RANGE for sums of 2^64 and more, and BAT_ERR_MISMATCH if functions or
 * blocks are not those of the profiles before it. After a failure the sum can only be freed.
 */
BAT_API enum bat_code bat_merged_yaml_add(struct bat_merged_yaml *merged,
                                          struct bat_yaml_profile *profile,
                                          struct bat_error *error);

/* The sum up to now, owned by merged; functions in the order in which they were met. */
BAT_API const struct bat_yaml_profile *
bat_merged_yaml_profile(const struct bat_merged_yaml *merged);

/*
 * Write the merged profile, sorted: functions by their numbers. Nothing can be added after that.
 * Fails as bat_yaml_profile_write().
 */
BAT_API enum bat_code bat_merged_yaml_write(struct bat_merged_yaml *merged,
                                            struct bat_output *output, struct bat_error *error);

#ifdef __cplusplus
}
#endif

#endif
