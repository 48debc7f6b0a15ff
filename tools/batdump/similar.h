/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Suggestions for a misspelt name. */
#ifndef BAT_TOOLS_BATDUMP_SIMILAR_H
#define BAT_TOOLS_BATDUMP_SIMILAR_H

#include "bat_binary.h"

#define SIMILAR_SIZE 256u

/*
 * Write "; did you mean a, b?" with up to three names that differ little from the one given, or
 * an empty string, into text.
 */
void similar_names(const struct bat_names *names, const char *name, char text[SIMILAR_SIZE]);

#endif
