/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* JSON of sampled stacks. Internal to tools/common. */
#ifndef BAT_STACK_JSON_H
#define BAT_STACK_JSON_H

#include "support/text_writer.h"

/* Write a clean name as a JSON string. */
void stack_json_string(struct bat_text_writer *text, const char *string);

void stack_json_number(struct bat_text_writer *text, uint64_t number);

#endif
