/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The names of sampled events in the order in which all forms are written. */
#pragma once

#include "bat.h"
#include "support/string_table.h"

struct bat_event {
    const char *name; /* in the table that it comes from */
    char *word;       /* as text has it: escaped, with underscores for blanks */
};

/*
 * The events by their words, each word once, without empty ones. So the order is not that in which
 * a profile's parts were read, and it stays when the text is read again. *sorted is to be freed
 * with bat_events_free(). Fails only with BAT_ERR_MEMORY.
 */
enum bat_code bat_events_sort(const struct bat_strings *events, struct bat_event **sorted,
                              uint32_t *count);
void bat_events_free(struct bat_event *sorted, uint32_t count);
