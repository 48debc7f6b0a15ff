/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* batdump --compare: comparisons as text and as JSON. */
#ifndef BAT_TOOLS_BATDUMP_COMPARE_PRINT_H
#define BAT_TOOLS_BATDUMP_COMPARE_PRINT_H

#include "tools/common/comparison.h"
#include "tools/common/output.h"

/* Print it as text or JSON, with at most limit functions or sections in each list; 0: all. */
bool compare_print_text(struct output *output, const struct comparison *comparison, uint32_t limit);
bool compare_print_json(struct output *output, const struct comparison *comparison, uint32_t limit);

#endif
