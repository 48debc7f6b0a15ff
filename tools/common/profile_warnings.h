/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Warnings about profiles and debug information. file may be NULL. */
#pragma once

#include <stdint.h>

#include "tool.h"

struct bat_profile;

/* Warn if recordings were restricted to some branches. file may be NULL. */
void tool_warn_branch_filter(const char *file, const struct bat_profile *profile);

/* If missing is not 0, warn that so many of the read units lack their split debug information. */
void split_units_warn(const char *path, uint64_t missing, uint64_t read);
