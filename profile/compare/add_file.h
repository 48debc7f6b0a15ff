/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sample profiles of LLVM that are compared. Internal to the library. */
#pragma once

#include "bat_compare.h"

/*
 * Add the records of a sample profile: for each line that has a count, the place (with those of the
 * inlined calls that it is in), as llvm-profdata overlap compares them. *has_md5: functions have
 * MD5 sums in place of names. BAT_ERR_SYNTAX with line and column.
 */
enum bat_code bat_overlaps_add_autofdo(struct bat_overlaps *comparison, const char *text,
                                       bool *has_md5, struct bat_error *error);

/* True for the first bytes of a binary sample profile of any kind. */
bool bat_is_sample_binary(const char *bytes, size_t size);

/*
 * The same for a binary sample profile: BAT_ERR_SYNTAX with the byte, and BAT_ERR_UNSUPPORTED for
 * kinds and versions that are not read. Time and memory are linear in the bytes, unpacked.
 */
enum bat_code bat_overlaps_add_sample_binary(struct bat_overlaps *comparison, const char *bytes,
                                             size_t size, bool *has_md5, struct bat_error *error);
