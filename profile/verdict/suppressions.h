/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Findings that are known and accepted. Internal to the library. */
#pragma once

#include "bat_verdict.h"

/* The check whose id is the first size bytes of a text; BAT_VERDICT_CHECKS if there is none. */
enum bat_verdict_check bat_verdict_find(const char *id, size_t size);

/*
 * Read a file of lines "ID [PATTERN] # REASON"; empty lines and those that begin with # are
 * comments. Every function is compared with each pattern that is no name: more than 1,000 of these
 * are refused. Fails with BAT_ERR_IO, BAT_ERR_MEMORY, BAT_ERR_SYNTAX. The caller frees
 * *suppressions with bat_suppressions_free() in any case.
 */
enum bat_code bat_suppressions_read(const char *path, struct bat_suppressions *suppressions,
                                    struct bat_error *error);
void bat_suppressions_free(struct bat_suppressions *suppressions);

/* The suppression of a check as a whole, or NULL; it counts as used. */
const struct bat_suppression *bat_suppressed(struct bat_suppressions *suppressions,
                                             enum bat_verdict_check check);

/*
 * True if a function does not count for a check. The suppression counts as used if the function is
 * a part of the finding.
 */
bool bat_suppresses_function(struct bat_suppressions *suppressions, enum bat_verdict_check check,
                             const char *name, bool is_part);
