/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A summary of a note, for people. */
#ifndef BAT_TOOLS_BATDUMP_SUMMARY_H
#define BAT_TOOLS_BATDUMP_SUMMARY_H

#include "bat_binary.h"
#include "tools/common/output.h"

/*
 * Print who wrote the note of the file at path, what it contains, and what its bytes are used for.
 * False, with a message, if the bytes do not add up to the note's size.
 */
bool summarize(struct output *output, const char *path, const struct bat_binary *binary);

#endif
