/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A note as JSON: spec/json.md. */
#ifndef BAT_DUMP_JSON_H
#define BAT_DUMP_JSON_H

#include "bat_binary.h"
#include "output.h"
#include "selection.h"

/* Print the selected tables, hot ones first, each on a line. names has each table's, or NULL. */
void dump_json(struct output *output, const struct bat_binary *binary,
               const struct selection *selection, const char *const *names);

#endif
