/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "uncovered.h"

#include <stdlib.h>

static enum bat_code fail_memory(struct bat_error *error)
{
    return bat_fail(error, BAT_ERR_MEMORY, "not enough memory for functions without a table");
}

enum bat_code bat_uncovered_open(struct bat_uncovered *uncovered, const struct bat_elf *elf,
                                 const struct bat_elf *symbols,
                                 const struct bat_functions *functions, const uint8_t *wanted,
                                 struct bat_error *error)
{
    uint32_t total;
    bat_functions_all(functions, &total);
    uint32_t count = 0;
    for (uint32_t i = 0; i < total; i++)
        count += wanted[i] != 0;
    uncovered->functions = malloc(((size_t)count + 1) * sizeof(*uncovered->functions));
    uncovered->blocks = calloc((size_t)count + 1, sizeof(*uncovered->blocks));
    uncovered->is_read = calloc((size_t)count + 1, 1);
    if (!uncovered->functions || !uncovered->blocks || !uncovered->is_read)
        return fail_memory(error);
    for (uint32_t i = 0; i < total; i++)
        if (wanted[i])
            uncovered->functions[uncovered->count++] = i;
    return bat_code_open(elf, symbols, functions, uncovered->functions, uncovered->count,
                         &uncovered->reader, error);
}

void bat_uncovered_close(struct bat_uncovered *uncovered)
{
    for (uint32_t i = 0; i < uncovered->count; i++)
        bat_code_blocks_free(&uncovered->blocks[i]);
    bat_code_close(uncovered->reader);
    free(uncovered->functions);
    free(uncovered->blocks);
    free(uncovered->is_read);
    *uncovered = (struct bat_uncovered){0};
}

static int compare_numbers(const void *left_pointer, const void *right_pointer)
{
    uint32_t left = *(const uint32_t *)left_pointer;
    uint32_t right = *(const uint32_t *)right_pointer;
    return left < right ? -1 : left > right;
}

enum bat_code bat_uncovered_blocks(struct bat_uncovered *uncovered, uint32_t function,
                                   const struct bat_code_blocks **blocks, struct bat_error *error)
{
    const uint32_t *found = bsearch(&function, uncovered->functions, uncovered->count,
                                    sizeof(function), compare_numbers);
    if (!found)
        return bat_fail(error, BAT_ERR_ARGUMENT, "expected a function that was asked for before");
    size_t i = (size_t)(found - uncovered->functions);
    *blocks = &uncovered->blocks[i];
    if (uncovered->is_read[i])
        return BAT_OK;
    uncovered->is_read[i] = 1;
    return bat_code_blocks(uncovered->reader, function, &uncovered->blocks[i], error);
}
