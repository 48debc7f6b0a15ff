/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What became of a profile that was carried, as text and as JSON. */
#pragma once

#include "carry.h"
#include "support/text_writer.h"

/* Print lines for people, or the members of a JSON object. */
void next_report_text(const struct next_report *report, struct bat_text_writer *out);
void next_report_json(const struct next_report *report, struct bat_text_writer *out);

/* Print a block of a function that is explained; next_carry() calls it with a bat_text_writer. */
void next_explained_text(const struct next_explained *block, void *context);
