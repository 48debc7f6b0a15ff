/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "text_memory.h"

#include <stdlib.h>

#include "spec/large_memory.h"

/* bat_output_take_fn */
static bool take(const void *bytes, size_t size, void *context)
{
    struct bat_text_memory *memory = context;
    const size_t needed = memory->size + size;
    if (needed > memory->capacity) {
        const size_t usual = 2 * needed < memory->max ? 2 * needed : memory->max;
        char *grown = needed <= usual ? bat_large_grow(memory->bytes, memory->size, usual) : NULL;
        if (!grown)
            return false;
        memory->bytes = grown;
        memory->capacity = usual;
    }
    memcpy(memory->bytes + memory->size, bytes, size);
    memory->size = needed;
    return true;
}

enum bat_code bat_text_memory_begin(struct bat_text_memory *memory, struct bat_error *error)
{
    *memory = (struct bat_text_memory){.max = SIZE_MAX};
    struct bat_output *output;
    BAT_TRY(bat_output_begin_callback(take, memory, &output, error));
    enum bat_code code = bat_text_begin(&memory->text, output, NULL);
    if (code == BAT_OK)
        return BAT_OK;
    bat_output_abandon(output);
    *memory = (struct bat_text_memory){0};
    return bat_fail_memory(error, "for text");
}

void bat_text_memory_free(struct bat_text_memory *memory)
{
    if (memory->text.output)
        bat_text_finish(&memory->text, BAT_ERR_IO); /* what is left is not written */
    bat_output_abandon(memory->text.output);
    free(memory->bytes);
    *memory = (struct bat_text_memory){0};
}

const char *bat_text_memory_take(struct bat_text_memory *memory)
{
    bat_text_flush(&memory->text);
    const char *text = memory->text.code == BAT_OK ? memory->bytes : NULL;
    memory->size = 0;
    memory->text.code = BAT_OK;
    return text;
}
