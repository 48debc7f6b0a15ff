/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sentences about what a profile or its translation lacks. */
#pragma once

#include "bat_profile.h"

#define PROFILE_WARNING_SIZE 256u

/* Both write a sentence, and return false if there is nothing to say. */

/* A kind of work, "following the input's code", reached its limits that many times. */
bool profile_warning_limited(const char *work, uint64_t limited, char text[PROFILE_WARNING_SIZE]);

/* Recordings were restricted to some branches. */
bool profile_warning_filter(const struct bat_profile *profile, char text[PROFILE_WARNING_SIZE]);

/*
 * Fails always: a profile, or what was read into it, has no records. The sentence says why that may
 * be of a recording by perf.
 */
enum bat_code profile_fail_without_records(const struct bat_profile *profile,
                                           struct bat_error *error);
