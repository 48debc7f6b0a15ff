/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Text that is collected in memory. Internal to the library. */
#pragma once

#include "text_writer.h"

struct bat_text_memory {
    struct bat_text_writer text; /* appends to it; text.output is NULL before it begins */
    size_t max;                  /* of its bytes; SIZE_MAX, or what the owner sets */
    char *bytes;
    size_t size; /* without what text has not written yet */
    size_t capacity;
};

/*
 * Begin to collect; *memory must stay in place up to bat_text_memory_free(), which is allowed for
 * one that is all zero, too. Fails with BAT_ERR_MEMORY.
 */
enum bat_code bat_text_memory_begin(struct bat_text_memory *memory, struct bat_error *error);
void bat_text_memory_free(struct bat_text_memory *memory);

/*
 * What was collected, or NULL if there was not enough memory, or if it was more than max. It is
 * valid until the next output, which starts with an empty text.
 */
const char *bat_text_memory_take(struct bat_text_memory *memory);

/* How long the text is up to now. */
static inline size_t bat_text_memory_size(const struct bat_text_memory *memory)
{
    return memory->size + memory->text.used;
}
