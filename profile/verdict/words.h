/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A verdict in a few words. */
#ifndef BAT_PROFILE_VERDICT_WORDS_H
#define BAT_PROFILE_VERDICT_WORDS_H

#include <stdio.h>

#include "bat_verdict.h"

/* How many checks were made. */
size_t bat_verdict_made(const struct bat_profile_verdict *check);

/*
 * Only "fit" or "unfit", and by which checks, as a text that the caller frees; NULL without memory,
 * and if no check was made.
 */
char *bat_verdict_words(const struct bat_profile_verdict *check);

#endif
