/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Notes of older versions upgraded with the code of the input binary. */
#include <stdlib.h>

#include "bat_encoder.h"
#include "binary/code/code_blocks.h"
#include "original.h"

/* The input binary's code. */
struct input_code {
    struct bat_original *original;
    struct bat_code_reader *reader;
    uint32_t *offsets; /* starts of the blocks of the function that was asked for last */
};

/* Mark the input functions of all hot tables. */
static void mark_functions(const struct bat_original *original, uint8_t *is_wanted)
{
    for (uint32_t i = 0; i < original->binary->map->hot_count; i++) {
        uint32_t function = bat_original_input_of_table(original, i);
        if (function != BAT_NONE)
            is_wanted[function] = 1;
    }
}

static enum bat_code open_reader(struct input_code *code, struct bat_error *error)
{
    const struct bat_original *original = code->original;
    uint8_t *is_wanted = calloc((size_t)original->input_count + 1, 1);
    uint32_t *wanted = malloc(((size_t)original->input_count + 1) * sizeof(*wanted));
    enum bat_code result = BAT_OK;
    if (is_wanted && wanted) {
        uint32_t count = 0;
        mark_functions(original, is_wanted);
        for (uint32_t i = 0; i < original->input_count; i++)
            if (is_wanted[i])
                wanted[count++] = i;
        result = bat_code_open(original->elf, original->input_symbols, original->input_functions,
                               wanted, count, 0, &code->reader, error);
    } else {
        result = bat_fail_memory(error, "for %u functions", original->input_count);
    }
    free(is_wanted);
    free(wanted);
    return result;
}

/* bat_input_blocks_fn */
static enum bat_code ask_code(uint32_t table, const uint32_t **offsets, uint32_t *count,
                              void *context, struct bat_error *error)
{
    struct input_code *code = context;
    struct bat_code_blocks blocks = {0};
    uint32_t function = bat_original_input_of_table(code->original, table);
    free(code->offsets);
    code->offsets = NULL;
    *count = 0;
    if (function == BAT_NONE)
        return BAT_OK;
    BAT_TRY(bat_code_blocks(code->reader, function, &blocks, error));
    enum bat_code result = BAT_OK;
    code->offsets = malloc(((size_t)blocks.count + 1) * sizeof(*code->offsets));
    if (code->offsets) {
        for (uint32_t i = 0; i < blocks.count; i++)
            code->offsets[i] = blocks.all[i].start;
        *offsets = code->offsets;
        *count = blocks.count;
    } else {
        result = bat_fail_memory(error, "for %u blocks", blocks.count);
    }
    bat_code_blocks_free(&blocks);
    return result;
}

enum bat_code bat_original_upgrade(struct bat_binary *binary, const char *path,
                                   struct bat_error *error)
{
    struct input_code code = {0};
    enum bat_code result = bat_original_open(path, binary, NULL, &code.original, error);
    if (result == BAT_OK)
        result = open_reader(&code, error);
    if (result == BAT_OK)
        result = bat_map_upgrade(binary->map, ask_code, &code, error);
    bat_code_close(code.reader);
    bat_original_close(code.original);
    free(code.offsets);
    return result;
}
