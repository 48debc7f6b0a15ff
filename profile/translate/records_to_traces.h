/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Records as the traces of a run that gives them. Internal to the library and the tools. */
#pragma once

#include "bat_profile.h"

/*
 * Add traces to profile, which is of the records' binary: a run for each block that was executed,
 * and the branches and calls. Behind a call that did not return each time the run has as many
 * counts as the next call of the block, or as what leaves it. The binary must have no note.
 *
 * Fails with BAT_ERR_UNSUPPORTED for a BOLTed binary's records and for basic samples, BAT_ERR_RANGE
 * if the counts add up to 2^63 or more, BAT_ERR_MEMORY, and as bat_code_open() does. Linear in the
 * records and in the code of their functions.
 */
enum bat_code bat_records_to_traces(const struct bat_records *records, struct bat_profile *profile,
                                    struct bat_error *error);
