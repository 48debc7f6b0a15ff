/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stores (bat_store.h) in tools: errors are printed. */
#pragma once

#include "bat_store.h"
#include "tool.h"

/* These return false after a failure. */
bool tool_stores_add_environment(struct bat_stores *stores);
bool tool_stores_find_whole(const struct bat_stores *stores, const char *path,
                            struct bat_stored *stored);
