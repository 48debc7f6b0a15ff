/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A verdict in a few words. */
#pragma once

#include <stdio.h>

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
