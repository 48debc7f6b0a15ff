/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A verdict in a few words. */
#pragma once

#include <stdio.h>

#include "bat_profile.h"
#include "bat_verdict.h"

/* "passed", as JSON has it. */
const char *bat_verdict_status_name(enum bat_verdict_status status);

/* "fine", "suppressed", or how severe it is that a check has failed. */
const char *bat_verdict_word(const struct bat_verdict_kind *kind,
                             const struct bat_verdict_result *result);

/* How many checks were made. */
size_t bat_verdict_made(const struct bat_profile_verdict *check);

/*
 * Only "fit" or "unfit", and by which checks, as a text that the caller frees; NULL without memory,
 * and if no check was made.
 */
char *bat_verdict_words(const struct bat_profile_verdict *check);

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
