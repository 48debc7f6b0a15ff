/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A note as JSON: spec/json.md. */
#ifndef BAT_DUMP_JSON_H
#define BAT_DUMP_JSON_H

#include "bat_binary.h"
#include "output.h"
#include "selection.h"

/* The selected tables, hot ones first, each on a line. names is one for each table, or NULL. */
void dump_json(struct output *output, const struct bat_binary *binary,
               const struct selection *selection, const char *const *names);

#endif
