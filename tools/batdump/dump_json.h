/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A note as JSON: spec/json.md. */
#ifndef BAT_TOOLS_BATDUMP_DUMP_JSON_H
#define BAT_TOOLS_BATDUMP_DUMP_JSON_H

#include "bat_binary.h"
#include "dump.h"
#include "tools/common/output.h"

/* Print the selected tables, hot ones first, each on a line. names has each table's, or NULL. */
void dump_json(struct output *output, const struct bat_binary *binary,
               const struct selection *selection, const char *const *names);

#endif
